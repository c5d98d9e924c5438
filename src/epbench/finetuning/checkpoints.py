"""What an epoch leaves behind: a folder with the weights in bfloat16, and the state from which training goes on.

`checkpoints/epoch-1` is a model's folder as any other: transformers and vLLM load it. `state/checkpoint-19` is what the
trainer needs to go on after step 19; only the last one is kept, and one without `trainer_state.json`, which is written
last, is incomplete. Importing this module imports torch.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from epbench.files.json_files import read_json, write_json
from epbench.files.replacing import replacing
from epbench.finetuning.ranks import whole_models

STATE = "state"
_COMPLETE = "trainer_state.json"
_NUMBERED = re.compile(r"checkpoint-(\d+)")


def epoch_folder(out: Path, epoch: int) -> Path:
    """Return where the weights after an epoch lie; epochs are counted from 1."""
    return out / "checkpoints" / f"epoch-{epoch}"


def last_state(out: Path) -> tuple[int, Path] | None:
    """Return the last complete state, with the number of its last step; None if there is none."""
    found = _states(out)
    complete = [step for step, path in found.items() if (path / _COMPLETE).is_file()]
    return (max(complete), found[max(complete)]) if complete else None


def remove_others(out: Path) -> None:
    """Remove every state but the last complete one, such as those that a killed process has not written to the end."""
    last = last_state(out)
    for path in _states(out).values():
        if last is None or path != last[1]:
            shutil.rmtree(path)


def _states(out: Path) -> dict[int, Path]:
    paths = (out / STATE).glob("checkpoint-*")
    return {int(match[1]): path for path in paths if (match := _NUMBERED.fullmatch(path.name))}


def write_weights(folder: Path, model: Any, state: Mapping[str, torch.Tensor], tokenizer: Any) -> None:
    """Write the folder of a model, which appears whole or not at all.

    Args:
        folder: Where it goes; an older one is replaced.
        model: The model that was trained, which says how the weights are used; its own weights may be parts of them.
        state: The whole weights by name. They are written in bfloat16.
        tokenizer: The tokenizer that goes with them.
    """
    half: dict[tuple[int, int], torch.Tensor] = {}  # by address and size, so that tied weights stay one tensor

    def halved(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        return half.setdefault((tensor.data_ptr(), tensor.numel()), tensor.detach().to("cpu", torch.bfloat16))

    with replacing(folder) as draft:
        model.save_pretrained(draft, state_dict={name: halved(tensor) for name, tensor in state.items()})
        tokenizer.save_pretrained(draft)
        # transformers writes the type of the weights that are trained, not of those that are stored.
        write_json(draft / "config.json", read_json(draft / "config.json") | {"dtype": "bfloat16"})


def merged(base: str, model: Any, state: Mapping[str, torch.Tensor]) -> Any:
    """Return the base model with the weights of a LoRA adapter added to its own, on the CPU.

    Args:
        base: The folder or name of the model that was trained.
        model: The model with its adapter.
        state: The whole weights of it by name.
    """
    from peft import get_peft_model, get_peft_model_state_dict, set_peft_model_state_dict
    from transformers import AutoModelForCausalLM

    with whole_models():
        fresh = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, trust_remote_code=False)
    adapter = get_peft_model_state_dict(model, state_dict=dict(state))
    fresh = get_peft_model(fresh, model.peft_config["default"])
    set_peft_model_state_dict(fresh, adapter)
    return fresh.merge_and_unload()
