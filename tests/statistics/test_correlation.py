"""Pearson's correlation: as scipy and numpy have it, and what is planted is found."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.statistics.paired import pearson


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
