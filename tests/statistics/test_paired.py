"""Paired comparisons: what they are by hand, and what swapping the two does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.statistics.paired import holm, paired


def test_a_comparison_by_hand():
    first, second = [1.0, 0.5, 0.0, 1.0, 0.1 + 0.2], [0.0, 0.5, 0.5, 0.0, 0.3]
    result = paired(first, second, ["a", "a", "b", "b", "c"])
    assert (result.n, result.wins, result.ties, result.losses) == (5, 2, 2, 1)  # what differs by rounding is a tie
    assert result.means == pytest.approx((0.56, 0.26)) and result.difference == pytest.approx(0.3)
    low, high = result.interval
    assert 0 <= low < 0.3 < high <= 0.5  # the mean differences of the clusters are 0.5, 0.25 and 0


def test_what_is_clear_is_told_from_chance():
    clear = paired([1.0] * 40, [0.5] * 40, range(40))
    assert clear.p < 1e-6 and clear.interval == pytest.approx((0.5, 0.5))
    assert paired([1.0, 0.0] * 20, [0.0, 1.0] * 20, range(40)).p > 0.9
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
        with pytest.raises(ValueError, match="as many of each expected"):
            paired(first, second, clusters)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5]) == [0.5] and holm([]) == []


shares = st.sampled_from([0.0, 0.25, 0.5, 2 / 3, 1.0])


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
