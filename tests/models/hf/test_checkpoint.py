"""What is known of a model before its weights: of vLLM's models too, where vLLM is not installed."""

import importlib.util
import re
import shutil

import psutil
import pytest

from epbench.errors import BadInput, install_hint
from epbench.models.hf import memory
from epbench.models.hf.checkpoint import label_ids, load_tokenizer, read_window
from epbench.models.hf.memory import available_memory
from epbench.models.protocol import Request
from epbench.models.vllm import VllmModel
from tests.models.conftest import TEXT
from tests.refusals import refusal

REQUEST = Request("1", "You read.", TEXT, "Who left?")


@pytest.fixture
def tiny(tiny, tmp_path):
    """A model without its weights, which nothing here may need."""
    return str(shutil.copytree(tiny, tmp_path / "model", ignore=shutil.ignore_patterns("*.safetensors")))


def test_the_smaller_of_config_and_tokenizer_is_the_window(tiny):
    tokenizer = load_tokenizer(tiny)
    assert read_window(tiny, tokenizer) == 4096
    tokenizer.model_max_length = 1000
    assert read_window(tiny, tokenizer) == 1000
    tokenizer.model_max_length = int(1e30)  # what a tokenizer says that knows no length
    assert read_window(tiny, tokenizer) == 4096


def test_a_label_has_two_spellings(tiny):
    tokenizer = load_tokenizer(tiny)
    assert [tokenizer.decode([token]) for token in label_ids(tokenizer, "A")] == ["A", " A"]
    assert "expected one token" in refusal(label_ids, tokenizer, "Zanzibar")


def test_vllm_window_and_counts_need_no_engine(tiny):
    model = VllmModel(tiny)
    assert model.name == f"vllm:{tiny}"
    assert model.window() == 4096
    assert VllmModel(tiny, max_model_len=512).window() == 512
    prompt, shared = model.count_tokens(REQUEST)
    assert 0 < shared < prompt
    assert model.hit_rate is None
    assert "at least 1" in refusal(VllmModel, tiny, tensor_parallel=0)


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed")
def test_without_vllm_an_answer_is_refused_with_the_way_out(tiny):
    assert not list(VllmModel(tiny).answer([]))
    with pytest.raises(BadInput, match=re.escape(install_hint("vllm"))):
        list(VllmModel(tiny).answer([REQUEST]))


def test_memory_of_a_cpu_is_what_the_machine_or_its_container_has(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_CGROUP_LIMITS", (limit, tmp_path / "none"))
    assert 0 < available_memory("cpu") <= psutil.virtual_memory().total
    limit.write_text("1048576\n")
    assert available_memory("cpu") == 1048576
    limit.write_text("max\n")
    assert available_memory("cpu") > 1048576
