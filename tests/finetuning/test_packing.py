"""Packing: every sample once an epoch, steps of a fixed size, rows that are never too long."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.finetuning.packing import Schedule

LENGTHS = st.lists(st.integers(2, 60), min_size=1, max_size=80)


@given(LENGTHS, st.integers(1, 30), st.integers(60, 200), st.integers(1, 4), st.integers(0, 3))
def test_an_epoch_sees_every_sample_once_in_steps_of_one_size(lengths, batch_size, row_tokens, n_ranks, epoch):
    schedule = Schedule(range(len(lengths)), (), 4, seed=1)
    steps = schedule.steps(epoch, lengths, batch_size, row_tokens, n_ranks)
    assert len(steps) == -(-len(lengths) // batch_size)
    assert all(len(step.samples) == batch_size for step in steps[:-1])
    assert sorted(i for step in steps for i in step.samples) == list(range(len(lengths)))
    for step in steps:
        assert sorted(step.samples) == sorted(i for share in step.rows for row in share for i in row)
        assert len(step.rows) == n_ranks and len({len(share) for share in step.rows}) == 1
        assert all(sum(lengths[i] for i in row) <= row_tokens for share in step.rows for row in share)


def test_the_numbers_of_the_paper():
    schedule = Schedule(range(3616), (), 5, seed=1)
    steps = schedule.steps(0, [100] * 3616, 192, 8192, 8)
    assert len(steps) == 19
    assert schedule.order(0) != schedule.order(1)


@given(st.integers(1, 5), st.integers(0, 6), st.integers(0, 9))
def test_what_is_seen_once_is_shared_among_the_epochs(epochs, part, n_always):
    once = range(n_always, n_always + part * epochs)
    schedule = Schedule(range(n_always), once, epochs, seed=3)
    seen = [schedule.order(epoch) for epoch in range(epochs)]
    assert all(set(range(n_always)) <= set(order) for order in seen)
    assert sorted(i for order in seen for i in order if i >= n_always) == list(once)


def test_rows_are_full():
    steps = Schedule(range(100), (), 1, seed=0).steps(0, [10] * 100, 100, 100, 2)
    assert [len(share) for share in steps[0].rows] == [5, 5]


def test_what_does_not_fit_is_refused():
    with pytest.raises(BadInput, match="a sample of 101 tokens does not fit in a row of 100 tokens"):
        Schedule([0], (), 1, seed=0).steps(0, [101], 1, 100, 1)
    with pytest.raises(BadInput, match="that 3 epochs can share equally, got 4"):
        Schedule([], range(4), 3, seed=0)
