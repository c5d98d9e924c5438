"""Processes that must know of one another, and trainings for which there is too little memory or disk."""

import shutil
from types import SimpleNamespace

import pytest
import torch

from epbench.errors import BadInput
from epbench.finetuning import cost, launching
from epbench.finetuning.cost import estimate_memory, parameters_of
from epbench.finetuning.launching import Ranks
from epbench.finetuning.recipe import Recipe
from tests.finetuning.small_configs import LLAMA


def test_processes_that_do_not_know_of_one_another_are_refused(monkeypatch):
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
    asked = Recipe(**long_rows)
    available = int(memory_of(base, tmp_path, row_tokens=60_000) + 1e8)  # enough when activations are computed twice
    monkeypatch.setattr(cost, "available_memory", lambda device: available)
    with pytest.raises(BadInput, match=r"available; it would fit with --activation_checkpointing true \(\d+\.\d GB\)$"):
        launching.check_cost(asked, base, Ranks(), tmp_path / "run")
    launching.check_cost(Recipe(row_tokens=60_000), base, Ranks(), tmp_path / "run")
    with pytest.raises(BadInput, match="it would not fit either with --lora_r 16"):  # both share the machine
        launching.check_cost(Recipe(row_tokens=60_000), base, Ranks(0, 2), tmp_path / "run")


@pytest.mark.slow
def test_several_gpus_are_named_if_one_does_not_suffice(base, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    sizes = {
        n: estimate_memory(LLAMA, row_tokens=8192, world=n, sharded=True, checkpointing=True).total for n in (2, 3)
    }
    monkeypatch.setattr(cost, "available_memory", lambda device: (sizes[2] + sizes[3]) // 2)
    with pytest.raises(BadInput, match="fit with finetune/configs/fsdp2.yaml on 3 GPUs like this"):
        launching.check_cost(Recipe(), base, Ranks(), tmp_path / "run")


def test_too_little_disk_is_refused_but_not_what_an_earlier_start_has_written(base, tmp_path, monkeypatch):
    needed = cost.disk_needed(parameters_of(LLAMA).total, 5)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=needed // 2))
    with pytest.raises(BadInput, match=r"run: the checkpoints take 0\.0 GB, but 0\.0 GB are free"):
        launching.check_cost(Recipe(), base, Ranks(), tmp_path / "run")
    (tmp_path / "run").mkdir()
    (tmp_path / "run/model.safetensors").write_bytes(bytes(needed // 2 + 1))
    assert "parameters; disk" in launching.check_cost(Recipe(), base, Ranks(), tmp_path / "run")[0]
