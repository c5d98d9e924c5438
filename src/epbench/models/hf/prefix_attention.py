"""Attention of many questions to one stored prefix, without a copy of the prefix for each question.

The tokens of every question attend to the keys of the prefix and to their own. Both scores go through one softmax, so the result
is that of ordinary attention, but the prefix is read once for a whole batch and is in memory once (the idea of Hydragen, arXiv
2402.05099). A long text is read in pieces in the same way. Keys are never copied for the queries that share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.cache_utils import Cache, DynamicLayer
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

NAME = "sdpa_shared_prefix"
_MAX_SCORES = 2**27  # 512 MiB in float32; attention is computed in parts that have about as many scores at most
_OTHER_ATTENTION = ("softcap", "s_aux", "sliding_window", "position_bias")
_Pair = tuple[torch.Tensor, torch.Tensor]


class StoredPrefix:
    """Keys and values of a prefix by layer, in an object, because accelerate copies those in a list to every layer's device."""

    def __init__(self, layers: Sequence[Any]) -> None:
        self.layers = [(layer.keys, layer.values) for layer in layers]


class NotShareable(Exception):
    """The attention of this model has a term that joint attention does not support."""


class OwnTokens(DynamicLayer):  # type: ignore[no-untyped-call]
    """Keys and values of each row's own tokens, in memory that is allocated at once, because copying costs more."""

    def __init__(self, room: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.room, self.length = room, 0
        self.stored: _Pair | None = None

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> _Pair:
        """Add tokens and return views of all keys and values."""
        if self.stored is None:
            self.stored = (self._empty(key_states, len(key_states)), self._empty(value_states, len(value_states)))
        start, self.length = self.length, self.length + key_states.shape[-2]
        for stored, states in zip(self.stored, (key_states, value_states), strict=True):
            stored[:, :, start : self.length] = states
        return self.stored[0][:, :, : self.length], self.stored[1][:, :, : self.length]

    def get_seq_length(self) -> int:
        """Return the number of tokens."""
        return self.length

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        """Keep these rows, in this order; a row may be named several times."""
        if self.stored is not None:
            self.stored = self._chosen(self.stored[0], beam_idx), self._chosen(self.stored[1], beam_idx)

    def _chosen(self, stored: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        known = stored[:, :, : self.length]
        chosen = self._empty(known, len(rows))
        chosen[:, :, : self.length] = known[rows.to(known.device)]
        return chosen

    def _empty(self, states: torch.Tensor, rows: int) -> torch.Tensor:
        return states.new_empty(rows, states.shape[1], self.room, states.shape[3])


def own_tokens(n_layers: int, room: int) -> Cache:
    """Return an empty cache for `room` tokens of each row."""
    return Cache(layers=[OwnTokens(room) for _ in range(n_layers)])


def joint_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    shared_prefix: StoredPrefix | None = None,
    n_before: int | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """Attend to `shared_prefix` and to the own tokens; without a shared prefix this is ordinary attention.

    With `n_before`, the query is a piece of a text, and so many of the keys are those of the tokens before it. `NotShareable`
    if the model's attention does more than a softmax of scaled products.
    """
    more = [name for name in _OTHER_ATTENTION if kwargs.get(name) is not None]
    if shared_prefix is None and n_before is None:
        if attention_mask is not None and not more:
            return _masked(query, key, value, attention_mask, scaling), None
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **kwargs)  # type: ignore[no-any-return]
    if more or attention_mask is None:
        raise NotShareable(f"its attention uses {', '.join(more) or 'no mask'}")
    rows, heads, length, size = query.shape
    grouped, scale = query.view(rows, key.shape[1], -1, length, size), size**-0.5 if scaling is None else scaling
    answer = query.new_empty(rows, length, heads, value.shape[-1])
    if shared_prefix is not None:
        prefix = shared_prefix.layers[module.layer_idx]
    else:
        prefix = key[:, :, :n_before], value[:, :, :n_before]
        key, value = key[:, :, n_before:], value[:, :, n_before:]
        if _fused(query):
            return _piece(grouped, prefix, (key, value), scale).permute(0, 3, 1, 2, 4).flatten(2, 3), None
        if not n_before:
            return sdpa_attention_forward(module, query, key, value, None, scaling=scaling, **kwargs)  # type: ignore[no-any-return]
    n_keys = key.shape[2] + (0 if _fused(query) else prefix[0].shape[2])
    tokens = min(length, max(1, _MAX_SCORES // (heads * n_keys)))  # of a row whose scores alone would be too many
    step = max(1, _MAX_SCORES // (heads * tokens * n_keys))
    for start, first in product(range(0, rows, step), range(0, length, tokens)):
        row_slice, token_slice = slice(start, start + step), slice(first, first + tokens)
        suffix, mask = (key[row_slice], value[row_slice]), attention_mask[row_slice, :, token_slice]
        attended = _joint(grouped[row_slice, :, :, token_slice], prefix, suffix, mask, scale)
        answer[row_slice, token_slice] = attended.permute(0, 3, 1, 2, 4).flatten(2, 3)
    return answer, None


def _masked(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor, scaling: float | None
) -> torch.Tensor:
    """Attend under a mask, (rows, 1, length, keys), without a copy of the keys for each query that shares them."""
    rows, heads, length, size = query.shape
    group = heads // key.shape[1]
    folded, masks = query.reshape(rows, key.shape[1], group * length, size), mask.repeat(1, 1, group, 1)
    attended = scaled_dot_product_attention(folded, key, value, attn_mask=masks, scale=scaling)
    return attended.reshape(rows, heads, length, -1).transpose(1, 2).contiguous()


def _joint(query: torch.Tensor, prefix: _Pair, suffix: _Pair, mask: torch.Tensor, scale: float) -> torch.Tensor:
    """Attend to both; query and result have the shape (rows, key heads, queries per key head, length, size)."""
    # In float32: in models with large key biases, such as Qwen2.5, scores are large and differ by little.
    rows, heads, group, length, size = query.shape
    # For the prefix, all rows are one sequence of queries, so that one product per head reads its keys once.
    folded = query.transpose(0, 1).reshape(1, heads, rows * group * length, size)
    attended, sums = _attend(folded, *prefix, scale)
    far = attended.view(heads, rows, group, length, -1).transpose(0, 1)
    far_weight = sums.view(heads, rows, group, length).transpose(0, 1)
    near = (query.flatten(2, 3).float() @ suffix[0].float().transpose(2, 3)).mul_(scale)
    near = near.view(rows, heads, group, length, -1)
    near.masked_fill_(~mask[:, :, None], float("-inf"))
    top = torch.maximum(far_weight, near.amax(-1))
    near.sub_(top[..., None]).exp_()
    share: torch.Tensor = (far_weight - top).exp()
    nearby = (near.flatten(2, 3) @ suffix[1].float()).view_as(far)
    total = far.float() * share[..., None] + nearby
    answer: torch.Tensor = (total / (share + near.sum(-1))[..., None]).to(query.dtype)
    return answer


def _piece(query: torch.Tensor, before: _Pair, piece: _Pair, scale: float) -> torch.Tensor:
    """Attend to all tokens before a piece of a text and to those of the piece itself; shapes as for `_joint`."""
    pieces = [_flash(query[:, :, i], *piece, scale, causal=True) for i in range(query.shape[2])]
    near, near_weight = (torch.stack(parts, 2) for parts in zip(*pieces, strict=True))
    if not before[0].shape[2]:
        return near
    far, far_weight = _flash(query.flatten(2, 3), *before, scale)
    share = (far_weight.view_as(near_weight) - near_weight).sigmoid()[..., None]
    return torch.lerp(near.float(), far.view_as(near).float(), share).to(query.dtype)


def _fused(query: torch.Tensor) -> bool:
    """Whether torch has an attention for these queries that returns the sums of its softmax and keeps no scores."""
    if query.device.type == "cuda":
        params = torch.backends.cuda.SDPAParams(query, query, query, None, 0.0, False, False)
        return query.shape[-1] % 8 == 0 and torch.backends.cuda.can_use_flash_attention(params)
    return query.device.type == "cpu" and hasattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu")


def _flash(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float, *, causal: bool = False
) -> _Pair:
    """Return what `_attend` does, by the kernel of the device; `causal` lets a token see those up to itself."""
    aten = torch.ops.aten
    on_cpu = query.device.type == "cpu"
    kernel = aten._scaled_dot_product_flash_attention_for_cpu if on_cpu else aten._scaled_dot_product_flash_attention
    attended, weight = kernel(query, keys, values, is_causal=causal, scale=scale)[:2]
    return attended, weight.float()


def _attend(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float) -> _Pair:
    """Return the attention of queries to all keys, and for each query log(sum(exp(scores))) in float32."""
    if _fused(query):
        return _flash(query, keys, values, scale)
    scores = (query.float() @ keys.float().transpose(2, 3)).mul_(scale)
    top = scores.amax(-1, keepdim=True)
    total = scores.sub_(top).exp_().sum(-1, keepdim=True)
    return (scores @ values.float()) / total, (top + total.log())[..., 0]


AttentionInterface.register(NAME, joint_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)
