"""Paired comparisons and correlations: what they are by hand, and what swapping the two does."""

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from epbench.errors import RunFailed
from epbench.statistics.paired import (
    Comparison,
    compare_two,
    holm,
    notes_on,
    paired,
    paired_outcomes,
    pearson,
    with_holm,
)


def test_a_comparison_by_hand():
    first, second = [1.0, 0.5, 0.0, 1.0, 0.1 + 0.2], [0.0, 0.5, 0.5, 0.0, 0.3]
    result = paired(first, second, ["a", "a", "b", "b", "c"])
    assert (result.n, result.wins, result.ties, result.losses) == (5, 2, 2, 1)  # what differs by rounding is a tie
    assert result.means == pytest.approx((0.56, 0.26)) and result.difference == pytest.approx(0.3)
    low, high = result.interval
    assert 0 <= low < 0.3 < high <= 0.5  # the mean differences of the clusters are 0.5, 0.25 and 0
    same = paired([0.5] * 6, [0.5] * 6, range(6))
    assert (same.p, same.ties, same.interval) == (1.0, 6, (0.0, 0.0))


def test_ties_count_by_pratt():
    """Zeros are ranked before they are dropped, so that small differences among many ties weigh less."""
    from scipy.stats import wilcoxon

    differences = np.array([0.0] * 20 + [0.1, 0.2, 0.3, -0.05, 0.4])
    assert paired(list(differences), [0.0] * 25, range(25)).p == wilcoxon(differences, zero_method="pratt").pvalue
    assert paired(list(differences), [0.0] * 25, range(25)).p != wilcoxon(differences, zero_method="wilcox").pvalue


def test_one_cluster_has_no_interval_and_nothing_no_comparison():
    assert paired([1.0, 0.0], [0.0, 0.0], ["a", "a"]).interval is None
    for first, second, clusters in (([], [], []), ([1.0], [1.0, 0.0], ["a", "b"]), ([1.0], [0.0], [])):
        with pytest.raises(ValueError, match="expected as many of each"):
            paired(first, second, clusters)


@patch("gc.collect", lambda: 0)  # statsmodels calls it each time, which takes a second beside thousands of tests
@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_as_statsmodels_has_it(p_values):
    assert holm(p_values) == pytest.approx(list(multipletests(p_values, method="holm")[1]))


shares = st.sampled_from([0.0, 0.25, 0.5, 2 / 3, 1.0])


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(shares, shares, st.integers(0, 3)), min_size=1, max_size=30))
def test_swapping_the_runs_turns_the_difference(questions):
    first, second, clusters = zip(*questions, strict=True)
    one, other = paired(first, second, clusters), paired(second, first, clusters)
    assert one.difference == pytest.approx(-other.difference) and one.means == other.means[::-1]
    assert (one.wins, one.ties, one.losses) == (other.losses, other.ties, other.wins)
    assert one.p == pytest.approx(other.p) and 0 <= one.p <= 1
    assert (one.interval is None) == (len(set(clusters)) < 2)
    if one.interval is not None:
        assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_is_that_of_statsmodels_exact_and_with_continuity_correction(answers):
    from statsmodels.stats.contingency_tables import mcnemar

    first, second = ([float(of_run) for of_run in values] for values in zip(*answers, strict=True))
    result = paired_outcomes(first, second, range(len(answers)))
    wins, losses = (sum(one > other for one, other in pair) for pair in (answers, [a[::-1] for a in answers]))
    assert (result.wins, result.losses, result.ties) == (wins, losses, len(answers) - wins - losses)
    if wins + losses == 0:
        assert result.p_corrected == result.p == 1.0
        return
    assert result.p_corrected == mcnemar([[0, wins], [losses, 0]], exact=False, correction=True).pvalue
    assert result.p == mcnemar([[0, wins], [losses, 0]], exact=True).pvalue
    assert paired_outcomes(second, first, range(len(answers))).p_corrected == result.p_corrected


def test_the_continuity_correction_overshoots_where_both_are_equal():
    many = paired_outcomes([1, 0] * 50, [0, 1] * 50, range(100))
    assert many.p == 1.0 and many.p_corrected == pytest.approx(0.9203, abs=1e-4)
    one_apart = paired_outcomes([1, 0, 1] * 5 + [0] * 4, [0, 1, 0] * 5 + [1] * 4, range(19))  # 10 against 9
    assert one_apart.p == one_apart.p_corrected == 1.0
    assert paired([1.0], [0.0], ["a"]).p_corrected is None


