"""A batch of rows of tokens that continue one stored prefix. Importing this module imports torch and transformers."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
import transformers
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from epbench.errors import BadInput
from epbench.models.hf.prefix_attention import NAME, StoredPrefix, own_tokens

_CACHE_NAMES = (
    "cache",
    "past_key_values",
    "cache_params",
)  # since transformers 5.24, and before it; the last is Mamba's


class Forward:
    """The forward call of a model, with the arguments that this model takes."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.config = model.config
        self._known = inspect.signature(model.forward).parameters

    def __call__(self, ids: torch.Tensor, cache: Cache, positions: torch.Tensor, **more: Any) -> torch.Tensor:
        """Return the float32 logits after the last token of each row, (rows, vocabulary); the cache grows by the tokens.

        Raises:
            BadInput: The model takes no cache.
        """
        if (
            "logits_to_keep" in self._known
        ):  # else logits would be computed for every token, and only the last are needed
            more["logits_to_keep"] = 1
        if "position_ids" in self._known:
            more["position_ids"] = positions
        with torch.inference_mode():
            out = self.model(input_ids=ids, use_cache=True, **{self._cache_name: cache}, **more)
            logits: torch.Tensor = out.logits[:, -1].float()
        return logits

    @cached_property
    def _cache_name(self) -> str:
        """The name under which the model takes a cache; one under any other name would be left empty without a word."""
        names = [name for name in _CACHE_NAMES if name in self._known]
        if not names:
            raise BadInput(
                f"{type(self.model).__name__} of transformers {transformers.__version__}: expected a model whose forward call "
                f"takes {', '.join(_CACHE_NAMES[:-1])} or {_CACHE_NAMES[-1]}, found {', '.join(self._known)}"
            )
        return names[0]

    def tensor(self, values: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        """Put values on the device of the model's first layers."""
        return torch.tensor(values, dtype=dtype, device=self.model.device)

    def empty_cache(self) -> DynamicCache:
        """Return a cache that knows which layers of the model have a sliding window."""
        return DynamicCache(config=self.config)

    def read_logits(self, ids: Sequence[int]) -> torch.Tensor:
        """Return the logits after a text that is read at once."""
        return self(self.tensor([list(ids)]), self.empty_cache(), self.tensor([list(range(len(ids)))]))[0]

    def read(self, ids: Sequence[int], chunk: int) -> DynamicCache:
        """Return the cache of a text, read in pieces of at most `chunk` tokens to limit the memory for activations."""
        cache = self.empty_cache()
        joint = self.config._attn_implementation == NAME
        growing: Any = own_tokens(len(cache.layers), len(ids)) if joint else cache
        for start in range(0, len(ids), chunk):
            piece = self.tensor([list(ids[start : start + chunk])])
            n = piece.shape[1]
            more: dict[str, Any] = {}
            if joint:
                earlier = torch.ones(1, 1, n, n, dtype=torch.bool, device=piece.device).tril()
                more = {"attention_mask": earlier, "n_before": start}
            self(piece, growing, torch.arange(start, start + n, device=piece.device)[None], **more)
        if joint and ids:
            layers: list[Any] = cache.layers
            for layer, own in zip(layers, growing.layers, strict=True):
                layer.lazy_initialization(*own.stored)
                layer.keys, layer.values = own.stored
        return cache


def can_be_padded(cache: Cache) -> bool:
    """Whether one batch may have rows of different lengths; sliding windows and running states would count the padding."""
    return all(type(layer) is DynamicLayer for layer in cache.layers)


def bytes_per_token(cache: Cache) -> int:
    """Return the bytes of keys and values that one token of one row takes."""
    states = [getattr(layer, name, None) for layer in cache.layers for name in ("keys", "values")]
    return sum(t.element_size() * t.shape[1] * t.shape[3] for t in states if t is not None and t.dim() == 4)


def _repeated(cache: Cache, n: int, room: int) -> Cache:
    """Return the cache for n rows that will have `room` tokens more; the original does not change."""
    if cache.is_initialized and can_be_padded(cache):
        layers: list[Any] = cache.layers
        own = own_tokens(len(layers), room + cache.get_seq_length())
        for i, layer in enumerate(layers):
            own.update(layer.keys.expand(n, -1, -1, -1), layer.values.expand(n, -1, -1, -1), i)
        return own
    plain = (DynamicLayer, DynamicSlidingWindowLayer)  # these layers replace their tensors, others change them in place
    repeated = copy.copy(cache)
    repeated.layers = [copy.copy(x) if type(x) in plain else copy.deepcopy(x) for x in cache.layers]
    if n > 1:  # the only way to repeat that layers with a running state have too
        repeated.reorder_cache(torch.LongTensor([0] * n))
    return repeated


class Rows:
    """Rows of tokens that follow a prefix. They grow together, padded on the left wherever one has fewer tokens to read.

    Args:
        forward: the forward call of the model.
        prefix: cache of the prefix; it does not change.
        n_prefix: number of tokens in the prefix.
        n: number of rows, at least one.
        room: the largest number of tokens, with padding, that a row will have beside the prefix.
        joint: whether all rows attend to one prefix; else it is repeated for every row.
    """

    def __init__(self, forward: Forward, prefix: Cache, n_prefix: int, n: int, room: int, *, joint: bool) -> None:
        self.forward, self.n_prefix, self.joint = forward, n_prefix, joint
        self.valid = torch.zeros(n, 0, dtype=torch.bool, device=forward.model.device)
        self.padded = False
        if joint:
            layers: list[Any] = prefix.layers
            self.shared = StoredPrefix(layers)
            self.cache: Cache = own_tokens(len(prefix.layers), room)
        else:
            self.cache = _repeated(prefix, n, room) if n_prefix else forward.empty_cache()

    def read(self, texts: Sequence[Sequence[int]], chunk: int) -> torch.Tensor:
        """Read at least one token in each row, at most `chunk` tokens at one time, and return the logits after them."""
        width = max(map(len, texts))
        ids = self.forward.tensor([[0] * (width - len(text)) + list(text) for text in texts])
        valid = self.forward.tensor([[False] * (width - len(text)) + [True] * len(text) for text in texts])
        self.padded |= min(map(len, texts)) < width
        step = max(1, chunk // len(texts))
        for start in range(0, width, step):
            logits = self._step(ids[:, start : start + step], valid[:, start : start + step])
        return logits

    def add(self, tokens: torch.Tensor) -> torch.Tensor:
        """Add one token to each row and return the logits after it."""
        return self._step(tokens[:, None], torch.ones_like(tokens[:, None], dtype=torch.bool))

    def branch(self, rows: Sequence[int]) -> Rows:
        """Return rows that go on from these, of which one may be named several times; these here do not change.

        The cache must be one that can be padded.
        """
        branch = copy.copy(self)
        branch.cache = copy.copy(self.cache)
        branch.cache.layers = [copy.copy(layer) for layer in self.cache.layers]  # they replace their tensors
        branch.keep(rows)
        return branch

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone, in this order."""
        self.valid = self.valid[list(rows)]
        self.cache.reorder_cache(torch.LongTensor(list(rows)))

    def _step(self, ids: torch.Tensor, valid: torch.Tensor) -> torch.Tensor:
        start = self.valid.shape[1]
        self.valid = torch.cat((self.valid, valid), 1)
        positions = (self.n_prefix + self.valid.cumsum(1) - 1)[:, start:].clamp(min=0)
        more: dict[str, Any] = {}
        if self.joint:
            seen = torch.ones(ids.shape[1], self.valid.shape[1], dtype=torch.bool, device=ids.device).tril(start)
            more = {"attention_mask": seen & self.valid[:, None, None, :], "shared_prefix": self.shared}
        elif self.padded:
            prefix = self.valid.new_ones(len(self.valid), self.n_prefix)
            more = {"attention_mask": torch.cat((prefix, self.valid), 1).long()}
        return self.forward(ids, self.cache, positions, **more)
