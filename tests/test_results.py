"""The measured rows in results/: what can be computed from them again is computed, and the page is made from them."""

import re
from statistics import fmean

import pytest

from epbench.reports.leaderboard import read_results
from epbench.statistics.intervals import wilson
from tests.scripts.in_process import ROOT, ran

ABSOLUTE = re.compile(r"(?<![\w:/.-])(?:/[\w.-]+){2,}|\b[A-Z]:\\")
"""A path from the root of a machine's disk."""
RESULTS = {result.name: result for result in read_results(ROOT / "results")}


def of_benchmark(name):
    found = [result for result in RESULTS.values() if result.benchmark == name]
    return pytest.mark.parametrize("result", found, ids=lambda result: result.name)


def test_all_benchmarks_have_rows():
    assert {result.benchmark for result in RESULTS.values()} == {"tulving", "booksort", "memfail"}


def test_no_row_names_a_folder_of_a_machine():
    for name in RESULTS:
        text = (ROOT / "results" / f"{name}.json").read_text("utf-8")
        assert not ABSOLUTE.search(text), name


def test_the_page_is_made_from_the_rows(tmp_path):
    ran("builders/leaderboard.py", "--results", ROOT / "results", "--out", tmp_path / "page.md")
    made = (tmp_path / "page.md").read_text("utf-8")
    assert made == (ROOT / "docs/leaderboard.md").read_text("utf-8"), "run `make leaderboard`"


@of_benchmark("tulving")
def test_scores_of_a_book_follow_from_their_parts(result):
    (scores,) = result.scores.values()
    (row,) = result.standings
    if "simple_recall_score" in scores.get("incomplete", {}):
        assert row.scores["simple_recall_score"].mean is None
        return
    assert scores["simple_recall_score"] == pytest.approx(fmean(scores["f1_by_bin"].values()))
    assert row.scores["simple_recall_score"].mean == scores["simple_recall_score"]
    if scores.get("chronological_awareness") is not None:
        order = max(0.0, scores["all_matched"] * (scores.get("kendall_tau") or 0.0))
        assert scores["chronological_awareness"] == pytest.approx(fmean([scores["latest"], order]))
    for name, (low, high) in scores["intervals"].items():
        assert low <= high, name


@of_benchmark("booksort")
def test_accuracy_of_pairs_is_a_count(result):
    (row,) = result.standings
    (scores,) = result.scores.values()
    accuracy = row.scores["accuracy"]
    assert accuracy.mean == pytest.approx(scores["accuracy"])
    assert accuracy.mean * accuracy.n == pytest.approx(round(accuracy.mean * accuracy.n))
    assert accuracy.low <= accuracy.mean <= accuracy.high


@of_benchmark("memfail")
def test_rates_are_counts_with_their_intervals(result):
    for config, scores in result.scores.items():
        for k, at in scores["by_k"].items():
            (row,) = [row for row in result.standings if row.memory.endswith(f"k = {k}")]
            rate = row.scores[config]
            if at["failed"]:
                assert rate.mean is None and rate.lowest <= rate.highest
                continue
            right = at["success_rate"] * at["n"]
            assert right == pytest.approx(round(right)) and rate.mean == pytest.approx(at["success_rate"])
            assert (rate.low, rate.high) == pytest.approx(wilson(round(right), at["n"]))
