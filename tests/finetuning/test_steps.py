"""The gradients of a step are those of the mean loss over its learned tokens, however its samples are packed."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from epbench.finetuning.packing import Sample, Schedule
from epbench.finetuning.steps import StepLoader, accumulate, row_tensors
from tests.finetuning.training_run import made_samples
from tests.refusals import refusal


@pytest.fixture
def model(base):
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32).train()


def gradients(model, rows, n_learned):
    model.zero_grad()
    loss = accumulate(model, rows, n_learned, lambda loss, last: loss.backward())
    return float(loss), {name: p.grad.clone() for name, p in model.named_parameters()}


def largest_difference(one, other):
    return max(float((one[name] - other[name]).abs().max() / one[name].abs().max()) for name in one)


def test_a_packed_step_learns_what_separate_samples_would(model):
    """And its loss is the mean over tokens, not over rows."""
    samples = made_samples(7)
    n = sum(sample.n_learned for sample in samples)

    def loss_of(sample):
        ids = torch.tensor(sample.ids)
        logits = model(input_ids=ids[None]).logits[0, :-1].detach()
        return float(torch.nn.functional.cross_entropy(logits, ids[1:], reduction="sum"))

    sums = [loss_of(sample) for sample in samples]
    rows = [row_tensors(samples, (0, 3, 1)), row_tensors(samples, (6, 2, 5, 4)), row_tensors([], ())]
    packed = gradients(model, rows, n)
    apart = gradients(model, [row_tensors(samples, (i,)) for i in range(7)], n)
    assert packed[0] == pytest.approx(apart[0], abs=1e-5) == pytest.approx(sum(sums) / n, abs=1e-5)
    assert largest_difference(packed[1], apart[1]) < 1e-5


def test_masked_tokens_change_no_gradient(model):
    """What a masked token is has no effect where nothing comes after it; and it is no target."""
    start = [1, 50, 60, 70]
    learned = [False, True, True, True, False]
    one = [Sample("a", "text", [*start, 80], learned)]
    other = [Sample("a", "text", [*start, 90], learned)]
    mine, theirs = (gradients(model, [row_tensors(samples, (0,))], 3) for samples in (one, other))
    assert mine[0] == theirs[0]
    # The embedding and the head see the token itself, but learn nothing from it.
    assert largest_difference(mine[1], theirs[1]) == 0.0
    shown = gradients(model, [row_tensors([Sample("a", "text", [*start, 80], [False] + [True] * 4)], (0,))], 3)
    assert largest_difference(mine[1], shown[1]) > 1e-3


def test_the_loader_gives_each_process_its_rows():
    samples = made_samples()
    loaders = [
        StepLoader(samples, Schedule(range(22), (), 2, 1), batch_size=8, row_tokens=128, rank=rank, n_ranks=2)
        for rank in (0, 1)
    ]
    for epoch in (0, 1):
        for loader in loaders:
            loader.set_epoch(epoch)
        assert [len(loader) for loader in loaders] == [3, 3]
        seen = []
        for one, other in zip(*loaders, strict=True):
            assert one["n_learned"] == other["n_learned"] and len(one["rows"]) == len(other["rows"])
            learned = sum(int((row["labels"] != -100).sum()) for step in (one, other) for row in step["rows"])
            assert learned == one["n_learned"]
            seen += [int(id_) for step in (one, other) for row in step["rows"] for id_ in row["input_ids"][0]]
        real = sorted(id_ for sample in samples for id_ in sample.ids)
        assert sorted(id_ for id_ in seen if id_) == real


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
    assert len(schedule.steps(0, [100] * 3616, 192, 8192, 8)) == 19
    assert schedule.order(0) != schedule.order(1)
    full = Schedule(range(100), (), 1, seed=0).steps(0, [10] * 100, 100, 100, 2)
    assert [len(share) for share in full[0].rows] == [5, 5]


@given(st.integers(1, 5), st.integers(0, 6), st.integers(0, 9))
def test_what_is_seen_once_is_shared_among_the_epochs(epochs, part, n_always):
    once = range(n_always, n_always + part * epochs)
    schedule = Schedule(range(n_always), once, epochs, seed=3)
    seen = [schedule.order(epoch) for epoch in range(epochs)]
    assert all(set(range(n_always)) <= set(order) for order in seen)
    assert sorted(i for order in seen for i in order if i >= n_always) == list(once)


def test_what_does_not_fit_is_refused():
    said = refusal(Schedule([0], (), 1, seed=0).steps, 0, [101], 1, 100, 1)
    assert "a sample of 101 tokens does not fit in a row of 100 tokens" in said
    assert "that 3 epochs can share equally, got 4" in refusal(Schedule, [], range(4), 3, seed=0)
