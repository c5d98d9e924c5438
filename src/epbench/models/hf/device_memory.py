"""How much memory is free where a model runs, and how many tokens it takes to read. Importing this imports torch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from epbench.models.hf.prefix_rows import Forward

_LONGEST_CHUNK = 8192  # longer ones gain no speed: the products are large enough to be bound by arithmetic
_UNKNOWN = 4 * 2**30


def free_bytes(device: torch.device) -> int:
    """Memory that new tensors may take; 4 GiB where the system does not tell."""
    if device.type == "cuda":
        held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + held
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return _UNKNOWN


def release() -> None:
    """Give back what is no longer used, after memory ran out."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def fitting_chunk(forward: Forward, tokens: int) -> int:
    """Most tokens to read at a time so that their activations fit in an eighth of free memory, 256 to 8192.

    Args:
        forward: of the model.
        tokens: of the whole text, which each token's row of the attention mask covers.
    """
    config, model = forward.config.get_text_config(), forward.model
    # Of each token: some hidden states and the gates of the feed-forward layer; and its row of the mask.
    states: int = 8 * config.hidden_size + 3 * (getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
    a_token = states * torch.empty((), dtype=model.dtype).element_size() + 4 * tokens
    return max(256, min(_LONGEST_CHUNK, free_bytes(model.device) // (8 * a_token)))
