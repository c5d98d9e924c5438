"""What was planted in simulated runs is found again, and accuracy by the more probable label is told with how probable labels were."""

import itertools
from dataclasses import replace

import pytest

from epbench.booksort.scores.scoring import GROUPINGS, by_distance, by_group, score_run
from epbench.errors import RunFailed
from tests.booksort.simulated_runs import log_odds, simulated, table


def inside(planted: float, found: dict) -> bool:
    return found["ci_low"] <= planted <= found["ci_high"]


@pytest.mark.slow
def test_accuracy_by_bin_of_distance_is_recovered():
    planted = {1: 0.6, 2: 0.7, 3: 0.8, 4: 0.9}
    hits = 0
    for seed in range(8):
        rows = simulated(lambda length, start, distance, number: log_odds(planted[number]), seed=seed)
        found = by_group(table(rows), GROUPINGS["distance"])
        assert list(found) == ["1", "2", "3", "4"]
        assert all(abs(found[str(number)]["accuracy"] - p) < 0.04 for number, p in planted.items())
        hits += sum(inside(p, found[str(number)]) for number, p in planted.items())
    assert hits >= 27  # of 32; 30.4 are expected


def test_curve_over_distance_follows_the_planted_one():
    rows = simulated(lambda length, start, distance, _: log_odds(0.55 + 0.4 * distance / 2000), seed=3, lengths=[2500])
    curve = by_distance(table(rows))
    assert len(curve) == 10 and sum(part["n"] for part in curve) == len(rows)
    assert all(a["to"] < b["from"] for a, b in itertools.pairwise(curve))
    hits = [inside(0.55 + 0.4 * part["mean"] / 2000, part) for part in curve]
    assert sum(hits) >= 8


def test_a_habit_shows_in_the_share_of_a_and_answers_that_name_nothing_are_counted():
    rows = simulated(lambda *_: 0.0, seed=5, lengths=[250], books=3, habit=0.8, invalid=0.1)
    biased = score_run(table(rows))
    assert 0.87 < biased["share_a"] < 0.93 and biased["accuracy"] < 0.5
    assert 0.05 < biased["n_invalid"] / biased["n_questions"] < 0.15 and biased["n_failed"] == 0


def lost(rows, *places):
    """The same rows, with these questions failed."""
    return [
        replace(row, failed=True, correct=False, predicted="X", written="X") if i in places else row
        for i, row in enumerate(rows)
    ]


def test_a_run_that_lost_questions_has_a_range_and_no_accuracy():
    rows = simulated(lambda *_: 9.0, seed=6, lengths=[250], books=1, excerpts=5)
    scores = score_run(table(lost(rows, 0)))
    assert scores["n_questions"] == len(rows) - 1 and scores["n_failed"] == 1 and scores["n_invalid"] == 0
    assert scores["accuracy"] is scores["greedy_accuracy"] is scores["p_value"] is None
    assert scores["incomplete"] == {"accuracy": [19 / 20, 1.0], "greedy_accuracy": [19 / 20, 1.0]}
    assert "accuracy" not in scores["intervals"] and "greedy_accuracy" not in scores["intervals"]
    assert score_run(table(rows))["accuracy"] == 1.0 and "incomplete" not in score_run(table(rows))
    with pytest.raises(RunFailed, match="all 20 questions failed"):
        score_run(table(lost(rows, *range(20))))


def test_a_group_that_lost_questions_says_so_and_the_others_stay():
    rows = simulated(lambda *_: 9.0, seed=6, lengths=[250], books=2, excerpts=5)
    gone = [i for i, row in enumerate(rows) if row.book_idx == 1]
    scores = score_run(table(lost(rows, 0, *gone)))
    nearest, whole = scores["by_group"]["distance"]["1"], scores["by_group"]["distance"]["4"]
    assert (nearest["n"], nearest["n_failed"], nearest["accuracy"]) == (4, 6, None)
    assert nearest["incomplete"]["accuracy"] == [0.4, 1.0] and (whole["n"], whole["n_failed"]) == (5, 5)
    first, second = scores["by_group"]["book"].values()
    assert first["incomplete"]["accuracy"] == [0.95, 1.0]
    assert (second["n"], second["n_failed"], second["share_a"]) == (0, 20, None)  # nothing of it is left, and it shows
    assert second["incomplete"]["accuracy"] == [0.0, 1.0]
    assert sum(part["n"] + part["n_failed"] for part in scores["distances"]) == len(rows)


def test_retrieval_is_told_apart():
    rows = simulated(lambda *_: 9.0, seed=7, lengths=[250], books=1, excerpts=10)
    marked = [
        replace(row, retrieved_both=i % 2 == 0, retrieved_order=i % 4 == 0, correct=i % 4 == 0, predicted=row.answer if i % 4 == 0 else "X")
        for i, row in enumerate(rows)
    ]  # fmt: skip
    retrieval = score_run(table(marked))["retrieval"]
    assert (retrieval["n"], retrieval["both_found"], retrieval["in_order"]) == (40, 0.5, 0.25)
    assert retrieval["where_in_order"]["accuracy"] == 1.0
    assert "retrieval" not in score_run(table(rows))
    one = score_run(table(rows[:4]))  # of one excerpt
    assert one["by_group"]["book"]["0"]["ci_low"] is None and one["intervals"] == {}


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
    assert scores["intervals"]["greedy_accuracy"] == pytest.approx([0.0, 1 - 0.025 ** (1 / 40)])  # of forty excerpts
    (warning,) = scores["warnings"]
    assert "only 6e-05 of the probability" in warning and "100% of its most probable answers" in warning
    assert "its accuracy is 0.000 (greedy_accuracy)" in warning


def test_a_model_that_writes_its_label_has_no_warning(rows):
    scores = score_run(table([told(row, 0.99, row.predicted) for row in rows]))
    assert scores["label_mass"] == pytest.approx(0.99) and scores["low_mass"] == 0.0 and scores["warnings"] == []
    assert scores["greedy_accuracy"] == scores["accuracy"] and scores["greedy_invalid"] == 0.0
    assert scores["intervals"]["greedy_accuracy"] == scores["intervals"]["accuracy"]


def test_questions_with_one_right_letter_are_told(rows):
    of_a, of_b = ([row for row in rows if row.answer == letter] for letter in "AB")
    (warning,) = score_run(table([*of_a[:7], *of_b[:1]]))["warnings"]
    assert warning.startswith("A is right in 7 of the 8 answered questions") and "0.875" in warning
    assert not score_run(table([*of_a[:11], *of_b[:9]]))["warnings"]
    assert score_run(table([*of_a[:2], *of_b[:3]]))["warnings"][0].startswith("B is right in 3 of the 5")


@pytest.mark.slow
def test_the_mass_is_of_the_answers_whose_probabilities_are_known(rows):
    """An endpoint gives them where its answer begins with a label, and lists its most probable tokens only."""
    scores = score_run(table(rows))
    assert scores["label_mass"] is scores["low_mass"] is None and scores["n_label_mass"] == 0
    assert scores["greedy_accuracy"] == scores["accuracy"] and scores["warnings"] == []
    some = [told(row, 0.9, row.predicted) if i % 4 == 0 else row for i, row in enumerate(rows)]
    scores = score_run(table(some))
    assert scores["label_mass"] == pytest.approx(0.9) and scores["n_label_mass"] == len(rows) // 4
    some = [told(row, 0.9, row.predicted) for row in rows]
    some[0] = replace(some[0], failed=True, p_a=None, p_b=None)
    scores = score_run(table(some))
    assert scores["n_label_mass"] == len(rows) - 1 and scores["greedy_accuracy"] is None
