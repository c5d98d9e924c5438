"""questions.parquet against a plain recomputation from the journals, for every way in which a run gets results."""

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.journals.answers import ANSWERS
from epbench.judges.protocol import Judgement
from epbench.metric_folders import formulas
from epbench.progress import no_progress
from epbench.runs.folder import open_run
from epbench.runs.merge import merge
from epbench.runs.results import QUESTIONS
from epbench.tulving.benchmark import BENCHMARK
from epbench.tulving.dataset.load import load_book
from epbench.tulving.evaluate import judge_and_score
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.verdicts import NO_ANSWER, ScoredAnswer, Verdict
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.runs import published_runs, read_published_run, score_published_runs
from epbench.tulving.scores.results import NOT_JUDGED, finish
from epbench.tulving.scores.run_files import COLUMNS
from epbench.tulving.scores.scoring import harsh_f1_of
from tests.published_data import ARCHIVES
from tests.tulving.made_runs import Told, made_run
from tests.tulving.plain_questions import plain_questions

MEASURES = ("f1", "precision", "recall", "harsh_f1", "tau")
OF_VERDICT = ("items", "scores", "order", "reason", *MEASURES)


def questions_in(folder):
    import pyarrow.parquet as pq

    table = pq.read_table(folder / QUESTIONS)
    assert table.column_names == list(COLUMNS)
    return table.to_pylist()


def check(folder, rows, repeats=1):
    """Every value of the file; returns it and how many questions failed."""
    expected, found = plain_questions(folder, rows, repeats), questions_in(folder)
    assert [(record["id"], record["repeat"]) for record in found] == list(expected)
    for record, plain in zip(found, expected.values(), strict=True):
        if plain is None:
            assert record["outcome"] == "failed" and record["failure"]
            assert all(record[name] is None for name in OF_VERDICT)
        else:
            assert record["failure"] is None and record["outcome"] == ("right" if plain["f1"] == 1 else "wrong")
            for name, value in plain.items():
                assert record[name] == (value if name not in MEASURES else pytest.approx(value)), name
    scores = json.loads((folder / "scores.json").read_text())
    failed = [record for record in found if record["outcome"] == "failed"]
    assert (len(found), len(failed)) == (scores["n_questions"], scores["n_failed"])
    for bin_, mean in scores["f1_by_bin"].items():
        f1 = [record["f1"] for record in found if record["get"] == "all" and record["bin"] == bin_]
        assert sum(f1) / len(f1) == pytest.approx(mean)
    return found, len(failed)


def told(rows, fails=(), repeats=1):
    """A reader that answers with true items in reverse and one that is not, sometimes with nothing, or that fails."""
    said = {}
    for row, n in product(rows, range(repeats)):
        told = [*row["answer"][n:][::-1], "Nobody Else"]
        said[row["id"], n] = "I do not know." if row["id"][-1] in "05" else ", ".join(told)
    return Told({key: text for key, text in said.items() if key[0] not in fails})


def run(folder, rows, reader=None, judge=None, repeats=1):
    made_run(folder, rows, reader or told(rows), judge, repeats)
    return folder


class FailingJudge(LexicalJudge):
    """Fails on the given questions."""

    name = "failing"

    def __init__(self, fails):
        super().__init__()
        self.fails = fails

    def judge(self, inputs, calls=None):
        for one in inputs:
            verdict = None if one.id in self.fails else Verdict(["x", "y"], [0.5] * len(one.reference), [], "half")
            yield Judgement(one.key(self), verdict, None if verdict else "no JSON in the reply")


@pytest.fixture(scope="module")
def rows(short_book):
    """Some questions of every mode and bin."""
    return [row for i, row in enumerate(load_book(str(short_book)).rows) if i % 6 == 0 or row["get"] != "all"]


def test_every_column_of_every_question_is_that_of_the_journals(rows, tmp_path):
    found, n_failed = check(run(tmp_path / "r", rows), rows)
    assert n_failed == 0 and {record["outcome"] for record in found} == {"right", "wrong"}
    assert {record["get"] for record in found} == {"all", "latest", "chronological"}
    assert {record["tau"] for record in found} >= {None, -1.0}
    assert any(record["harsh_f1"] < record["f1"] for record in found)


def test_a_failed_question_says_why(rows, tmp_path):
    reader, judge = told(rows, [rows[0]["id"], rows[3]["id"]]), FailingJudge([rows[1]["id"]])
    found, n_failed = check(run(tmp_path / "r", rows, reader, judge), rows)
    assert n_failed == 3 and [record["failure"] for record in found[:4]] == [
        "429 too many requests", "no JSON in the reply", None, "429 too many requests",
    ]  # fmt: skip
    assert found[0]["answer"] is None and found[1]["answer"]
    with open_run(tmp_path / "r", {}, {}) as folder:  # asked about more, and by a judge that has read nothing
        extra = {**rows[0], "id": "t00-never"}
        asked_now = [{**row, "question": f"{row['question']} Tell me."} for row in rows[2:3]]
        finish(folder, [extra, *rows[4:6], *asked_now], judge, "made")
    assert [record["failure"] for record in questions_in(tmp_path / "r")] == [NO_ANSWER, None, None, NOT_JUDGED]


