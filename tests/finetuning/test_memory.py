"""What training takes: against what autograd keeps of real tensors, and against the peaks of real processes."""

import json
import os
import subprocess
import sys
from dataclasses import astuple, replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, MixtralConfig

from epbench.errors import BadInput
from epbench.finetuning.cost import (
    MemoryEstimate,
    _kept,
    check_disk,
    check_memory,
    disk_needed,
    estimate_memory,
    parameters_of,
)
from tests.conftest import ROOT
from tests.finetuning.small_configs import CONFIGS, LLAMA, SHAPE
from tests.refusals import refusal

TOKENS = 128


def really_kept(config, autocast, checkpointing):
    """Bytes of real tensors, with a row of two samples that transformers itself tells apart."""
    model = AutoModelForCausalLM.from_config(config).train()
    if checkpointing:
        model.activation_checkpointing_enable()
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    found = []
    ids = torch.arange(TOKENS)[None]
    positions = torch.cat([torch.arange(TOKENS // 2)] * 2)[None]
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: found.append(tensor) or tensor, lambda tensor: tensor
    )
    with hooks, torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        model(input_ids=ids, position_ids=positions, labels=ids, use_cache=False)
    sizes = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in found}
    return sum(size for key, size in sizes.items() if key not in own)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_kept_of_a_row_is_known_without_weights(name):
    config = CONFIGS[name]
    for autocast, checkpointing in ((False, False), (False, True), (True, False), (True, True)):
        found = _kept(config.to_json_string(use_diff=False), TOKENS, autocast, False, checkpointing)
        assert found == pytest.approx(really_kept(config, autocast, checkpointing), rel=0.02)


def stays(**how):
    """Bytes of weights, gradients and optimizer, and of the copy that is measured."""
    found = estimate_memory(LLAMA, row_tokens=TOKENS, **how)
    return found.weights, found.gradients, found.optimizer, found.measuring


@pytest.mark.slow
def test_what_stays_is_shared_trained_and_copied_as_training_goes():
    n, adapters = parameters_of(LLAMA).total, parameters_of(LLAMA).lora(4)
    assert stays(autocast=False) == (4 * n, 4 * n, 8 * n, 4 * n)
    assert stays() == (4 * n, 4 * n, 8 * n, 2 * n)
    assert stays(lora_rank=4) == (4 * (n + adapters), 4 * adapters, 8 * adapters, 2 * n)
    assert stays(world=4, sharded=True) == (n, n, 2 * n, 2 * n)
    assert stays(world=4) == (4 * n, 8 * n, 8 * n, 2 * n)  # with buckets


def test_the_total_is_that_of_the_highest_moment():
    found = estimate_memory(LLAMA, row_tokens=TOKENS, autocast=False)
    assert found.total == sum(astuple(replace(found, measuring=0)))
    adapters = estimate_memory(LLAMA, row_tokens=8, lora_rank=2, autocast=False)
    assert adapters.total == adapters.weights + adapters.optimizer + adapters.measuring
    without = estimate_memory(LLAMA, row_tokens=8, lora_rank=2, autocast=False, measuring=False)
    assert without == replace(adapters, measuring=0) and without.total < adapters.total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_tokens", "sharded", "autocast", "masked"),
    [(2, False, False, False), (2, True, True, True), (700, False, True, True), (700, True, False, False)],
)
def test_longer_rows_take_more_and_checkpointing_less(n_tokens, sharded, autocast, masked):
    how = {"world": 2, "sharded": sharded, "autocast": autocast, "masked": masked, "measuring": False}
    less, more = (estimate_memory(LLAMA, row_tokens=n_tokens, checkpointing=again, **how) for again in (True, False))
    longer = estimate_memory(LLAMA, row_tokens=n_tokens + 64, **how)
    assert less.total <= more.total <= longer.total
    assert all(part >= 0 for estimate in (less, more, longer) for part in astuple(estimate))


def test_lengths_of_samples_take_less_than_a_mask():
    masked = estimate_memory(LLAMA, row_tokens=1000, autocast=False)
    lengths = estimate_memory(LLAMA, row_tokens=1000, autocast=False, masked=False)
    # in each of three layers a mask of float32, and half the heads for keys and for values; and the mask itself
    assert masked.activations - lengths.activations == 1000 * (3 * 4 * (1000 + 2 * 32) + 1000)


