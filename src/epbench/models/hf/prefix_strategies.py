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
# Of a standard deviation, and nats. Rounding alone takes up to half of it in small models with large key biases.
_LIMITS = {torch.bfloat16: (0.08, 0.02), torch.float16: (0.04, 0.005), torch.float32: (0.002, 0.0001)}


def reads_at_once(config: Any) -> bool:
    """Whether a text must be read in one piece, because its rotary frequencies depend on the length that is read."""
    rope = getattr(config.get_text_config(), "rope_parameters", None) or {}
    return rope.get("rope_type") in ("dynamic", "longrope")


def choose_strategy(forward: Forward, prompts: Sequence[Sequence[int]]) -> tuple[PrefixStrategy, bool, int]:
    """Find the best strategy by trying: logits after a shared prefix must be those of reading the text at once.

    Tried on a few tokens from the beginning of the first prompt, the middle of a later one, and the end of the last.

    Returns:
        The best strategy that passes, whether rows of different lengths can then be read together, and the bytes that one
        token takes in the cache.

    Raises:
        BadInput: the cache of this model cannot be used at all.
    """
    stretches = [_stretch(prompts[i * (len(prompts) - 1) // 2], i / 2) for i in range(3)]
    stretches = [list(stretch) for stretch in dict.fromkeys(map(tuple, stretches))]
    head = 2 * _TOKENS // 3
    lengths = (_TOKENS, head + 8)
    whole = [[forward.read_logits(stretch[:n]) for n in lengths] for stretch in stretches]
    cache = forward.read(stretches[0][:head], chunk=head // 2)
    padded, size = can_be_padded(cache), bytes_per_token(cache)
    limits = _LIMITS.get(forward.model.dtype, _LIMITS[torch.float32])

    def difference(n_prefix: int, joint: bool) -> str | None:
        batches = [[0, 1]] if padded and n_prefix else [[0, 0], [1, 1]]
        try:
            for stretch, expected in zip(stretches, whole, strict=True):
                cache = forward.read(stretch[:head], chunk=head // 2)
                for batch in batches:
                    rows = Rows(forward, cache, n_prefix, len(batch), _TOKENS - n_prefix, joint=joint)
                    rows.read([stretch[n_prefix : lengths[i] - 1] for i in batch], chunk=_TOKENS * 2)
                    last = forward.tensor([stretch[lengths[i] - 1] for i in batch])
                    for i, logits in zip(batch, rows.add(last), strict=True):
                        _compare(logits, expected[i], limits)
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


def _stretch(ids: Sequence[int], place: float) -> list[int]:
    """Return `_TOKENS` tokens of a prompt: at place 0 its first, at 1 its last. A shorter prompt is repeated."""
    start = int(max(0, len(ids) - _TOKENS) * place)
    return (list(ids[start : start + _TOKENS]) * _TOKENS)[:_TOKENS]


def _compare(found: torch.Tensor, expected: torch.Tensor, limits: tuple[float, float]) -> None:
    """Raise ValueError if logits, or what follows from them, differ by more than rounding.

    What all logits differ by has no effect on probabilities. The rest may have a standard deviation of so much of theirs, the
    distributions such a divergence, in nats. The most probable token may be another one where the two are nearly as probable.
    """
    most, most_divergence = limits
    off = float((found - expected).std() / expected.std())
    true, ours = expected.log_softmax(-1), found.log_softmax(-1)
    divergence = float((true.exp() * (true - ours)).nan_to_num(0.0).sum())
    behind = float((expected.max() - expected[found.argmax()]) / expected.std())
    if not (off < most and divergence < most_divergence and behind < 3 * most):
        raise ValueError(
            f"logits differ by {off:.2g} of their standard deviation, distributions by {divergence:.2g} nats, and the most "
            f"probable token is {behind:.2g} standard deviations behind"
        )
