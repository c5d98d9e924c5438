"""How much memory there is for a model, and the refusal of weights that do not fit, before any are loaded.

It needs nothing but torch, so that the benchmark of a device runs on a machine that has little else.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput

if TYPE_CHECKING:
    import torch

# The latter in the older version of cgroups.
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def available_memory(device: str | torch.device) -> int:
    """Return how many bytes a model or new tensors may take on a device, named as in torch.

    Else than on CUDA, that is the memory that is free or can be freed, or the limit of the container, if that is lower.
    """
    import torch

    if torch.device(device).type == "cuda":
        held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + held
    import psutil  # type: ignore[import-untyped]  # comes with accelerate

    limits = [path.read_text("utf-8").strip() for path in _CGROUP_LIMITS if path.is_file()]
    return min([int(psutil.virtual_memory().available), *(int(limit) for limit in limits if limit.isdecimal())])


def weights_named(config: Any) -> int:
    """Return how many weights a causal language model of this configuration has; what transformers raises is passed on."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    return int(model.num_parameters())


def refuse_large_weights(model: str, parameters: int, dtype: torch.dtype, device: str) -> None:
    """Refuse a model whose weights alone take more memory than there is: `BadInput` with both numbers."""
    needed, available = parameters * dtype.itemsize, available_memory(device)
    if needed <= available:
        return
    advice = f"; in bfloat16 they take {2 * parameters / 1e9:,.2f} GB" if dtype.itemsize > 2 else ""
    raise BadInput(
        f"model {model}: its {parameters:,} weights take {needed / 1e9:,.2f} GB in {str(dtype).removeprefix('torch.')}, but "
        f"{available / 1e9:,.2f} GB of memory are available on {device}{advice}"
    )
