"""Processes that work together."""

import os

import pytest
from transformers.integrations import deepspeed

from epbench.finetuning.launching import Ranks, whole_models


def test_the_shares_of_all_processes_make_up_the_whole():
    items = list(range(11))
    shares = [Ranks(index, 3).share(items) for index in range(3)]
    assert sorted(item for share in shares for item in share) == items
    assert Ranks().share(items) == items and Ranks().gather("x") == ["x"] and Ranks().main


class Stage3:
    """Stands for the configuration that DeepSpeed's stage 3 leaves in transformers."""

    def is_zero3(self):
        return True


@pytest.mark.parametrize("once", ["true", None])
def test_a_model_beside_a_sharded_one_is_loaded_whole(monkeypatch, once):
    """How the trained model is loaded has no effect on one that is measured, and is the same afterwards."""
    name, config = "FSDP_CPU_RAM_EFFICIENT_LOADING", Stage3()
    monkeypatch.setenv(name, once) if once else monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(deepspeed, "_hf_deepspeed_config_weak_ref", None)
    deepspeed.set_hf_deepspeed_config(config)
    with pytest.raises(KeyError, match="stop"), whole_models():
        assert os.environ[name] == "false" and not deepspeed.is_deepspeed_zero3_enabled()
        raise KeyError("stop")
    assert os.environ.get(name) == once and deepspeed.is_deepspeed_zero3_enabled()
