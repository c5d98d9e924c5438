"""Book-SORT through the engine: the answer goes on from its start, and an excerpt is read once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed here; `make test-vllm` has an environment for it")

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.dataset.load import load_pairs
from tests.booksort.sort_set import write_set
from tests.models.vllm.conftest import ENGINE_ENV

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_set(tmp_path_factory.mktemp("set") / "booksort")


@pytest.fixture(scope="module")
def requests(dataset):
    return requests_for("in-context", load_pairs(str(dataset))[:12], load_prompts(), 3)


def test_probabilities_are_those_behind_the_start_of_the_answer(model, tiny, requests):
    import torch
    from transformers import AutoModelForCausalLM

    replies = {reply.id: reply for reply in model.answer(requests)}
    reference = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32)
    tokenizer = model.prompts.tokenizer
    for request in requests[:4]:
        ids = model.prompts.ids(request)
        assert tokenizer.decode(ids).endswith("Answer: Segment")
        expected = torch.softmax(reference(torch.tensor([ids])).logits[0, -1], -1)
        reply = replies[request.id]
        assert reply.failure is None and reply.usage.completion == 1
        for label in "AB":
            spelled = [id for token, id in tokenizer.get_vocab().items() if token in (label, f"\u0120{label}")]
            assert len(spelled) == 2, "the tiny tokenizer should know both spellings"
            assert reply.probabilities[label] == pytest.approx(sum(expected[spelled].tolist()), rel=1e-2, abs=1e-6)


def test_an_excerpt_is_read_once_for_its_four_pairs(model, requests):
    before = model._cached, model._repeated
    assert len({request.context for request in requests}) == 3
    assert len(list(model.answer(requests))) == 12
    cached, repeated = model._cached - before[0], model._repeated - before[1]
    print(f"{cached / repeated:.3f} of the repeated tokens came from the cache")
    assert cached > 0.5 * repeated > 0


def test_a_run_of_the_script(dataset, tiny, tmp_path, hf_home):
    done = subprocess.run(
        [
            sys.executable, str(ROOT / "eval_scripts/booksort.py"), "--dataset", str(dataset), "--memory", "in-context",
            "--model", f"vllm:{tiny}", "--limit", "8", "--out", str(tmp_path / "r"),
        ],
        env=os.environ | ENGINE_ENV | {"HF_HOME": str(hf_home)},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    scores, usage = (json.loads((tmp_path / "r" / name).read_text()) for name in ("scores.json", "usage.json"))
    assert (scores["n_questions"], scores["n_failed"], usage["requests"]) == (8, 0, 8)
    assert usage["hit_rate"] > 0.3 and "saved by sharing" in done.stdout
