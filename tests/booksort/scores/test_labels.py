"""Accuracy by the more probable label says little where the model would write neither; the numbers beside it say so."""

from dataclasses import replace

import pytest

from epbench.booksort.scores.comparison import compare_areas, compare_runs
from epbench.booksort.scores.scoring import mass_warnings, score_run
from epbench.booksort.scores.tables import markdown_table
from epbench.reports.comparison import comparison_tables
from epbench.statistics.paired import Comparison
from tests.booksort.simulated_runs import log_odds, simulated, table


@pytest.fixture(scope="module")
def rows():
    return simulated(lambda *_: log_odds(0.7), seed=11, lengths=[250], books=2, excerpts=20)


def told(row, mass, written):
    """The row with probabilities that prefer its predicted label by 2 to 1, and this greedy answer."""
    more, less = 2 * mass / 3, mass / 3
    a, b = (more, less) if row.predicted == "A" else (less, more)
    return replace(row, p_a=a, p_b=b, greedy=written, written=written if written in "AB" else "X")


def test_a_model_that_never_writes_a_label_is_seen_through(rows):
    scores = score_run(table([told(row, 6e-5, "The") for row in rows]))
    assert scores["accuracy"] > 0.6 and scores["n_invalid"] == 0  # all that stood there before
    assert scores["label_mass"] == pytest.approx(6e-5) and scores["low_mass"] == 1.0
    assert scores["greedy_accuracy"] == 0.0 and scores["greedy_invalid"] == 1.0
    assert scores["intervals"]["greedy_accuracy"] == [0.0, 0.0]
    (warning,) = scores["warnings"]
    assert "only 6e-05 of the probability" in warning and "100% of its most probable answers" in warning
    assert "its accuracy is 0.000 (greedy_accuracy)" in warning


def test_a_model_that_writes_its_label_has_no_warning(rows):
    scores = score_run(table([told(row, 0.99, row.predicted) for row in rows]))
    assert scores["label_mass"] == pytest.approx(0.99) and scores["low_mass"] == 0.0 and scores["warnings"] == []
    assert scores["greedy_accuracy"] == scores["accuracy"] and scores["greedy_invalid"] == 0.0
    assert scores["intervals"]["greedy_accuracy"] == scores["intervals"]["accuracy"]


def test_mass_and_greedy_accuracy_by_group(rows):
    mixed = [told(row, 0.9, row.answer) if row.book_idx else told(row, 0.2, "Well") for row in rows]
    scores = score_run(table(mixed))
    silent, plain = scores["by_group"]["book"].values()
    assert (silent["label_mass"], plain["label_mass"]) == (pytest.approx(0.2), pytest.approx(0.9))
    assert (silent["greedy_accuracy"], plain["greedy_accuracy"], scores["greedy_accuracy"]) == (0.0, 1.0, 0.5)
    assert scores["label_mass"] == pytest.approx(0.55) and scores["low_mass"] == scores["greedy_invalid"] == 0.5


def test_where_no_probabilities_are_known_there_is_no_mass(rows):
    scores = score_run(table(rows))
    assert scores["label_mass"] is scores["low_mass"] is None and scores["n_label_mass"] == 0
    assert scores["greedy_accuracy"] == scores["accuracy"] and scores["warnings"] == []


def test_the_mass_is_of_the_answers_whose_probabilities_are_known(rows):
    """An endpoint gives them where its answer begins with a label, and lists its most probable tokens only."""
    some = [told(row, 0.9, row.predicted) if i % 4 == 0 else row for i, row in enumerate(rows)]
    scores = score_run(table(some))
    assert scores["label_mass"] == pytest.approx(0.9) and scores["n_label_mass"] == len(rows) // 4


def test_failed_questions_have_no_mass(rows):
    some = [told(row, 0.9, row.predicted) for row in rows]
    some[0] = replace(some[0], failed=True, p_a=None, p_b=None)
    scores = score_run(table(some))
    assert scores["n_label_mass"] == len(rows) - 1 and scores["greedy_accuracy"] is None


@pytest.mark.parametrize(("mass", "n"), [(None, 0), (0.5, 0), (0.49, 1)])
def test_the_warning_begins_below_one_half(mass, n):
    assert len(mass_warnings({"label_mass": mass, "greedy_invalid": 0.3, "greedy_accuracy": None})) == n


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
    assert f"| habit | {scores['auc']:.3f} ({low:.3f}–{high:.3f}) | {scores['calibrated_accuracy']:.3f} |" in text


@pytest.mark.parametrize("lost", [{"p_a": None, "p_b": None}, {"p_a": 0.0, "p_b": 0.0}, {"failed": True}])
def test_without_the_probabilities_of_all_questions_there_is_no_auc(rows, lost):
    some = [always_a(row) for row in rows]
    some[0] = replace(some[0], **lost)
    scores = score_run(table(some))
    assert scores["auc"] is scores["auc_p_value"] is scores["calibrated_accuracy"] is None
    assert "auc" not in scores["intervals"]


def test_aucs_of_two_runs_are_compared_on_the_questions_that_both_have(rows):
    knows, guesses = (
        table([always_a(row) for row in rows]),
        table([always_a(replace(row, predicted="A")) for row in rows]),
    )
    found = compare_areas(knows, guesses.iloc[4:])
    assert found["n"] == len(rows) - 4 and found["means"][1] == 0.5
    assert (
        found["difference"] == pytest.approx(found["means"][0] - 0.5)
        and 0 < found["interval"][0] < found["interval"][1]
    )
    assert compare_areas(knows, table(rows)) is None
    same = compare_areas(knows, knows)
    assert same["difference"] == 0 and same["interval"] == [0, 0]
    comparison = Comparison("accuracy", compare_runs({"knows": knows, "guesses": guesses}))
    (areas,) = [made for made in comparison_tables(comparison) if "AUC" in made.head]
    assert areas.rows[0][2] == f"{score_run(knows)['auc']:.3f} / 0.500"
