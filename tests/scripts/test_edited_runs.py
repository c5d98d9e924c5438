"""A run whose files were edited after it was scored: whatever shows its scores says so, and no edit is taken over."""

import json

import pytest
from inspect_ai.log import read_eval_log

from epbench.interop.inspect_log import write_inspect_log
from epbench.runs.checksums import changed_since
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import COMMANDS, change, drop, scores_of

SAID = "changed since it was scored: scores.json"
NUMBERS = {"tulving": "simple_recall_score", "booksort": "accuracy"}


def words(text):
    return " ".join(text.split())


def edit_score(run):
    if run.name in NUMBERS:
        change(run / "scores.json", **{NUMBERS[run.name]: 0.95})
    else:
        ((k, of_k),) = scores_of(run)["by_k"].items()
        change(run / "scores.json", by_k={k: of_k | {"success_rate": 0.95}})


def edit_line(path, number):
    lines = path.read_bytes().split(b"\n")
    record = json.loads(lines[number - 1])
    lines[number - 1] = json.dumps(record | {"seconds": 0.5}).encode()
    path.write_bytes(b"\n".join(lines))


def again(run, small_sets):
    return script(f"{COMMANDS['tulving'].format(small_sets)} --out {run}")


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", ["tulving", "booksort", "memfail"])
def test_whatever_shows_an_edited_score_says_so(copied, tmp_path, benchmark):
    run, out = copied(benchmark), tmp_path / "out"
    edit_score(run)
    done = script("eval_scripts/report.py", run, "--out", out / "report")
    assert done.returncode == 0 and SAID in words(done.stderr + done.stdout)
    assert SAID in (out / "report/table.md").read_text() and SAID in (out / "report/report.html").read_text()
    done = script("eval_scripts/tables.py", run, "--out", out / "tables")
    assert done.returncode == 0 and SAID in words(done.stderr + done.stdout)
    assert f"{run}: {SAID}" in (out / "tables/LEADERBOARD.md").read_text().replace("\\", "")
    assert read_eval_log(str(write_inspect_log(run, out))).eval.metadata["warning"] == SAID
    change(run / "run.json", dataset="epbench/some")
    done = script("eval_scripts/export.py", "eval-results", run, "--repo", "lab/tiny", "--out", out)
    refused(done, "changed since it was scored: run.json, scores.json")


def test_a_comparison_says_which_run_was_edited(copied, small_runs):
    run = copied("tulving")
    edit_score(run)
    said = ran("eval_scripts/compare.py", run, small_runs / "tulving-none")
    assert f"{run}:{SAID}".replace(" ", "") in words(said).replace(" ", "")
    assert changed_since(run) == {"scores.json": "changed"}  # which a command that only reads does not take over


def test_scores_that_are_computed_anew_are_no_edit(copied, small_sets):
    run = copied("tulving")
    before = (run / "scores.json").read_bytes()
    edit_score(run)
    (run / "notes.txt").write_text("mine")
    assert again(run, small_sets).returncode == 0
    assert (run / "scores.json").read_bytes() == before and changed_since(run) == {}


def test_a_changed_line_of_a_journal_is_refused_by_its_number(copied, small_sets, small_runs, tmp_path):
    run = copied("tulving")
    edit_line(run / "answers.jsonl", 17)
    said = f"{run / 'answers.jsonl'}, line 17: changed since the run was scored"
    refused(again(run, small_sets), said)
    refused(script("eval_scripts/compare.py", run, small_runs / "tulving-none"), said)
    refused(script("eval_scripts/merge.py", run, "--out", tmp_path / "whole"), said)
    assert "answers.jsonl" in changed_since(run)
    done = script("eval_scripts/report.py", run, "--out", tmp_path / "report")
    assert "changed since it was scored: answers.jsonl" in words(done.stdout)


def test_lines_that_are_removed_or_put_in_are_found(copied, small_sets):
    run = copied("tulving")
    lines = (run / "judgements.jsonl").read_bytes().splitlines(keepends=True)
    for text, number in ((lines[:-1], len(lines)), (lines[:5] + lines[6:], 6), (lines[:3] + lines[2:], 4)):
        (run / "judgements.jsonl").write_bytes(b"".join(text))
        refused(again(run, small_sets), f"judgements.jsonl, line {number}: changed since")


def test_hashes_of_an_earlier_version_name_the_file(copied, small_sets):
    run = copied("tulving")
    drop(run / "checksums.json", "lines")
    assert changed_since(run) == {} and again(run, small_sets).returncode == 0
    edit_line(run / "answers.jsonl", 2)
    refused(again(run, small_sets), "answers.jsonl: changed since the run was scored")


def test_a_run_without_hashes_says_nothing(copied, small_sets, tmp_path):
    run = copied("tulving")
    (run / "checksums.json").unlink()
    edit_score(run)
    said = ran("eval_scripts/report.py", run, "--out", tmp_path / "report")
    assert "changed since" not in said
