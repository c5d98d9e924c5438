"""A revision of the Hub and a LoRA adapter, as vLLM's engine takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json
from epbench.files.shapes import Shape
from epbench.models.variant import Variant

_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # those that vLLM has memory layouts for
_CONFIG = Shape({"peft_type": (str,), "r": (int,)})


def variant_arguments(variant: Variant) -> dict[str, Any]:
    """Return arguments for vLLM's `LLM`; none for a model that is named without revision and adapter.

    Raises:
        BadInput: The adapter is not LoRA, or of a higher rank than vLLM takes.
    """
    more: dict[str, Any] = {}
    if variant.commit:
        more |= {"revision": variant.commit, "tokenizer_revision": variant.commit}
    if variant.adapter_folder is not None:
        more |= {"enable_lora": True, "max_loras": 1, "max_lora_rank": _rank(variant.adapter_folder)}
    return more


def lora_request(variant: Variant) -> Any:
    """Return vLLM's `LoRARequest`; None without an adapter."""
    if variant.adapter_folder is None:
        return None
    from vllm.lora.request import LoRARequest  # type: ignore[import-not-found]

    return LoRARequest("adapter", 1, str(variant.adapter_folder.resolve()))


def _rank(folder: Path) -> int:
    config = read_json(folder / "adapter_config.json", _CONFIG)
    if config["peft_type"] != "LORA":
        raise BadInput(f"adapter {folder}: vLLM takes LoRA adapters only, found {config['peft_type']}")
    for rank in _RANKS:
        if config["r"] <= rank:
            return rank
    raise BadInput(f"adapter {folder}: vLLM takes ranks up to {_RANKS[-1]}, found {config['r']}")
