"""A finished run is told from one to which something could be added."""

import pytest

from epbench.runs.folder import is_finished
from tests.opened_files import journals_read
from tests.scripts.in_process import ran
from tests.scripts.run_files import COMMANDS, change, drop, read, scores_of

CHANGES = {
    "an edited score": lambda run: change(run / "scores.json", n_failed=0, more=1),
    "a new file": lambda run: (run / "notes.md").write_text("mine"),
    "a lost report": lambda run: (run / "report.html").unlink(),
    "a journal that has grown": lambda run: (run / "answers.jsonl").open("a").write('{"key": "k", "id": "1"}\n'),
    "other code": lambda run: change(run / "checksums.json", code="0"),
    "an earlier version": lambda run: drop(run / "checksums.json", "code"),
    "no hashes": lambda run: (run / "checksums.json").unlink(),
    "damaged hashes": lambda run: (run / "checksums.json").write_text("{"),
    "no scores": lambda run: (run / "scores.json").unlink(),
}


@pytest.fixture
def run(copied):
    return copied("tulving")


def identity_of(run):
    return read(run, "run.json")["identity"]


def test_a_scored_run_is_finished_for_the_same_command_alone(run):
    identity, limit = identity_of(run), read(run, "run.json")["limit"]
    assert is_finished(run, identity, limit=limit, shard=None)
    assert not is_finished(run, identity | {"seed": 1}, limit=limit)
    assert not is_finished(run, identity, limit=None) and not is_finished(run, identity, shard="1/2")
    assert not is_finished(run / "nowhere", identity)


@pytest.mark.parametrize("edit", CHANGES.values(), ids=CHANGES)
def test_a_run_in_which_something_has_changed_is_not_finished(run, edit):
    identity = identity_of(run)
    edit(run)
    assert not is_finished(run, identity)


def test_a_run_with_a_failed_question_is_not_finished(run):
    from epbench.runs.checksums import write_checksums

    change(run / "scores.json", n_failed=1)
    write_checksums(run)
    assert not is_finished(run, identity_of(run))


@pytest.mark.parametrize("name", ["tulving", "booksort"])
def test_the_command_of_a_finished_run_shows_its_scores_and_changes_nothing(small_sets, copied, name):
    run = copied(name)
    command = f"{COMMANDS[name].format(small_sets)} --out {run}"
    before = {path.name: path.stat().st_mtime_ns for path in run.iterdir() if path.is_file()}
    readings = journals_read()
    shown = ran(command)
    assert {path.name: path.stat().st_mtime_ns for path in run.iterdir() if path.is_file()} == before
    assert [path for path in readings if path.startswith(str(run))]  # for their hashes
    change(run / "checksums.json", code="0")
    assert ran(command) == shown


def test_a_new_passport_of_the_judge_is_taken_over(small_sets, run, tmp_path, monkeypatch):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))
    before = scores_of(run)["judge"]["passport"]
    ran("eval_scripts/judge_check.py", "--judge", "lexical", "--n", 20, "--out", tmp_path / "check")
    ran(f"{COMMANDS['tulving'].format(small_sets)} --out {run}")
    assert scores_of(run)["judge"]["passport"] not in (before, None)
