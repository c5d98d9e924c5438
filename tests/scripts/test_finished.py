"""A finished run is told from one to which something could be added."""

import shutil

import pytest

from epbench.files.json_files import read_json, write_json
from epbench.runs.folder import is_finished
from tests.opened_files import journals_read
from tests.scripts.in_process import ran, script

RUNS = {
    "tulving": ["eval_scripts/tulving.py", "--dataset", "short", "--memory", "rag-chapter", "--limit", 40],
    "booksort": ["eval_scripts/booksort.py", "--dataset", "booksort", "--memory", "in-context", "--model", "oracle"],
}


def _edited(**values):
    return lambda run: write_json(run / "scores.json", read_json(run / "scores.json") | values)


def _noted(**values):
    return lambda run: write_json(run / "checksums.json", read_json(run / "checksums.json") | values)


CHANGES = {
    "an edited score": _edited(n_failed=0, more=1),
    "a new file": lambda run: (run / "notes.md").write_text("mine"),
    "a lost report": lambda run: (run / "report.html").unlink(),
    "a journal that has grown": lambda run: (run / "answers.jsonl").open("a").write('{"key": "k", "id": "1"}\n'),
    "other code": _noted(code="0"),
    "an earlier version": lambda run: write_json(
        run / "checksums.json", {k: v for k, v in read_json(run / "checksums.json").items() if k != "code"}
    ),
    "no hashes": lambda run: (run / "checksums.json").unlink(),
    "damaged hashes": lambda run: (run / "checksums.json").write_text("{"),
    "no scores": lambda run: (run / "scores.json").unlink(),
}


@pytest.fixture
def run(small_runs, tmp_path):
    return shutil.copytree(small_runs / "tulving", tmp_path / "run")


def identity_of(run):
    return read_json(run / "run.json")["identity"]


def test_a_scored_run_is_finished_for_the_same_command_alone(run):
    identity, limit = identity_of(run), read_json(run / "run.json")["limit"]
    assert is_finished(run, identity, limit=limit, shard=None)
    assert not is_finished(run, identity | {"seed": 1}, limit=limit)
    assert not is_finished(run, identity, limit=None) and not is_finished(run, identity, shard="1/2")
    assert not is_finished(run / "nowhere", identity)


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_in_which_something_has_changed_is_not_finished(run, change):
    identity = identity_of(run)
    CHANGES[change](run)
    assert not is_finished(run, identity)


def test_a_run_with_a_failed_question_is_not_finished(run):
    from epbench.runs.checksums import write_checksums

    _edited(n_failed=1)(run)
    write_checksums(run)
    assert not is_finished(run, identity_of(run))


@pytest.mark.parametrize("name", RUNS)
def test_the_command_of_a_finished_run_shows_its_scores_and_changes_nothing(small_sets, small_runs, tmp_path, name):
    run = shutil.copytree(small_runs / name, tmp_path / "run")
    program, option, dataset, *rest = RUNS[name]
    command = [program, option, small_sets / dataset, *rest, "--out", run]
    before = {path.name: path.stat().st_mtime_ns for path in run.iterdir() if path.is_file()}
    readings = journals_read()
    shown = ran(*command)
    assert {path.name: path.stat().st_mtime_ns for path in run.iterdir() if path.is_file()} == before
    assert [path for path in readings if path.startswith(str(run))]  # for their hashes
    _noted(code="0")(run)
    again = script(*command)
    assert again.returncode == 0 and again.stdout == shown


def test_a_new_passport_of_the_judge_is_taken_over(small_sets, small_runs, tmp_path, monkeypatch):
    run = shutil.copytree(small_runs / "tulving", tmp_path / "run")
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path / "cache"))
    program, option, dataset, *rest = RUNS["tulving"]
    before = read_json(run / "scores.json")["judge"]["passport"]
    ran("eval_scripts/judge_check.py", "--judge", "lexical", "--n", 20, "--out", tmp_path / "check")
    ran(program, option, small_sets / dataset, *rest, "--out", run)
    assert read_json(run / "scores.json")["judge"]["passport"] not in (before, None)
