"""How a model can share a prefix, found out by trying. Importing this module imports torch and transformers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

import torch

from epbench.errors import BadInput
from epbench.models.hf import prefix_attention
from epbench.models.hf.prefix_rows import Forward, Rows, bytes_per_token, can_be_padded

log = logging.getLogger(__name__)

PrefixStrategy = Literal["joint", "repeated", "none"]
"""joint: all questions attend to one prefix; repeated: each row has a copy of it; none: no prefix can be shared."""

_TOKENS = 96


def reads_at_once(config: Any) -> bool:
    """Whether a text must be read in one piece, because its rotary frequencies depend on the length that is read."""
    rope = getattr(config.get_text_config(), "rope_parameters", None) or {}
    return rope.get("rope_type") in ("dynamic", "longrope")


def choose_strategy(forward: Forward, ids: Sequence[int]) -> tuple[PrefixStrategy, bool, int]:
    """Find the best strategy on a few tokens: logits after a shared prefix must be those of reading the text at once.

    Returns:
        The best strategy that passes, whether rows of different lengths can then be read together, and the bytes that one
        token takes in the cache.

    Raises:
        BadInput: the cache of this model cannot be used at all.
    """
    sample = (list(ids) * _TOKENS)[:_TOKENS]
    head = 2 * _TOKENS // 3
    texts = [sample, sample[: head + 8]]
    whole = [forward.read_logits(text) for text in texts]
    cache = forward.read(sample[:head], chunk=head // 2)
    padded, size = can_be_padded(cache), bytes_per_token(cache)
    most = 0.002 if forward.model.dtype == torch.float32 else 0.08

    def difference(n_prefix: int, joint: bool) -> str | None:
        batches = [[0, 1]] if padded and n_prefix else [[0, 0], [1, 1]]
        try:
            cache = forward.read(sample[:head], chunk=head // 2)
            for batch in batches:
                suffixes = [texts[i][n_prefix:-1] for i in batch]
                rows = Rows(forward, cache, n_prefix, len(batch), _TOKENS - n_prefix, joint=joint)
                rows.read(suffixes, chunk=_TOKENS * 2)
                last = forward.tensor([texts[i][-1] for i in batch])
                for i, logits in zip(batch, rows.add(last), strict=True):
                    _compare(logits, whole[i], most)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # whatever a foreign model raises, this strategy is not for it
            return f"{type(error).__name__}: {error}"
        return None

    previous = forward.config._attn_implementation
    if padded and previous in ("sdpa", prefix_attention.NAME):
        forward.model.set_attn_implementation(prefix_attention.NAME)
        if (why := difference(head, joint=True)) is None:
            return "joint", True, size
        forward.model.set_attn_implementation("sdpa")
        log.info("the prefix is repeated for every question of a batch: %s", why)
    if (why := difference(head, joint=False)) is None:
        return "repeated", padded, size
    log.warning("every prompt is read from its beginning, because this model cannot continue from a prefix: %s", why)
    if (why := difference(0, joint=False)) is None:
        return "none", False, size
    raise BadInput(
        f"{type(forward.model).__name__} cannot be used: with its cache the logits differ from those of reading a text at "
        f"once ({why})"
    )


def _compare(found: torch.Tensor, expected: torch.Tensor, most: float) -> None:
    """Raise ValueError if logits differ by more than rounding.

    What all of them differ by has no effect on probabilities. The rest has a standard deviation of up to 0.04 of theirs for
    a small model in bfloat16, and of more than 0.1 if the first half of the text is left out.
    """
    difference = found - expected
    off = float(difference.std() / expected.std())
    if not off < most:
        raise ValueError(f"logits differ by {off:.2g} of their standard deviation")
