from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.draws import RandomStream, UnitStream


def test_draws_are_these_on_every_machine():
    draws = RandomStream("pinned", 0)
    assert [draws.index(1000) for _ in range(5)] == [783, 319, 101, 477, 956]
    assert UnitStream("pinned", 0).take(3).tolist() == [0.0963954702841695, 0.134454206474919, 0.6425378733415291]


def test_streams_of_different_keys_differ():
    assert RandomStream("a", 1).unit() != RandomStream("a", 2).unit() != RandomStream("b", 2).unit()


@pytest.mark.slow
@given(st.lists(st.integers(), unique=True), st.integers(0, 20), st.integers())
def test_a_sample_is_a_part_without_repeats(items, k, seed):
    sample = RandomStream(seed).sample(items, k)
    assert len(sample) == min(k, len(items)) == len(set(sample))
    assert set(sample) <= set(items)


@given(st.lists(st.integers(), unique=True, max_size=40), st.integers())
def test_items_one_by_one_are_those_of_the_whole_sample(items, seed):
    assert list(RandomStream(seed).one_by_one(items)) == RandomStream(seed).sample(items, len(items))


def test_sample_and_pick_are_uniform():
    draws = RandomStream("uniform")
    firsts = Counter(draws.sample("abcd", 2)[0] for _ in range(8000))
    picks = Counter(draws.pick("abcd") for _ in range(8000))
    assert all(abs(count - 2000) < 200 for count in [*firsts.values(), *picks.values()])


def test_weighted_draws_follow_the_weights():
    draws = RandomStream("weighted")
    counts = Counter(draws.weighted("abc", (1, 0, 3)) for _ in range(8000))
    assert counts["b"] == 0 and abs(counts["a"] - 2000) < 200


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6))
def test_a_stream_does_not_depend_on_its_blocks(blocks):
    whole, parts = UnitStream("s").take(sum(blocks)), UnitStream("s")
    assert np.array_equal(whole, np.concatenate([parts.take(n) for n in blocks]))
