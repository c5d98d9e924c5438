"""What training takes: against what autograd keeps of real tensors, and against the peaks of real processes."""

import json
import os
import subprocess
import sys
from dataclasses import astuple, replace
from itertools import product
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, MixtralConfig

from epbench.errors import BadInput
from epbench.finetuning.cost import parameters_of
from epbench.finetuning.memory import (
    MemoryEstimate,
    _kept,
    check_disk,
    check_memory,
    disk_needed,
    estimate_memory,
    fewest_devices,
)
from tests.finetuning.small_configs import CONFIGS, LLAMA, LLAMA_3_8B, SHAPE

ROOT = Path(__file__).parents[2]
TOKENS = 128


def kept(config, autocast=False, checkpointing=False, n_tokens=TOKENS):
    return _kept(config.to_json_string(use_diff=False), n_tokens, autocast, False, checkpointing)


def really_kept(config, autocast, checkpointing):
    """The same with real tensors, and with a row of two samples that transformers itself tells apart."""
    model = AutoModelForCausalLM.from_config(config).train()
    if checkpointing:
        model.activation_checkpointing_enable()
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    found = {}

    def keep(tensor):
        found[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    ids = torch.arange(TOKENS)[None]
    positions = torch.cat([torch.arange(TOKENS // 2)] * 2)[None]
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with hooks, torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        model(input_ids=ids, position_ids=positions, labels=ids, use_cache=False)
    return sum(tensor.untyped_storage().nbytes() for key, tensor in found.items() if key not in own)


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_kept_of_a_row_is_known_without_weights(name, autocast, checkpointing):
    expected = really_kept(CONFIGS[name], autocast, checkpointing)
    assert kept(CONFIGS[name], autocast, checkpointing) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("autocast", [False, True])
def test_what_is_kept_of_a_llama_layer_by_hand(autocast):
    more = LlamaConfig(**SHAPE, num_hidden_layers=4, tie_word_embeddings=False)
    hidden, inner, heads, matrices = 64, 160, 4, 64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 160
    if autocast:
        # two norms keep what they get and what they scale in float32; five linear layers keep their inputs in bfloat16
        a_token = 2 * 8 * hidden + 2 * 5 * hidden + 2 * 4 * hidden + 2 * 4 * inner + 2 * TOKENS
    else:
        # two norms with their outputs; queries, keys, values, output; gate, its activation, the other half, their product
        a_token = 4 * (6 * hidden + 4 * hidden + 4 * inner) + 4 * TOKENS
    a_token += 4 * heads + 2 * 4  # a sum for each head, and a root for each norm
    assert kept(more, autocast) - kept(LLAMA, autocast) == TOKENS * a_token + (2 * matrices if autocast else 0)
    assert kept(more, autocast, True) - kept(LLAMA, autocast, True) == TOKENS * 4 * hidden


def test_training_all_parameters_takes_16_bytes_for_each_beside_the_row():
    n = parameters_of(LLAMA).total
    found = estimate_memory(LLAMA, row_tokens=TOKENS, autocast=False)
    assert (found.weights, found.gradients, found.optimizer) == (4 * n, 4 * n, 8 * n)
    assert found.measuring == 4 * n
    parts = found.weights + found.gradients + found.optimizer + found.copies + found.activations + found.logits
    assert found.total == parts
    assert estimate_memory(LLAMA, row_tokens=TOKENS).measuring == 2 * n


def test_measuring_counts_only_where_it_is_the_peak():
    adapters = estimate_memory(LLAMA, row_tokens=8, lora_rank=2, autocast=False)
    assert adapters.total == adapters.weights + adapters.optimizer + adapters.measuring
    without = estimate_memory(LLAMA, row_tokens=8, lora_rank=2, autocast=False, measuring=False)
    assert without == replace(adapters, measuring=0)
    assert without.total < adapters.total


def test_adapters_need_gradients_and_optimizer_for_themselves_only():
    found = estimate_memory(LLAMA, row_tokens=TOKENS, lora_rank=4)
    adapters = parameters_of(LLAMA).lora(4)
    assert found.weights == 4 * (parameters_of(LLAMA).total + adapters)
    assert (found.gradients, found.optimizer) == (4 * adapters, 8 * adapters)


def test_sharding_splits_what_stays_and_several_whole_copies_need_buckets():
    n = parameters_of(LLAMA).total
    sharded = estimate_memory(LLAMA, row_tokens=TOKENS, world=4, sharded=True)
    assert (sharded.weights, sharded.gradients, sharded.optimizer) == (n, n, 2 * n)
    assert sharded.measuring == 2 * n
    whole = estimate_memory(LLAMA, row_tokens=TOKENS, world=4)
    assert (whole.weights, whole.gradients, whole.optimizer) == (4 * n, 8 * n, 8 * n)


WAYS = [*product((2, 700), *[(False, True)] * 3)]
QUICK = [(2, False, False, False), (2, True, True, True), (700, False, True, True), (700, True, False, False)]
"""Those of the fast tests, with each choice in both ways."""


@pytest.mark.parametrize(
    ("n_tokens", "sharded", "autocast", "masked"),
    [one if one in QUICK else pytest.param(*one, marks=pytest.mark.slow) for one in WAYS],
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


@pytest.mark.slow
def test_the_paper_s_model_needs_several_devices():
    alone = estimate_memory(LLAMA_3_8B, row_tokens=8192, checkpointing=True)
    assert alone.total > 16 * 8e9
    sharded = estimate_memory(LLAMA_3_8B, row_tokens=8192, world=8, sharded=True, checkpointing=True)
    assert 16e9 < sharded.total < 60e9


def test_a_model_that_fails_without_numbers_is_refused_in_one_line():
    broken = LlamaConfig(**{**SHAPE, "num_key_value_heads": 3}, num_hidden_layers=1)  # four heads cannot share three
    with pytest.raises(
        BadInput, match="^model of type llama: how much memory training takes is not known before"
    ) as error:
        estimate_memory(broken, row_tokens=TOKENS)
    assert "\n" not in str(error.value)


def test_a_mixture_of_experts_is_refused_in_one_line():
    experts = MixtralConfig(**SHAPE, num_hidden_layers=1, num_local_experts=4)
    with pytest.raises(
        BadInput, match="^model of type mixtral: how much memory training takes is not known before"
    ) as error:
        estimate_memory(experts, row_tokens=TOKENS)
    assert "\n" not in str(error.value)


PEAKS = {
    "many logits": (
        {
            "hidden_size": 256,
            "intermediate_size": 704,
            "num_hidden_layers": 6,
            "num_attention_heads": 4,
            "vocab_size": 24_000,
        },
        {"row_tokens": 768, "checkpointing": True, "autocast": False},
    ),
    "many activations": (
        {
            "hidden_size": 256,
            "intermediate_size": 704,
            "num_hidden_layers": 12,
            "num_attention_heads": 4,
            "vocab_size": 4000,
        },
        {"row_tokens": 512, "checkpointing": False, "autocast": False},
    ),
    "autocast": (
        {
            "hidden_size": 320,
            "intermediate_size": 864,
            "num_hidden_layers": 8,
            "num_attention_heads": 5,
            "vocab_size": 8000,
        },
        {"row_tokens": 512, "checkpointing": False, "autocast": True},
    ),
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of one process")
@pytest.mark.parametrize(
    "name", ["autocast", *(pytest.param(n, marks=pytest.mark.nightly) for n in PEAKS if n != "autocast")]
)
def test_the_estimate_is_near_the_peak_of_a_real_process(name):
    shape, how = PEAKS[name]
    config = dict(shape, num_key_value_heads=shape["num_attention_heads"], tie_word_embeddings=False)
    job = json.dumps({"config": config, **how})
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.finetuning.measured_peak", job],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_MMAP_THRESHOLD_": "131072"},
        capture_output=True,
        text=True,
        check=True,
    )
    estimate = estimate_memory(LlamaConfig(**config), **how, measuring=False)
    assert 0.85 <= estimate.total / int(done.stdout.split()[-1]) <= 1.15


GB = 10**9


def estimate(total, measuring=0):
    """Of so many GB, an eighth each but for the optimizer and the logits."""
    part = total * GB // 8
    return MemoryEstimate(part, part, 2 * part, 0, part, 3 * part, measuring * GB)


def test_what_fits_is_not_refused():
    check_memory(estimate(80), 80 * GB, {})


def test_a_refusal_has_all_numbers_and_what_would_fit():
    ways = {"rows of 2,048 tokens": estimate(100), "eight devices": estimate(32), "adapters": estimate(40)}
    with pytest.raises(BadInput) as error:
        check_memory(estimate(160), 80 * GB, ways)
    assert str(error.value) == (
        "memory: training takes about 160.0 GB on each device (weights 20.0 GB + gradients 20.0 GB + optimizer 40.0 GB + "
        "activations 20.0 GB + logits 60.0 GB), but 80.0 GB are available; it would fit with eight devices (32.0 GB), or "
        "with adapters (40.0 GB)"
    )


def test_a_refusal_says_that_nothing_would_fit():
    with pytest.raises(BadInput, match=r"; it would not fit either with rows of 8 tokens \(96.0 GB\)$"):
        check_memory(estimate(160), 80 * GB, {"rows of 8 tokens": estimate(96)})
    with pytest.raises(BadInput, match="but 80.0 GB are available$"):
        check_memory(estimate(160), 80 * GB, {})


def test_a_refusal_names_the_copy_that_is_measured_if_that_is_the_peak():
    with pytest.raises(
        BadInput, match=r"about 40.0 GB .*\(weights 4.0 GB \+ optimizer 8.0 GB \+ model copied 28.0 GB\)"
    ):
        check_memory(estimate(32, measuring=28), 30 * GB, {})


def test_fewest_devices_is_the_first_number_that_fits():
    assert fewest_devices(30 * GB, lambda n: estimate(128 // n)) == 5
    assert fewest_devices(30 * GB, lambda n: estimate(16)) == 1
    assert fewest_devices(30 * GB, lambda n: estimate(31)) is None


def test_disk_for_checkpoints():
    # 5 models in bfloat16, and the training state twice while the last is replaced
    assert disk_needed(8 * GB, 5) == 5 * 16 * GB + 2 * 96 * GB
    assert disk_needed(8 * GB, 5, n_trained=GB) == 5 * 16 * GB + 2 * 12 * GB


def test_a_full_disk_is_refused_before_the_folder_exists(tmp_path):
    folder = tmp_path / "a" / "b"
    check_disk(folder, 1)
    with pytest.raises(BadInput, match=rf"^{folder}: the checkpoints take 1,000,000,000.0 GB, but [\d,.]+ GB are free"):
        check_disk(folder, 10**18)
    assert not (tmp_path / "a").exists()


def test_a_folder_may_be_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_disk(Path("runs/one"), 1)