def test_an_answer_to_an_older_prompt_is_no_reason(rows, tmp_path):
    retired = "the question was asked anew with another prompt"
    records = [
        {"key": "new", "id": rows[0]["id"], "repeat": 0, "failure": "out of tokens"},
        {"key": "old", "id": rows[0]["id"], "repeat": 0, "failure": retired},
        {"key": "k", "id": rows[1]["id"], "repeat": 0, "answer": "Nobody"},
    ]
    with open_run(tmp_path / "r", {}, {"book": "b"}) as folder:
        (folder / ANSWERS).write_text("".join(json.dumps(record) + "\n" for record in records))
        judge_and_score(folder, rows[:2], LexicalJudge(), "made")
    assert [record["failure"] for record in questions_in(folder)] == ["out of tokens", None]


def test_every_repeat_has_a_row_of_its_own(rows, tmp_path):
    found, n_failed = check(run(tmp_path / "r", rows, told(rows, repeats=3), repeats=3), rows, repeats=3)
    assert n_failed == 0 and [record["repeat"] for record in found] == [0, 1, 2] * len(rows)
    assert any(one["answer"] != other["answer"] for one, other in zip(found[::3], found[1::3], strict=True))


@pytest.mark.parametrize("repeat", [-1, 2**31], ids=["-1", "2**31"])
def test_an_impossible_repeat_is_refused(rows, tmp_path, repeat):
    record = {"key": "k", "id": rows[0]["id"], "repeat": repeat, "answer": "Nobody"}
    with open_run(tmp_path / "r", {}, {"book": "b"}) as folder, pytest.raises(BadInput, match="field 'repeat'"):
        (folder / ANSWERS).write_text(json.dumps(record) + "\n")
        judge_and_score(folder, rows[:2], LexicalJudge(), "made")
    assert not (folder / "scores.json").exists()


def test_what_has_scores_has_its_questions(rows, tmp_path, monkeypatch):
    """A run that is stopped between the two has the questions and no scores, and is not taken for a finished one."""

    def stopped(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("epbench.tulving.scores.results.write_results", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "r", rows[:4])
    assert (tmp_path / "r" / QUESTIONS).exists() and not (tmp_path / "r" / "scores.json").exists()


@pytest.mark.slow
def test_merged_shards_have_the_bytes_of_the_whole_run(script, short_book, rows, tmp_path):
    base = ["eval_scripts/tulving.py", "--dataset", short_book, "--memory", "rag-paragraph", "--limit", 60]
    assert script(*base, "--out", tmp_path / "whole").returncode == 0
    parts = [tmp_path / f"part{i}" for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        assert script(*base, "--shard", f"{i}/2", "--out", part).returncode == 0
    merge(BENCHMARK, parts, tmp_path / "merged")
    assert (tmp_path / "merged" / QUESTIONS).read_bytes() == (tmp_path / "whole" / QUESTIONS).read_bytes()
    asked_ids = {record["id"] for record in questions_in(tmp_path / "whole")}
    check(tmp_path / "merged", [row for row in load_book(str(short_book)).rows if row["id"] in asked_ids])


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path, _ in ARCHIVES], ids=lambda path: path.stem)
def test_a_published_run_has_its_questions_too(path, tmp_path):
    archive = open_archive(path)
    done = score_published_runs(archive, tmp_path, no_progress)
    first = next(run for run in published_runs(archive) if run.label in done.scores)
    content = read_published_run(archive.files, first)
    found, n_failed = check(tmp_path / first.folder, content.rows)
    assert n_failed == 0 and len(found) == len(content.answers)
    assert [record["answer"] for record in found] == content.answers
    assert [record["reason"] for record in found] == [verdict.reason for verdict in content.verdicts]


@given(st.integers(0, 6), st.integers(0, 6), st.floats(0, 1))
def test_harsh_f1_is_never_above_the_lenient_one(n_items, n_true, share):
    answer = ScoredAnswer("q", "all", "1", 1, (), range(n_true), range(n_items), [share] * n_true, ())
    lenient = min(1.0, formulas("episodic_f1").lenient_f1(n_items, n_true, sum(answer.scores))[2])
    harsh = harsh_f1_of(answer)
    assert 0 <= harsh <= lenient
    if n_items <= n_true or not n_true:
        assert harsh == lenient
