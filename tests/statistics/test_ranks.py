from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.statistics.ranks import rank_methods
from epbench.statistics.smallest_difference import mann_whitney

METHODS = st.integers(2, 6).flatmap(
    lambda k: st.integers(3, 12).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=n, max_size=n), min_size=k, max_size=k
        )
    )
)


@given(METHODS)
@settings(max_examples=60, deadline=None)
def test_ranks_add_up_and_groups_hold_no_two_that_differ(rows):
    values = {f"m{i}": row for i, row in enumerate(rows)}
    ranking = rank_methods(values)
    k = len(values)
    assert sum(ranking.ranks.values()) == pytest.approx(k * (k + 1) / 2)
    assert list(ranking.ranks.values()) == sorted(ranking.ranks.values())
    assert len(ranking.pairs) == k * (k - 1) // 2 and all(pair.p <= pair.p_holm <= 1 for pair in ranking.pairs)
    differ = {frozenset((pair.first, pair.second)) for pair in ranking.pairs if pair.different}
    order = list(ranking.ranks)
    for group in ranking.groups:
        start = order.index(group[0])
        assert list(group) == order[start : start + len(group)]
        assert not any(frozenset((one, other)) in differ for one in group for other in group)
    for one, other in pairwise(order):  # neighbours that do not differ share a bar
        if frozenset((one, other)) not in differ:
            assert any({one, other} <= set(group) for group in ranking.groups)


def test_ties_share_a_rank():
    values = {"a": [1.0, 1.0], "b": [1.0, 0.0], "c": [0.0, 0.0]}
    assert rank_methods(values).ranks == {"a": 1.25, "b": 2.0, "c": 2.75}


def test_two_methods_are_compared_without_friedman():
    ranking = rank_methods({"a": [1.0] * 20 + [0.5], "b": [0.0] * 20 + [0.5]})
    assert ranking.friedman_p is None and ranking.pairs[0].different and not ranking.groups


def test_equal_methods_are_one_group():
    ranking = rank_methods({name: [0.0, 1.0, 1.0] for name in "abc"})
    assert ranking.friedman_p == 1 and ranking.groups == [("a", "b", "c")]


@pytest.mark.parametrize(
    "values", [{"a": [1.0]}, {"a": [], "b": []}, {"a": [1.0], "b": [1.0, 0.0]}, {"a": [float("nan")], "b": [1.0]}]
)
def test_what_cannot_be_ranked_is_refused(values):
    with pytest.raises(ValueError, match="expected"):
        rank_methods(values)


def test_mann_whitney_of_two_sets():
    found = mann_whitney([0.5, 1.0, 1.0, 1.0], [0.0, 0.0, 0.5])
    assert found.n == (4, 3) and found.effect == pytest.approx(11.5 / 12) and found.p < 0.05
    assert mann_whitney([0.5] * 3, [0.5] * 4).p == 1.0


def test_differences_that_are_equal_but_for_rounding_are_ties():
    """1 − 2/3 and 2/3 − 1/3 differ in their last bits."""
    first, second = [1.0, 2 / 3, 0.2, 1.0, 0.0, 0.9], [2 / 3, 1 / 3, 0.2 + 1 / 3, 0.8, 0.2, 0.7]
    thirds = [3.0, 2.0, 0.0, 2.0, 0.0, 2.0], [2.0, 1.0, 1.0, 1.4, 0.6, 1.4]
    (one,), (other,) = (rank_methods({"a": a, "b": b}).pairs for a, b in ((first, second), thirds))
    assert one.p == pytest.approx(other.p)
