"""eval_scripts/tables.py: one command makes the tables and figures of all papers from the runs that it is given."""

import csv
import json
import xml.etree.ElementTree as ElementTree

import pytest

from tests.scripts.in_process import ran, refused, script
from tests.scripts.run_files import COMMANDS, files_in, scores_of

pytestmark = pytest.mark.slow
TABLES = "eval_scripts/tables.py"


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def everything(small_runs, tmp_path_factory):
    out = tmp_path_factory.mktemp("tables")
    runs = [small_runs / name for name in COMMANDS]
    return out, ran(TABLES, *runs, "--reported", "paper", "--by", "origin", "--out", out)


@pytest.mark.parametrize("benchmark", ["tulving", "booksort", "memfail"])
def test_each_benchmark_has_a_folder_with_a_leaderboard_a_page_and_three_files_for_each_exhibit(everything, benchmark):
    out = everything[0] / benchmark
    names = {path.name for path in out.iterdir() if path.is_file()}
    assert {"LEADERBOARD.md", "tables.html", "tables.md"} <= names
    stems = {name.removesuffix(".svg") for name in names if name.endswith(".svg")}
    assert len(stems) > 10 and any(stem.startswith("leaderboard") for stem in stems)
    for stem in stems:
        assert ElementTree.parse(out / f"{stem}.svg").getroot().tag.endswith("svg")
        assert rows_of(out / f"{stem}.csv") and f"{stem}.md" in names
    page = (out / "tables.html").read_text("utf-8")
    assert page.index("Leaderboard") < page.index("Table 2") and "Not made" in page


def test_own_and_reported_rows_stand_in_one_table_and_any_column_groups(everything):
    out = everything[0] / "tulving"
    board = rows_of(next(out.glob("leaderboard*.csv")))
    for rows in (rows_of(out / "table-13.csv"), board):
        assert {row["source"] for row in rows} == {"own", "reported"}
    assert all(row["judge"] and row["origin"] for row in board)
    (path,) = out.glob("*origin*.csv")
    assert {row["origin"] for row in rows_of(path)} == {"book", "inner", "outer"}


def test_a_leaderboard_repeats_the_scores_of_the_runs(everything, small_runs):
    def board(benchmark):
        return {row["label"]: row for row in rows_of(next((everything[0] / benchmark).glob("leaderboard*.csv")))}

    for name in ("tulving", "tulving-none"):
        scores = scores_of(small_runs / name)
        assert float(board("tulving")[name]["simple_recall_score_mean"]) == scores["simple_recall_score"]
    assert next(iter(board("booksort").values()))["accuracy_mean"] == "1.0"
    scores = scores_of(small_runs / "memfail")
    (of_run,) = [row for label, row in board("memfail").items() if "bm25" in label and row["source"] == "own"]
    assert float(of_run["long_hop_mean"]) == scores["by_k"]["5"]["success_rate"]  # with one config, the rank is by it


def test_a_released_archive_needs_no_run(released, tmp_path):
    ran(TABLES, "--released", released, "--reported", "paper", "--out", tmp_path)
    board = rows_of(next(tmp_path.glob("leaderboard*.csv")))
    assert {row["source"] for row in board} == {"released", "reported"} and (tmp_path / "LEADERBOARD.md").is_file()
    assert len([row for row in board if row["source"] == "released"]) == 3
    assert (tmp_path / "table-07.csv").is_file() and (tmp_path / "figure-07.svg").is_file()


def test_the_same_command_gives_the_same_bytes(everything, small_runs, tmp_path):
    runs = (small_runs / "tulving", small_runs / "tulving-none")
    ran(TABLES, *runs, "--reported", "paper", "--by", "origin", "--out", tmp_path)
    assert files_in(everything[0] / "tulving") == files_in(tmp_path)


def test_what_cannot_be_used_is_refused_with_one_line(small_runs, tmp_path):
    run = small_runs / "tulving"
    refused(script(TABLES, run, "--by", "weather", "--out", tmp_path), "weather")
    refused(script(TABLES, tmp_path, "--out", tmp_path / "o"), "no run.json")
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"benchmark": "tulving", "tables": [{"rows": []}]}))
    refused(script(TABLES, run, "--reported", wrong, "--out", tmp_path / "o"), "wrong.json")
    refused(script(TABLES, "--out", tmp_path), "give folders of runs")