@pytest.mark.parametrize(
    "config",
    [
        LlamaConfig(**{**SHAPE, "num_key_value_heads": 3}, num_hidden_layers=1),  # four heads cannot share three
        MixtralConfig(**SHAPE, num_hidden_layers=1, num_local_experts=4),
    ],
)
def test_a_model_that_is_not_known_is_refused_in_one_line(config):
    known = f"model of type {config.model_type}: how much memory training takes is not known before"
    assert refusal(estimate_memory, config, row_tokens=TOKENS).startswith(known)


PEAKS = {  # width, inner width, layers, heads and words; tokens, checkpointing and autocast
    "many logits": ((256, 704, 6, 4, 24_000), (768, True, False)),
    "many activations": ((256, 704, 12, 4, 4000), (512, False, False)),
    "autocast": ((320, 864, 6, 5, 8000), (512, False, True)),
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of one process")
@pytest.mark.parametrize(
    "name", ["autocast", *(pytest.param(n, marks=pytest.mark.nightly) for n in PEAKS if n != "autocast")]
)
def test_the_estimate_is_near_the_peak_of_a_real_process(name):
    shape, (row_tokens, checkpointing, autocast) = PEAKS[name]
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
    config = dict(zip(names, shape, strict=True), num_key_value_heads=shape[3], tie_word_embeddings=False)
    how = {"row_tokens": row_tokens, "checkpointing": checkpointing, "autocast": autocast}
    command = [
        sys.executable,
        *"-W ignore -m tests.finetuning.measured_peak".split(),
        json.dumps({"config": config, **how}),
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_MMAP_THRESHOLD_": "131072"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    estimate = estimate_memory(LlamaConfig(**config), **how, measuring=False)
    assert 0.85 <= estimate.total / int(done.stdout.split()[-1]) <= 1.15


GB = 10**9


def estimate(total, measuring=0):
    """Of so many GB, an eighth each but for the optimizer and the logits."""
    part = total * GB // 8
    return MemoryEstimate(part, part, 2 * part, 0, part, 3 * part, measuring * GB)


def test_a_refusal_has_all_numbers_and_what_would_fit():
    check_memory(estimate(80), 80 * GB, {})
    ways = {"rows of 2,048 tokens": estimate(100), "eight devices": estimate(32), "adapters": estimate(40)}
    parts = "weights 20.0 GB + gradients 20.0 GB + optimizer 40.0 GB + activations 20.0 GB + logits 60.0 GB"
    start = f"memory: training takes about 160.0 GB on each device ({parts}), but 80.0 GB are available"
    for alternatives, end in (
        (ways, "; it would fit with eight devices (32.0 GB), or with adapters (40.0 GB)"),
        ({"rows of 8 tokens": estimate(96)}, "; it would not fit either with rows of 8 tokens (96.0 GB)"),
        ({}, ""),
    ):
        assert refusal(check_memory, estimate(160), 80 * GB, alternatives) == start + end
    copied = "about 40.0 GB on each device (weights 4.0 GB + optimizer 8.0 GB + model copied 28.0 GB)"
    assert copied in refusal(check_memory, estimate(32, measuring=28), 30 * GB, {})  # if that is the peak


def test_a_full_disk_is_refused_before_the_folder_exists(tmp_path, monkeypatch):
    # 5 models in bfloat16, and the training state twice while the last is replaced
    assert disk_needed(8 * GB, 5) == 5 * 16 * GB + 2 * 96 * GB
    assert disk_needed(8 * GB, 5, n_trained=GB) == 5 * 16 * GB + 2 * 12 * GB
    monkeypatch.chdir(tmp_path)
    check_disk(Path("a/b"), 1)
    with pytest.raises(BadInput, match=r"/a/b: the checkpoints take 1,000,000,000.0 GB, but [\d,.]+ GB are free"):
        check_disk(Path("a/b"), 10**18)
    assert not (tmp_path / "a").exists()
