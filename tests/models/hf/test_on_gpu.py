"""The shared prefix and likelihoods on a CUDA device; the same tests run on a CPU, so that they are right where there is none."""

import numpy as np
import pytest
import torch

from epbench.models.hf.likelihood import Likelihoods
from epbench.models.hf.memory import available_memory
from epbench.models.hf.model import TransformersModel
from epbench.models.hf.prefix_rows import release
from epbench.models.hf.shared_prefix import Prompt, SharedPrefix
from epbench.models.protocol import Request, Sampling
from tests.models.hf.test_shared_prefix import prompts
from tests.models.hf.tiny_models import MODELS, of_tokens, tiny
from tests.tiny_model import make_tiny_model

CUDA = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=CUDA)])
def device(request):
    return torch.device(request.param)


@pytest.mark.parametrize(("kind", "device"), [("Llama", "cpu"), *(pytest.param(k, "cuda", marks=CUDA) for k in MODELS)])
def test_label_probabilities_are_those_of_a_cpu(kind, device):
    plain, strategy = tiny(kind)
    asked = prompts(12)
    reader = SharedPrefix(tiny(kind)[0].to(device), [2], batch_size=5)
    found = dict(reader.answer([Prompt(ids, labels={"some": range(3, 150)}) for ids in asked]))
    assert strategy is None or reader.strategy == strategy
    for i, ids in enumerate(asked):
        with torch.no_grad():
            expected = float(plain(torch.tensor([ids])).logits[0, -1].softmax(-1)[3:150].sum())
        assert found[i].probabilities == pytest.approx({"some": expected}, abs=2e-3)


def test_drawn_answers_are_the_same_in_batches_of_any_size(device):
    model = tiny("Llama")[0].to(device)
    warm = [Prompt(ids, 8, i % 2, (1, i)) for i, ids in enumerate(prompts(9))]
    together = dict(SharedPrefix(model, [2]).answer(warm))
    assert together == dict(SharedPrefix(model, [2], batch_size=2).answer(warm))
    assert len({tuple(completion.ids) for completion in together.values()}) == 9


def test_likelihoods_are_those_of_a_cpu(device):
    rows = [ids[: 40 + 9 * i] for i, ids in enumerate(prompts(8))]
    expected, found = (Likelihoods(tiny("Llama")[0].to(place)) for place in ("cpu", device))
    for one, other in zip(of_tokens(expected, rows), of_tokens(found, rows), strict=True):
        assert np.allclose(one[1:], other[1:], atol=1e-2)
    assert np.allclose(expected.last_states(rows), found.last_states(rows), atol=1e-2)


def test_a_model_takes_the_type_of_its_device_and_its_memory_is_given_back(device, tmp_path):
    make_tiny_model(tmp_path, "a tiny model " * 50, vocabulary=300)
    before = available_memory(device)
    model = TransformersModel(str(tmp_path), device=str(device))
    requests = [Request(str(i), "", "a tiny model " * 90, f"{i}?", Sampling(max_tokens=4)) for i in range(5)]
    replies = list(model.answer(requests))
    assert len(replies) == 5 and all(reply.usage.cached for reply in replies[1:])
    assert model.reader.forward.model.dtype == (torch.float32 if device.type == "cpu" else torch.bfloat16)
    del model
    release()
    assert device.type == "cpu" or available_memory(device) > before - 2**28
