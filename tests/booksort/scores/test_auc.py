"""What the log odds of a reader tell that always writes one letter: AUC, calibrated accuracy, and how two runs compare."""

from dataclasses import replace

import pytest

from epbench.booksort.scores.comparison import compare_areas, compare_runs
from epbench.booksort.scores.report import comparison_report
from epbench.booksort.scores.scoring import score_run
from epbench.booksort.scores.tables import markdown_table
from epbench.reports.comparison import comparison_tables
from epbench.statistics.paired import Comparison
from tests.booksort.simulated_runs import log_odds, simulated, table


@pytest.fixture(scope="module")
def rows():
    return simulated(lambda *_: log_odds(0.7), seed=11, lengths=[250], books=2, excerpts=20)


def always_a(row):
    """A reader that writes A whatever is asked, and is surer of it where it holds A for the answer."""
    p_a = 0.9 if row.predicted == "A" else 0.7
    return replace(row, predicted="A", written="A", correct=row.answer == "A", p_a=p_a, p_b=0.95 - p_a)


def test_a_reader_that_always_writes_a_still_tells_the_answers_apart(rows):
    scores = score_run(table([always_a(row) for row in rows]))
    right = score_run(table(rows))["accuracy"]  # of the labels that it prefers in truth
    assert scores["share_a"] == 1.0 and abs(scores["accuracy"] - 0.5) < 0.08
    assert scores["auc"] == pytest.approx(right, abs=0.02) and scores["auc_p_value"] < 0.001
    low, high = scores["intervals"]["auc"]
    assert 0.5 < low < scores["auc"] < high and scores["calibrated_accuracy"] > 0.6
    group = scores["by_group"]["excerpt_length x segment_length"]["250 x 20"]
    assert (group["auc"], group["auc_low"], group["auc_high"]) == (scores["auc"], low, high)
    text = markdown_table({"habit": scores})
    shown = f"| {scores['auc']:.3f} ({low:.3f}–{high:.3f}) | {scores['calibrated_accuracy']:.3f} | 0.0005 |"
    assert "| log odds of A | AUC (95 %) | calibrated accuracy | p (AUC) |" in text and f"| habit {shown}" in text
    assert "p (AUC)" in comparison_report("diary", {"habit": scores})


@pytest.mark.parametrize("lost", [{"p_a": None, "p_b": None}, {"p_a": 0.0, "p_b": 0.0}, {"failed": True}])
def test_without_the_probabilities_of_all_questions_there_is_no_auc(rows, lost):
    some = [always_a(row) for row in rows]
    some[0] = replace(some[0], **lost)
    scores = score_run(table(some))
    assert scores["auc"] is scores["auc_p_value"] is scores["calibrated_accuracy"] is None
    assert "auc" not in scores["intervals"]


def test_aucs_of_two_runs_are_compared_on_the_questions_that_both_have(rows):
    knows, guesses = (table(map(always_a, of)) for of in (rows, [replace(row, predicted="A") for row in rows]))
    found = compare_areas(knows, guesses.iloc[4:])
    assert found["n"] == len(rows) - 4 and found["means"][1] == 0.5
    assert found["difference"] == pytest.approx(found["means"][0] - 0.5)
    assert 0 < found["interval"][0] < found["interval"][1]
    assert compare_areas(knows, table(rows)) is None
    same = compare_areas(knows, knows)
    assert same["difference"] == 0 and same["interval"] == [0, 0]
    comparison = Comparison("accuracy", compare_runs({"knows": knows, "guesses": guesses}))
    (areas,) = [made for made in comparison_tables(comparison) if "AUC" in made.head]
    assert areas.rows[0][2] == f"{score_run(knows)['auc']:.3f} / 0.500"


def test_a_single_excerpt_has_an_auc_without_an_interval_or_a_test(rows):
    one = [row for row in rows if (row.book_idx, row.excerpt_idx) == (rows[0].book_idx, rows[0].excerpt_idx)]
    scores = score_run(table([always_a(replace(row, answer="AB"[i % 2])) for i, row in enumerate(one)]))
    assert 0 <= scores["auc"] <= 1 and scores["auc_p_value"] is scores["calibrated_accuracy"] is None
    assert f"| one | {scores['auc']:.3f} | – | – |" in markdown_table({"one": scores})
