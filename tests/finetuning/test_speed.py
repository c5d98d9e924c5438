"""What the journal says of the speed of a step."""

import pytest
import torch

from epbench.finetuning.cost import utilization
from epbench.finetuning.ranks import Ranks
from epbench.finetuning.run import with_speed
from tests.finetuning.small_configs import LLAMA

STEP = {"step": 3, "loss": 2.5, "tokens": 300, "seconds": 0.5, "lengths": [100, 200]}
PLAIN = {"step": 3, "loss": 2.5, "tokens": 300, "seconds": 0.5, "tokens_per_second": 600.0}


def test_a_step_has_its_tokens_per_second_and_no_lengths(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert with_speed(STEP, "no folder", Ranks()) == PLAIN


def test_a_known_gpu_has_its_utilization(monkeypatch, tmp_path):
    LLAMA.save_pretrained(tmp_path)
    name = "NVIDIA H100 80GB HBM3"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: name)
    expected = utilization(LLAMA, [100, 200], 0.5, name, 2)
    found = with_speed(STEP, str(tmp_path), Ranks(0, 2))
    assert found == {**PLAIN, "mfu": pytest.approx(expected.mfu), "mfu_causal": pytest.approx(expected.causal)}
    assert with_speed(STEP, str(tmp_path), Ranks(0, 2), lora=True) == PLAIN  # it computes fewer gradients
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a new one")
    assert with_speed(STEP, str(tmp_path), Ranks(0, 2)) == PLAIN
