"""Pairs asked in both orders: a preference for a label cancels out, and consistency measures how strong it was."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import both_orders, pair_id
from epbench.booksort.scores.scoring import score_run
from epbench.models.protocol import by_context
from tests.booksort.simulated_runs import log_odds, simulated, table

OTHER = {"A": "B", "B": "A", "X": "X"}


def swapped(row, said):
    """The row in the swapped order, answered with this label."""
    answer = OTHER[row.answer]
    return replace(row, id=f"{row.id}/swapped", answer=answer, predicted=said, written=said, correct=said == answer)


def said(row, label):
    return replace(row, predicted=label, written=label, correct=label == row.answer)


def in_both_orders(rows, second):
    return [ordered for row in rows for ordered in (row, swapped(row, second(row)))]


@pytest.fixture(scope="module")
def rows():
    return simulated(lambda *_: log_odds(0.8), seed=21, lengths=[250], books=2, excerpts=25)


def test_the_swapped_order_shows_the_same_segments_the_other_way_round(pairs):
    both = both_orders(pairs)
    assert len(both) == 2 * len(pairs) and both[::2] == pairs
    for first, second in zip(both[::2], both[1::2], strict=True):
        assert second.id == f"{first.id}/swapped" and pair_id(second.id) == first.id == pair_id(first.id)
        assert second.shown == first.shown[::-1] and {first.answer, second.answer} == {"A", "B"}
        assert replace(second, id=first.id, answer=first.answer) == first


def test_both_orders_share_the_reading_of_the_excerpt(pairs):
    one, two = (requests_for("in-context", some, load_prompts(), 3) for some in (pairs, both_orders(pairs)))
    assert len(two) == 2 * len(one) and len(by_context(two)) == len(by_context(one))
    unchanged = [request for request in two if not request.id.endswith("/swapped")]
    assert unchanged == one  # no request changes, so none is paid for again


def test_a_model_that_always_says_a_has_accuracy_one_half_and_no_consistency(rows):
    scores = score_run(table(in_both_orders([said(row, "A") for row in rows], lambda row: "A")))
    assert scores["accuracy"] == 0.5 and scores["share_a"] == 1.0 and scores["consistency"] == 0.0
    assert scores["both_orders"]["always_a"] == 1.0 and scores["both_orders"]["always_b"] == 0.0
    assert scores["p_value"] == 1.0  # it is never right in both orders
    assert scores["intervals"]["accuracy"] == [0.5, 0.5]
    assert scores["intervals"]["consistency"] == pytest.approx([0.0, 1 - 0.025 ** (1 / 50)])  # of fifty excerpts


def test_a_consistent_model_keeps_its_accuracy_and_its_significance(rows):
    scores = score_run(table(in_both_orders(rows, lambda row: OTHER[row.predicted])))
    once = score_run(table(rows))
    assert not {"consistency", "both_orders"} & once.keys()
    assert scores["consistency"] == 1.0 and scores["accuracy"] == once["accuracy"]
    # Asking twice does not double the evidence: interval and test are those of the pairs.
    assert scores["intervals"]["accuracy"] == once["intervals"]["accuracy"] and scores["p_value"] == once["p_value"]
    assert (scores["both_orders"]["n_pairs"], scores["n_questions"]) == (len(rows), 2 * len(rows))


def test_consistency_by_hand(rows):
    """Right twice, wrong twice, always A, always B, neither twice, neither once, one answer lost."""
    kinds = [("t", "t"), ("f", "f"), ("A", "A"), ("B", "B"), ("X", "X"), ("X", "t"), ("t", "t")]
    made = []
    for row, (first, second) in zip(rows, kinds, strict=False):
        label = {"t": row.answer, "f": OTHER[row.answer], **OTHER}
        label |= {name: name for name in "ABX"}
        back = {"t": OTHER[row.answer], "f": row.answer} | {name: name for name in "ABX"}
        made += [said(row, label[first]), swapped(row, back[second])]
    made[-1] = replace(made[-1], failed=True, correct=False)
    scores = score_run(table(made))
    found = scores["both_orders"]
    assert scores["consistency"] == pytest.approx(2 / 6) and (found["n_pairs"], found["n_incomplete"]) == (6, 1)
    assert found["always_a"] == found["always_b"] == pytest.approx(1 / 6)
    assert scores["accuracy"] is None and scores["incomplete"]["accuracy"] == [6 / 14, 7 / 14]
    assert score_run(table(made[:-2]))["p_value"] == binomtest(1, 3, 0.5, alternative="greater").pvalue  # X is neither


@pytest.mark.slow
def test_a_pair_is_decided_by_both_probabilities(rows):
    """One certain answer outweighs a label that is preferred by 0.2 twice."""
    made, sure, unsure = [], {"p_a": 0.95, "p_b": 0.05}, {"p_a": 0.3, "p_b": 0.2}
    for row in rows:
        first, second = (sure, unsure) if row.answer == "A" else (unsure, sure)
        made += [replace(said(row, "A"), **first), replace(swapped(row, "A"), **second)]
    scores = score_run(table(made))
    assert scores["accuracy"] == 0.5 and scores["consistency"] == 0.0 and scores["both_orders"]["pair_accuracy"] == 1.0
    made[0] = replace(made[0], p_a=None, p_b=None)
    assert score_run(table(made))["both_orders"]["pair_accuracy"] is None


labels = st.sampled_from(["A", "B", "X"])


@pytest.mark.slow
@settings(deadline=None, max_examples=settings.default.max_examples // 6)
@given(st.lists(st.tuples(labels, labels, labels.filter(lambda x: x != "X")), min_size=1, max_size=12))
def test_consistent_pairs_and_preferences_make_up_the_valid_ones(rows, drawn):
    made = []
    for row, (first, second, answer) in zip(rows, drawn, strict=False):
        asked = said(replace(row, answer=answer), first)
        made += [asked, swapped(asked, second)]
    scores = score_run(table(made))
    found = scores["both_orders"]
    valid = scores["consistency"] + found["always_a"] + found["always_b"]
    assert found["n_pairs"] == len(drawn)
    assert valid * len(drawn) == pytest.approx(sum("X" not in (first, second) for first, second, _ in drawn))
