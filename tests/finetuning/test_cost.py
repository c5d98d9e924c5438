"""Parameters and operations, against models that are really made and against torch's own counter."""

from copy import deepcopy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from peft import LoraConfig, get_peft_model
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForCausalLM, T5Config

from epbench.finetuning.cost import parameters_of, peak_flops, training_flops, utilization
from epbench.finetuning.launching import Ranks
from epbench.finetuning.run import with_speed
from tests.finetuning.small_configs import CONFIGS, LLAMA, LLAMA_3_8B
from tests.refusals import refusal


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")  # peft asks by the old name
@pytest.mark.parametrize("name", CONFIGS)
def test_parameters_are_those_of_the_model_and_of_peft(name):
    config, found = CONFIGS[name], parameters_of(CONFIGS[name])
    model = AutoModelForCausalLM.from_config(config)
    assert found.total == model.num_parameters()
    assert found.head == config.vocab_size * config.hidden_size
    stack = model.transformer.h if name == "gpt2" else model.model.layers
    assert found.layer == sum(weight.numel() for weight in stack[0].parameters())
    fan = {"fan_in_fan_out": True} if name == "gpt2" else {}
    adapted = get_peft_model(model, LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM", **fan))
    assert found.lora(4) == adapted.get_nb_trainable_parameters()[0]


@pytest.mark.slow
def test_other_models_are_refused_in_one_line():
    assert refusal(parameters_of, T5Config()).startswith("model of type t5: expected a causal language model")


def test_the_published_model_of_the_paper():
    assert parameters_of(LLAMA_3_8B).total == 8_030_261_248


@pytest.mark.parametrize("name", CONFIGS)
def test_operations_are_those_that_torch_counts(name):
    config = deepcopy(CONFIGS[name])  # the model sets its attention there
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").train()
    ids = torch.arange(24)[None]
    with FlopCounterMode(display=False) as forward:
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    assert forward.get_total_flops() == training_flops(CONFIGS[name], [24]) / 3
    assert backward.get_total_flops() == training_flops(CONFIGS[name], [24]) * 2 / 3


def test_samples_packed_into_a_row_attend_to_themselves_and_half_of_attention_is_causal():
    weights = 6 * parameters_of(LLAMA).multiplied
    assert training_flops(LLAMA, [10, 6]) == weights * 16 + 12 * 3 * 64 * (100 + 36)
    assert training_flops(LLAMA, [10, 6], causal=True) == weights * 16 + 6 * 3 * 64 * (100 + 36)


@settings(max_examples=50)
@given(st.lists(st.integers(1, 9000), min_size=1, max_size=20), st.booleans())
def test_packing_samples_into_a_row_changes_no_operations(lengths, causal):
    apart = sum(training_flops(LLAMA, [n], causal=causal) for n in lengths)
    assert training_flops(LLAMA, lengths, causal=causal) == pytest.approx(apart)
    assert training_flops(LLAMA, lengths, causal=causal) <= training_flops(LLAMA, [sum(lengths)], causal=causal) * 1.001


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA A100 80GB PCIe", 312e12),
        ("NVIDIA H200", 989e12),
        ("NVIDIA H20", 148e12),
        ("AMD Instinct MI300X", 1307.4e12),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),  # a slice
        ("NVIDIA GeForce RTX 4090 D", None),  # has fewer cores
        ("Tesla V100-SXM2-32GB", None),  # knows no bfloat16
        ("", None),
    ],
)
def test_peaks_by_the_names_of_drivers(name, peak):
    assert peak_flops(name) == peak


def test_utilization_is_of_all_devices():
    lengths = [4096] * 8
    needed = training_flops(LLAMA_3_8B, lengths)
    found = utilization(LLAMA_3_8B, lengths, needed / 989e12, "NVIDIA H100 80GB HBM3", n_devices=2)
    assert found.mfu == pytest.approx(0.5)
    assert found.causal == pytest.approx(0.5 * training_flops(LLAMA_3_8B, lengths, causal=True) / needed)
    assert found.causal < found.mfu
    assert utilization(LLAMA_3_8B, lengths, 1.0, "Intel Xeon") is None


STEP = {"step": 3, "loss": 2.5, "tokens": 300, "seconds": 0.5, "lengths": [100, 200]}
PLAIN = {"step": 3, "loss": 2.5, "tokens": 300, "seconds": 0.5, "tokens_per_second": 600.0}


def test_a_step_has_its_speed_and_on_a_known_gpu_its_utilization(monkeypatch, tmp_path):
    LLAMA.save_pretrained(tmp_path)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert with_speed(STEP, "no folder", Ranks()) == PLAIN
    name = "NVIDIA H100 80GB HBM3"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: name)
    expected = utilization(LLAMA, [100, 200], 0.5, name, 2)
    found = with_speed(STEP, str(tmp_path), Ranks(0, 2))
    assert found == {**PLAIN, "mfu": pytest.approx(expected.mfu), "mfu_causal": pytest.approx(expected.causal)}
    assert with_speed(STEP, str(tmp_path), Ranks(0, 2), lora=True) == PLAIN  # it computes fewer gradients
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a new one")
    assert with_speed(STEP, str(tmp_path), Ranks(0, 2)) == PLAIN
