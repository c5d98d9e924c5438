"""What progress is told, and that an answer to a prompt that is no longer asked is not scored beside its successor."""

import pytest

from epbench.files.json_files import read_json
from epbench.journals.answers import ask, retire_others
from epbench.journals.journal import read_journal
from epbench.models.protocol import Request
from epbench.runs.folder import read_scores
from epbench.runs.usage import token_usage
from epbench.tulving.reader import LexicalReader


def _requests(context, ids=("1", "2"), repeats=1):
    return [Request(id_, "", context, f"Who {id_}?", repeat=n) for id_ in ids for n in range(repeats)]


def test_answers_to_another_prompt_are_failures_and_those_to_other_questions_stay(tmp_path):
    path, model = tmp_path / "a.jsonl", LexicalReader()
    ask(path, _requests("before", ("1", "2", "3"), repeats=2), model)
    now = _requests("after", ("1", "2"), repeats=1)
    retire_others(path, now, model)
    ask(path, now, model)
    given = [(r["id"], r["repeat"]) for r in read_journal(path).values() if r.get("failure") is None]
    assert sorted(given) == [("1", 0), ("1", 1), ("2", 0), ("2", 1), ("3", 0), ("3", 1)]
    assert token_usage(read_journal(path).values())["failed"] == {}
    size = path.stat().st_size
    retire_others(path, now, model)
    assert path.stat().st_size == size


@pytest.mark.slow
def test_a_memory_system_that_is_told_anew_has_each_question_scored_once(tmp_path, short_book, script):
    system = "tests/memories/faulty.py:SaysItInOtherWords --system-env CALLS"
    command = f"eval_scripts/tulving.py --dataset {short_book} --memory {system} --out {tmp_path / 'run'}"
    counts = []
    for _ in range(2):
        done = script(command, CALLS=str(tmp_path / "calls"))
        assert done.returncode == 0, done.stderr
        scores = read_scores(tmp_path / "run")
        counts.append((scores["n_questions"], scores["n_failed"], sum(scores["n_by_bin"].values())))
    (n, failed, in_bins), (n_again, failed_again, in_bins_again) = counts
    assert failed > n // 4 and failed_again == 0
    assert n == n_again and in_bins == in_bins_again
    assert read_json(tmp_path / "run/usage.json")["failed"] == {}


def test_answers_of_earlier_starts_are_done_and_a_question_that_is_given_twice_is_one(tmp_path):
    requests = [Request(id_, "", "A book.", f"Who {id_}?") for id_ in "abcde"]
    told = []

    def progress(items, *about):
        told.append((about, [item["id"] for item in items]))
        return ()

    for given, what in ((requests[:2], "answers"), ([*requests, requests[4]], "trials")):
        ask(tmp_path / "answers.jsonl", given, LexicalReader(), progress, what)
    assert told == [(("answers", 2, 0), ["a", "b"]), (("trials", 5, 2), ["c", "d", "e"])]
