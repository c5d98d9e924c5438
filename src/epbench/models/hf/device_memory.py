"""How much memory is free where a model runs, and how many tokens fit in it. Importing this module imports torch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from epbench.models.hf.prefix_rows import Forward

_LONGEST_CHUNK = 8192  # longer chunks are no faster, because arithmetic is the limit
_UNKNOWN = 4 * 2**30


def free_bytes(device: torch.device) -> int:
    """Return how many bytes new tensors may take; 4 GiB if the system does not say."""
    if device.type == "cuda":
        held = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return torch.cuda.mem_get_info(device)[0] + held
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return _UNKNOWN


def release() -> None:
    """Release memory that is no longer used, after memory has run out."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def fitting_chunk(forward: Forward, tokens: int) -> int:
    """Return how many tokens to read at one time so that activations fit in an eighth of free memory, 256 to 8192.

    Args:
        forward: the forward call of the model.
        tokens: length of the whole text in tokens, and so of each token's row in the attention mask.
    """
    config, model = forward.config.get_text_config(), forward.model
    # Each token needs some hidden states, the gates of the feed-forward layer, and its row in the mask.
    states: int = 8 * config.hidden_size + 3 * (getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
    a_token = states * torch.empty((), dtype=model.dtype).element_size() + 4 * tokens
    return max(256, min(_LONGEST_CHUNK, free_bytes(model.device) // (8 * a_token)))
