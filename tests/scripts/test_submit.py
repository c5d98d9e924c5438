"""From a run to its row on the leaderboard: eval_scripts/submit.py and builders/leaderboard.py."""

import json
import shutil

import pytest

from epbench.reports.leaderboard import read_results
from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import COMMANDS, change, scores_of

SUBMIT, BOARD = "eval_scripts/submit.py", "builders/leaderboard.py"


@pytest.fixture(scope="module")
def submitted(small_runs, tmp_path_factory):
    out, runs = tmp_path_factory.mktemp("results"), [small_runs / name for name in COMMANDS]
    return out, ran(SUBMIT, *runs, "--by", "Ada", "--note", "in a test", "--out", out)


def test_every_run_has_a_small_row_with_its_scores_and_without_answers_or_paths(submitted, small_runs):
    out, printed = submitted
    results = read_results(out)
    assert len(results) == len(COMMANDS) and {result.by for result in results} == {"Ada"}
    for result in results:
        text = (out / f"{result.name}.json").read_text("utf-8")
        assert len(text) < 20_000 and str(small_runs) not in text and "/tmp" not in text
        assert result.checks["hold"] > 3 and result.checksum in printed
        assert result.benchmark in result.command and f"Command: `{result.command}`" in printed
    scores = scores_of(small_runs / "tulving")
    (result,) = [of for of in results if of.standings[0].memory == "rag-chapter"]
    found = result.standings[0].scores["simple_recall_score"]
    assert found.mean == scores["simple_recall_score"]
    assert [found.low, found.high] == scores["intervals"]["simple_recall_score"]
    assert result.identity[""]["limit"] == 40 and result.note == "in a test"


def test_the_page_ranks_them_beside_what_the_papers_report_and_is_the_same_twice(submitted, tmp_path):
    for name in ("one.md", "two.md"):
        ran(BOARD, "--results", submitted[0], "--out", tmp_path / name)
    page = (tmp_path / "one.md").read_text("utf-8")
    assert page == (tmp_path / "two.md").read_text("utf-8")
    for result in read_results(submitted[0]):
        assert f"{result.name}.json, Ada" in page
    lines = [line for line in page.splitlines() if ".json, Ada" in line and "| rag-chapter |" in line]
    assert len(lines) == 1 and lines[0].startswith("| 1 |")
    assert page.count("(reported)") > 50 and "as reported" in page


def test_a_changed_run_gets_no_row(copied, tmp_path):
    run = copied("tulving")
    change(run / "scores.json", simple_recall_score=1.0)
    done = script(SUBMIT, run, "--by", "Ada", "--out", tmp_path / "results")
    assert done.returncode == 1 and "does not hold" in done.stderr and "simple_recall_score" in done.stderr
    assert not (tmp_path / "results").exists()


def test_part_of_a_run_gets_no_row(copied, tmp_path):
    run = copied("tulving")
    (run / "scores.json").unlink()
    refused(script(SUBMIT, run, "--by", "Ada", "--out", tmp_path), "no scores.json")
    change(run / "run.json", shard="1/2")
    refused(script(SUBMIT, run, "--by", "Ada", "--out", tmp_path), "found shard 1/2")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda row: row | {"format": 2}, "found form 2"),
        (lambda row: row | {"journals": row["journals"] | {"answers.jsonl": "0" * 64}}, "its content was changed"),
        (lambda row: {name: of for name, of in row.items() if name != "by"}, "'by'"),
    ],
)
def test_a_row_that_is_none_is_refused_by_its_file(submitted, tmp_path, edit, message):
    (path,) = submitted[0].glob("*rag-chapter*")
    (tmp_path / path.name).write_text(json.dumps(edit(json.loads(path.read_text("utf-8")))), "utf-8")
    done = script(BOARD, "--results", tmp_path, "--out", tmp_path / "page.md")
    refused(done, message)
    refused(done, path.name)


def test_a_run_has_one_row(submitted, tmp_path):
    (path,) = submitted[0].glob("*rag-chapter*")
    shutil.copyfile(path, tmp_path / path.name)
    change(shutil.copyfile(path, tmp_path / path.name.replace("short", "another")), dataset="another")
    refused(script(BOARD, "--results", tmp_path, "--out", tmp_path / "page.md"), "the same run as")
