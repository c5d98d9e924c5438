"""Whether a device has the memory and a disk the space that training takes, said before anything is loaded."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from epbench.errors import BadInput
from epbench.finetuning.memory import MemoryEstimate

_CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),  # the older version of cgroups
)
_PARTS = {
    "weights": "weights",
    "gradients": "gradients",
    "optimizer": "optimizer",
    "copies": "copies of weights",
    "activations": "activations",
    "logits": "logits",
}


def available_memory(device: str) -> int:
    """Return how many bytes training may take on a device.

    On CUDA it is what no process has taken, with what this one has reserved and does not use; else it is the memory of the
    machine that is free or can be freed, or what the limit of its container is, if that is lower. Processes that train
    together on one machine without CUDA share it.

    Args:
        device: The name of a device for torch, such as `cuda:1` or `cpu`.
    """
    import torch

    from epbench.models.hf.device_memory import free_bytes

    if torch.device(device).type == "cuda":
        return free_bytes(torch.device(device))
    import psutil  # type: ignore[import-untyped]  # comes with accelerate

    limits = [path.read_text("utf-8").strip() for path in _CGROUP_LIMITS if path.is_file()]
    return min([int(psutil.virtual_memory().available), *(int(limit) for limit in limits if limit.isdecimal())])


def fewest_devices(available: int, estimate: Callable[[int], MemoryEstimate], most: int = 64) -> int | None:
    """Return the smallest number of devices over which training can be sharded so that it fits, or None.

    Args:
        available: Bytes on each device.
        estimate: What it takes on each of so many devices.
        most: The largest number of devices to consider.
    """
    return next((n for n in range(1, most + 1) if estimate(n).total <= available), None)


def check_memory(estimate: MemoryEstimate, available: int, alternatives: Mapping[str, MemoryEstimate]) -> None:
    """Refuse training that does not fit in memory, and say what would.

    Args:
        estimate: What training takes on each device.
        available: Bytes on each device, or on the one that has least.
        alternatives: What it would take in other ways, by the words that the user knows for each way.

    Raises:
        BadInput: the estimate is higher than what is available; the message gives all parts of the sum, and the alternatives
            that fit, or that none of them does.
    """
    if estimate.total <= available:
        return
    fit = [f"{words} ({_gb(other.total)})" for words, other in alternatives.items() if other.total <= available]
    tried = [f"{words} ({_gb(other.total)})" for words, other in alternatives.items() if other.total > available]
    if fit:
        advice = f"; it would fit with {', or with '.join(fit)}"
    elif tried:
        advice = f"; it would not fit either with {', or with '.join(tried)}"
    else:
        advice = ""
    raise BadInput(
        f"memory: training takes about {_gb(estimate.total)} on each device ({_sum_of(estimate)}), "
        f"but {_gb(available)} are available{advice}"
    )


def disk_needed(n_parameters: int, epochs: int, *, n_trained: int | None = None) -> int:
    """Return how many bytes the checkpoints of a run take on disk.

    After each epoch, the model is kept in bfloat16. Of the state from which training goes on, float32 weights and the two
    states of AdamW, only the last one is kept; while it is replaced there are two.

    Args:
        n_parameters: The number of parameters of the model.
        epochs: The number of epochs after which the model is kept.
        n_trained: The number of parameters that are trained, by default all of them; of others no state is written.
    """
    return 2 * n_parameters * epochs + 2 * 12 * (n_parameters if n_trained is None else n_trained)


def check_disk(folder: Path, needed: int) -> None:
    """Refuse a folder whose disk has too little space.

    Args:
        folder: The folder that is to be written; it need not exist.
        needed: Bytes that will be written.

    Raises:
        BadInput: fewer are free.
    """
    folder = folder.absolute()
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise BadInput(f"{folder}: the checkpoints take {_gb(needed)}, but {_gb(free)} are free on this disk")


def _sum_of(estimate: MemoryEstimate) -> str:
    """The parts of the total, as a sum."""
    parts = {name: getattr(estimate, part) for part, name in _PARTS.items()}
    if estimate.measuring > sum(parts.values()) - estimate.weights - estimate.optimizer:
        parts = {"weights": estimate.weights, "optimizer": estimate.optimizer, "model copied": estimate.measuring}
    return " + ".join(f"{name} {_gb(part)}" for name, part in parts.items() if part)


def _gb(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB"
