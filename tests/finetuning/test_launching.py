"""Processes that must know of one another, and trainings for which there is too little memory or disk."""

import os
import shutil
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from transformers.integrations import deepspeed

from epbench.errors import BadInput
from epbench.finetuning import cost, launching
from epbench.finetuning.cost import estimate_memory, parameters_of
from epbench.finetuning.launching import Ranks, whole_models
from epbench.finetuning.recipe import Recipe
from tests.finetuning.small_configs import LLAMA
from tests.refusals import refusal


def test_processes_that_do_not_know_of_one_another_are_refused(monkeypatch, caplog):
    caplog.set_level("WARNING", "epbench.models")  # is set back, as what `joined` sets for the whole process is not
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    monkeypatch.setenv("MASTER_PORT", "29500")
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(BadInput, match="asked for several processes and has started one"), launching.joined():
        pass
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(BadInput, match="2 processes were started, but accelerate counts 1"), launching.joined():
        pass


@pytest.fixture
def check(tmp_path):
    """A check of what a training takes, which says it in two lines."""
    LLAMA.save_pretrained(tmp_path / "base")
    base, out = str(tmp_path / "base"), tmp_path / "run"
    return lambda index=0, n=1, **recipe: launching.check_cost(Recipe(**recipe), base, Ranks(index, n), out)


def memory_of(check, **recipe):
    """The number of bytes that training is said to take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "available_memory", lambda device: 10**15)
        told = check(**recipe)[1]
    return float(told.split("about ")[1].split(" GB")[0]) * 1e9


def test_too_little_memory_is_refused_with_the_flags_that_fit(check, monkeypatch):
    long_rows = {"row_tokens": 60_000, "activation_checkpointing": False}
    assert memory_of(check, **long_rows) > 1e9
    available = int(memory_of(check, row_tokens=60_000) + 1e8)  # enough when activations are computed twice
    monkeypatch.setattr(cost, "available_memory", lambda device: available)
    with pytest.raises(BadInput, match=r"available; it would fit with --activation_checkpointing true \(\d+\.\d GB\)$"):
        check(**long_rows)
    check(row_tokens=60_000)
    both = refusal(check, 0, 2, row_tokens=60_000)
    assert "it would not fit either with --lora_r 16" in both  # they share the machine


@pytest.mark.slow
def test_several_gpus_are_named_if_one_does_not_suffice(check, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    how = {"row_tokens": 8192, "sharded": True, "checkpointing": True}
    two, three = (estimate_memory(LLAMA, world=n, **how).total for n in (2, 3))
    monkeypatch.setattr(cost, "available_memory", lambda device: (two + three) // 2)
    assert "fit with finetune/configs/fsdp2.yaml on 3 GPUs like this" in refusal(check)


def test_too_little_disk_is_refused_but_not_what_an_earlier_start_has_written(check, tmp_path, monkeypatch):
    needed = cost.disk_needed(parameters_of(LLAMA).total, 5)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=needed // 2))
    assert "run: the checkpoints take 0.0 GB, but 0.0 GB are free" in refusal(check)
    (tmp_path / "run").mkdir()
    (tmp_path / "run/model.safetensors").write_bytes(bytes(needed // 2 + 1))
    assert "parameters; disk" in check()[0]


def test_the_shares_of_all_processes_make_up_the_whole():
    items = list(range(11))
    shares = [Ranks(index, 3).share(items) for index in range(3)]
    assert sorted(item for share in shares for item in share) == items
    assert Ranks().share(items) == items and Ranks().gather("x") == ["x"] and Ranks().main


@pytest.mark.parametrize("once", ["true", None])
def test_a_model_beside_a_sharded_one_is_loaded_whole(monkeypatch, once):
    """How the trained model is loaded has no effect on one that is measured, and is the same afterwards."""
    name, config = "FSDP_CPU_RAM_EFFICIENT_LOADING", Mock(is_zero3=lambda: True)  # as DeepSpeed's stage 3 leaves it
    monkeypatch.setenv(name, once) if once else monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(deepspeed, "_hf_deepspeed_config_weak_ref", None)
    deepspeed.set_hf_deepspeed_config(config)
    with pytest.raises(KeyError, match="stop"), whole_models():
        assert os.environ[name] == "false" and not deepspeed.is_deepspeed_zero3_enabled()
        raise KeyError("stop")
    assert os.environ.get(name) == once and deepspeed.is_deepspeed_zero3_enabled()
