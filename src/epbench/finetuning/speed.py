"""How fast a step was, and how well it has used the hardware."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from epbench.finetuning.ranks import Ranks


def with_speed(record: Mapping[str, Any], base: str, ranks: Ranks, *, lora: bool = False) -> dict[str, Any]:
    """Return the record of a step as it is journaled.

    Args:
        record: With the numbers of tokens and seconds, and the lengths of the samples in tokens.
        base: The folder or name of the model.
        ranks: The processes, each with a device of the same kind.
        lora: Whether only adapters are trained; what that computes is not counted.

    Returns:
        The record without the lengths, with tokens_per_second of all processes together; and with the model FLOPs
        utilization mfu, and mfu_causal with half of attention, on CUDA devices whose peak is known if all weights are trained.
    """
    import torch

    step = {name: value for name, value in record.items() if name != "lengths"}
    step["tokens_per_second"] = round(record["tokens"] / record["seconds"], 1)
    if torch.cuda.is_available() and not lora:
        from epbench.finetuning.cost import utilization

        device = torch.cuda.get_device_name()
        if found := utilization(_config(base), record["lengths"], record["seconds"], device, ranks.n):
            step |= {"mfu": found.mfu, "mfu_causal": found.causal}
    return step


@cache
def _config(base: str) -> Any:
    from transformers import AutoConfig

    return AutoConfig.from_pretrained(base, trust_remote_code=False).get_text_config()
