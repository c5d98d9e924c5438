"""The gradients of a step are those of the mean loss over its learned tokens, however its samples are packed."""

import pytest
import torch
from transformers import AutoModelForCausalLM

from epbench.finetuning.packing import Schedule
from epbench.finetuning.steps import StepLoader, accumulate, row_tensors
from epbench.finetuning.texts.samples import Sample
from tests.finetuning.training_run import made_samples
from tests.tiny_model import make_tiny_model


@pytest.fixture(scope="module")
def base(once):
    return once("base-for-training", lambda folder: make_tiny_model(folder, "a tiny model " * 50, vocabulary=300))


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
    samples = made_samples(7)
    n = sum(sample.n_learned for sample in samples)
    packed = gradients(
        model, [row_tensors(samples, (0, 3, 1)), row_tensors(samples, (6, 2, 5, 4)), row_tensors([], ())], n
    )
    apart = gradients(model, [row_tensors(samples, (i,)) for i in range(7)], n)
    assert packed[0] == pytest.approx(apart[0], abs=1e-5)
    assert largest_difference(packed[1], apart[1]) < 1e-5


def test_the_loss_is_the_mean_over_tokens_and_not_over_rows(model):
    samples = made_samples(3)
    rows = [row_tensors(samples, (0,)), row_tensors(samples, (1, 2))]
    sums = []
    for sample in samples:
        ids = torch.tensor([sample.ids])
        logits = model(input_ids=ids).logits[0, :-1]
        sums.append(torch.nn.functional.cross_entropy(logits, ids[0, 1:], reduction="sum").detach())
    n = sum(len(sample.ids) - 1 for sample in samples)
    assert sum(sample.n_learned for sample in samples) == n
    assert gradients(model, rows, n)[0] == pytest.approx(float(sum(sums)) / n, abs=1e-5)


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
