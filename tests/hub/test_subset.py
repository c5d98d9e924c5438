"""Subsets of a dataset: the same for everybody, complete over the shards, and with groups that stay together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench import BadInput
from epbench.hub.rows import subset

QUESTIONS = [f"q{i}" for i in range(12)]
PAIRS = [
    f"{config} {book} {excerpt}/{i}"
    for config in ("e250_s20", "e1000_s50")
    for book in (1, 2)
    for excerpt in (0, 1)
    for i in range(4)
]


def itself(item):
    return item


def excerpt_of(pair):
    return pair.partition("/")[0]


@pytest.mark.parametrize(
    ("limit", "shard", "chosen"),
    [
        (5, None, ["q0", "q4", "q5", "q7", "q9"]),
        (None, "1/3", ["q0", "q6", "q7", "q10"]),
        (None, "2/3", ["q2", "q4", "q8", "q9"]),
        (None, "3/3", ["q1", "q3", "q5", "q11"]),
        (7, "1/2", ["q5", "q6", "q7", "q9"]),
        (7, "2/2", ["q0", "q3", "q4"]),
    ],
)
def test_a_subset_never_changes(limit, shard, chosen):
    """Runs of earlier versions must be continued with the same questions."""
    assert subset(QUESTIONS, itself, limit, shard) == chosen


@pytest.mark.parametrize(
    ("limit", "shard", "chosen"),
    [
        (6, None, {"e1000_s50 1 1": 2, "e1000_s50 2 0": 4}),
        (None, "1/3", {"e250_s20 1 1": 4, "e250_s20 2 0": 4, "e1000_s50 2 0": 4}),
        (None, "2/3", {"e250_s20 1 0": 4, "e250_s20 2 1": 4, "e1000_s50 1 1": 4}),
        (None, "3/3", {"e1000_s50 1 0": 4, "e1000_s50 2 1": 4}),
        (10, "1/2", {"e1000_s50 1 0": 2, "e1000_s50 2 0": 4}),
        (10, "2/2", {"e1000_s50 1 1": 4}),
    ],
)
def test_a_subset_of_groups_never_changes(limit, shard, chosen):
    """`chosen` has the number of pairs by excerpt: the first ones of each."""
    expected = [f"{excerpt}/{i}" for excerpt, n in chosen.items() for i in range(n)]
    assert subset(PAIRS, excerpt_of, limit, shard) == expected


@given(st.integers(1, 60), st.integers(1, 8))
def test_the_shards_hold_every_item_once(limit, n):
    items = [f"t{i}" for i in range(50)]
    whole = subset(items, itself, limit)
    shards = [subset(items, itself, limit, f"{i}/{n}") for i in range(1, n + 1)]
    assert sorted(item for shard in shards for item in shard) == sorted(whole)
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert [item for item in items if item in whole] == whole
    assert set(whole) <= set(subset(items, itself, limit + 1))


@pytest.mark.parametrize("shard", ["0/4", "5/4", "1", "a/b", "1/0"])
def test_a_shard_that_does_not_exist_is_refused(shard):
    with pytest.raises(BadInput, match="shard: expected i/n with 1 ≤ i ≤ n, such as 2/4, got"):
        subset(QUESTIONS, itself, None, shard)


def test_a_limit_below_one_is_refused():
    with pytest.raises(BadInput, match="limit: expected at least 1, got 0"):
        subset(QUESTIONS, itself, 0)