def test_two_askings_of_a_pair_count_once_in_the_test():
    first, second = [1, 1, 1, 0, 1, 0, 1, 1] * 5, [0, 0, 1, 0, 0, 1, 1, 0] * 5
    pairs = [i // 2 for i in range(40)]
    once = paired_outcomes(first, second, pairs, pairs)
    assert (once.wins, once.ties, once.losses) == (10, 10, 0)  # the third pair is right once by each
    assert once.p == 2 * 0.5**10 and once.n == 40
    assert once.p_corrected == pytest.approx(0.0044, abs=1e-4)  # of (10 - 1)² / 10
    assert paired_outcomes(first, second, pairs).wins == 20
    with pytest.raises(ValueError, match="expected 0 and 1 only"):
        paired_outcomes([0.5], [1.0], ["a"])


def test_what_only_one_run_answered_is_left_out_and_told():
    first = {"a": 1.0, "b": 0.0, "c": 1.0, "d": 0.0}
    second = {"a": 1.0, "b": 1.0, "e": 0.0}
    pair = compare_two(("one", "two"), [first, second], cluster_of=str, outcomes=True)
    assert (pair["n"], pair["n_one_sided"], pair["means"]) == (2, 3, (0.5, 1.0))
    assert pair["alone"] == [{"n": 2, "mean": 0.5}, {"n": 1, "mean": 0.0}]
    (note,) = notes_on(Comparison("F1", [pair]))
    assert "3 questions answered by only one are left out; the 2 that remain may be easier" in note
    assert "two alone answered 1 (mean 0.000 on these, 1.000 on the shared ones)" in note
    assert "4 and 0 failed questions are left out" in notes_on(Comparison("F1", [pair | {"n_failed": [4, 0]}]))[0]
    same = compare_two(("one", "two"), [first, first], cluster_of=str)
    assert notes_on(Comparison("F1", [same], left_out=["x"])) == ["x"]
    with pytest.raises(RunFailed, match="one and two have no answered question in common"):
        compare_two(("one", "two"), [first, {"x": 1.0}], cluster_of=str)


def test_all_comparisons_are_corrected_together():
    found = with_holm([{"p": 0.01}, {"p": 0.04}, {"p": 0.03}])
    assert [pair["p_holm"] for pair in found] == pytest.approx([0.03, 0.06, 0.06]) and holm([]) == []


@pytest.mark.parametrize("seed", range(2))
def test_a_correlation_is_that_of_scipy_and_by_hand(seed):
    from scipy.stats import norm, pearsonr, t

    random = np.random.default_rng(seed)
    x, noise = random.normal(size=(2, 30))
    y = 0.4 * x + noise
    found, theirs = pearson(x, y), pearsonr(x, y)
    assert (found.n, found.r, found.p) == (30, theirs.statistic, theirs.pvalue)
    assert found.r == pytest.approx(np.corrcoef(x, y)[0, 1])
    ends = math.atanh(found.r) + np.array([-1, 1]) * norm.ppf(0.975) / math.sqrt(27)
    assert found.interval == pytest.approx(np.tanh(ends))
    assert found.p == pytest.approx(2 * t.sf(abs(found.r) * math.sqrt(28 / (1 - found.r**2)), 28))


def test_what_has_no_correlation():
    assert pearson([], []) is None and pearson([1.0, 2.0], [1.0, 2.0]) is None
    assert pearson([1.0, 2.0, 3.0], [4.0] * 3) is None and pearson([4.0] * 3, [1.0, 2.0, 3.0]) is None
    assert pearson([0.1 + 0.2, 0.3, 0.3], [1.0, 2.0, 3.0]) is None  # constant up to rounding
    three = pearson([1.0, 2.0, 3.0], [1.0, 2.0, 2.5])
    assert three.n == 3 and three.interval == (-1.0, 1.0)
    perfect = pearson([1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 8.0])
    assert perfect.r == pytest.approx(1) and perfect.interval == pytest.approx((1, 1)) and perfect.p < 1e-6


numbers = st.floats(-1e6, 1e6).map(lambda x: round(x, 3))


@settings(max_examples=100)
@given(st.lists(st.tuples(numbers, numbers), max_size=20))
def test_a_correlation_is_the_same_from_both_sides(values):
    x, y = [a for a, _ in values], [b for _, b in values]
    one, other = pearson(x, y), pearson(y, x)
    assert (one is None) == (other is None)
    if one is not None:
        assert one.r == pytest.approx(other.r) and -1 <= one.interval[0] <= one.interval[1] <= 1
        assert one.interval[0] - 1e-9 <= one.r <= one.interval[1] + 1e-9
        assert 0 <= one.p <= 1 and pearson([-a for a in x], y).r == pytest.approx(-one.r)
