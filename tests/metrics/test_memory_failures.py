"""The metric of a diagnosis: shares of the judged questions, failed ones apart."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.metric_folders import formulas
from epbench.statistics.intervals import wilson
from tests.metrics.metric_classes import new_metric

LABELS = formulas("memory_failures").LABELS
REVISED = formulas("memory_failures").REVISED
metric = new_metric("memory_failures")


def test_failed_questions_are_neither_right_nor_wrong():
    result = metric.compute(predictions=["correct", "correct", "summary_error", "failed", "failed"])
    assert result["success_rate"] == pytest.approx(2 / 3)
    assert (result["n"], result["n_failed"], result["counts"]["failed"]) == (3, 2, 2)
    shares = dict.fromkeys(set(LABELS) - {"failed"}, 0) | {"correct": 2 / 3, "summary_error": 1 / 3}
    assert result["shares"] == pytest.approx(shares)


def test_without_a_judged_question_nothing_is_defined():
    result = metric.compute(predictions=["failed"])
    assert result["success_rate"] is result["ci_low"] is result["ci_high"] is None
    assert set(result["shares"].values()) == {None} and (result["n"], result["n_failed"]) == (0, 1)


def test_groups_have_the_same_values():
    labels = ["correct", "storage_error", "correct", "failed"]
    by_group = metric.compute(predictions=labels, groups=["2", "3", "2", "3"])["by_group"]
    assert list(by_group) == ["2", "3"]
    assert by_group["2"] == metric.compute(predictions=["correct", "correct"])
    assert (by_group["3"]["success_rate"], by_group["3"]["n_failed"]) == (0, 1)


def test_labels_of_corrected_and_withdrawn_facts_are_counted_where_there_are_any():
    assert set(metric.compute(predictions=["correct"])["counts"]) == set(LABELS)
    result = metric.compute(predictions=["correct", "stale", "resurrected", "failed"])
    assert set(result["counts"]) == {*LABELS, *REVISED} and result["counts"]["lost_with_it"] == 0
    shares = result["shares"]
    assert shares["stale"] == shares["resurrected"] == result["success_rate"] == pytest.approx(1 / 3)


@given(st.lists(st.sampled_from((*LABELS, *REVISED)), min_size=1, max_size=60))
def test_counts_add_up_and_the_interval_is_that_of_wilson(labels):
    result = metric._compute(labels)
    assert sum(result["counts"].values()) == len(labels) == result["n"] + result["n_failed"]
    interval = wilson(result["counts"]["correct"], result["n"])
    if interval is None:
        assert result["success_rate"] is None
    else:
        assert (result["ci_low"], result["ci_high"]) == pytest.approx(interval, abs=1e-12)
        assert 0 <= result["ci_low"] <= result["success_rate"] <= result["ci_high"] <= 1
        assert math.fsum(result["shares"].values()) == pytest.approx(1)


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from("ab")), min_size=1, max_size=40))
def test_groups_add_up_to_the_whole(rows):
    labels, groups = map(list, zip(*rows, strict=True))
    result = metric._compute(labels, groups)
    for label in LABELS:
        assert sum(of["counts"][label] for of in result["by_group"].values()) == result["counts"][label]


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"predictions": []}, "at least one row"),
        ({"predictions": ["right"]}, "row 0: expected one of correct, .*, found 'right'"),
        ({"predictions": ["correct", None]}, "row 1: .* found None"),
        ({"predictions": ["correct"], "groups": []}, "groups: expected 1 rows, as many as predictions, found 0"),
        ({"predictions": ["correct"], "groups": [2]}, "groups, row 0: expected a string, found 2"),
    ],
)
def test_bad_values_name_the_row(given_, message):
    with pytest.raises(ValueError, match=message):
        metric.compute(**given_)
