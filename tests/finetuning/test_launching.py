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
def base(tmp_path):
    LLAMA.save_pretrained(tmp_path / "base")
    return str(tmp_path / "base")


def memory_of(base, tmp_path, **recipe):
    """The number of bytes that training is said to take."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "available_memory", lambda device: 10**15)
        told = launching.check_cost(Recipe(**recipe), base, Ranks(), tmp_path / "run")[1]
    return float(told.split("about ")[1].split(" GB")[0]) * 1e9


def test_too_little_memory_is_refused_with_the_flags_that_fit(base, tmp_path, monkeypatch):
    long_rows = {"row_tokens": 60_000, "activation_checkpointing": False}
    assert memory_of(base, tmp_path, **long_rows) > 1e9
    available = int(memory_of(base, tmp_path, row_tokens=60_000) + 1e8)  # enough when activations are computed twice
    monkeypatch.setattr(cost, "available_memory", lambda device: available)
    with pytest.raises(BadInput, match=r"available; it would fit with --activation_checkpointing true \(\d+\.\d GB\)$"):
        launching.check_cost(Recipe(**long_rows), base, Ranks(), tmp_path / "run")
    launching.check_cost(Recipe(row_tokens=60_000), base, Ranks(), tmp_path / "run")
    both = refusal(launching.check_cost, Recipe(row_tokens=60_000), base, Ranks(0, 2), tmp_path / "run")
    assert "it would not fit either with --lora_r 16" in both  # they share the machine


@pytest.mark.slow
def test_several_gpus_are_named_if_one_does_not_suffice(base, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    sizes = {
        n: estimate_memory(LLAMA, row_tokens=8192, world=n, sharded=True, checkpointing=True).total for n in (2, 3)
    }
    monkeypatch.setattr(cost, "available_memory", lambda device: (sizes[2] + sizes[3]) // 2)
    said = refusal(launching.check_cost, Recipe(), base, Ranks(), tmp_path / "run")
    assert "fit with finetune/configs/fsdp2.yaml on 3 GPUs like this" in said


def test_too_little_disk_is_refused_but_not_what_an_earlier_start_has_written(base, tmp_path, monkeypatch):
    needed = cost.disk_needed(parameters_of(LLAMA).total, 5)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=needed // 2))
    said = refusal(launching.check_cost, Recipe(), base, Ranks(), tmp_path / "run")
    assert "run: the checkpoints take 0.0 GB, but 0.0 GB are free" in said
    (tmp_path / "run").mkdir()
    (tmp_path / "run/model.safetensors").write_bytes(bytes(needed // 2 + 1))
    assert "parameters; disk" in launching.check_cost(Recipe(), base, Ranks(), tmp_path / "run")[0]


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
