"""Wilson's interval against scipy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from epbench.statistics.proportions import wilson


@given(
    st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_the_interval_is_that_of_scipy(shares, level):
    right, n = shares
    expected = binomtest(right, n).proportion_ci(level, method="wilson")
    assert wilson(right, n, level=level) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert wilson(0, 0) is None
