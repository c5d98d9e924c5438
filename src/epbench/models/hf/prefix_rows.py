"""A batch of rows of tokens that continue one stored prefix. Importing this module imports torch and transformers."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from epbench.models.hf.prefix_attention import own_tokens


class Forward:
    """The forward call of a model, with the arguments that this model takes."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.config = model.config
        self._known = inspect.signature(model.forward).parameters
        self._cache = "past_key_values" if "past_key_values" in self._known else "cache_params"

    def __call__(self, ids: torch.Tensor, cache: Cache, positions: torch.Tensor, **more: Any) -> torch.Tensor:
        """Return the float32 logits after the last token of each row, (rows, vocabulary); the cache grows by the tokens."""
        if (
            "logits_to_keep" in self._known
        ):  # else logits would be computed for every token, and only the last are needed
            more["logits_to_keep"] = 1
        if "position_ids" in self._known:
            more["position_ids"] = positions
        with torch.inference_mode():
            out = self.model(input_ids=ids, use_cache=True, **{self._cache: cache}, **more)
            logits: torch.Tensor = out.logits[:, -1].float()
        return logits

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
        for start in range(0, len(ids), chunk):
            piece = ids[start : start + chunk]
            positions = torch.arange(start, start + len(piece), device=self.model.device)[None]
            self(self.tensor([list(piece)]), cache, positions)
        return cache


def can_be_padded(cache: Cache) -> bool:
    """Whether one batch may have rows of different lengths; sliding windows and running states would count the padding."""
    return all(type(layer) is DynamicLayer for layer in cache.layers)


def bytes_per_token(cache: Cache) -> int:
    """Return the bytes of keys and values that one token of one row takes."""
    states = [getattr(layer, name, None) for layer in cache.layers for name in ("keys", "values")]
    return sum(t.element_size() * t.shape[1] * t.shape[3] for t in states if t is not None and t.dim() == 4)


def _repeated(cache: Cache, n: int) -> Cache:
    """Return the cache for n rows; the original does not change."""
    plain = (DynamicLayer, DynamicSlidingWindowLayer)  # these layers replace their tensors, others change them in place
    repeated = copy.copy(cache)
    repeated.layers = [copy.copy(x) if type(x) in plain else copy.deepcopy(x) for x in cache.layers]
    if n > 1:  # the only way to repeat that layers with a running state have too
        repeated.reorder_cache(torch.LongTensor([0] * n))
    return repeated


class Rows:
    """Rows of tokens that follow a prefix, padded on the left to one length.

    Args:
        forward: the forward call of the model.
        prefix: cache of the prefix; it does not change.
        n_prefix: number of tokens in the prefix.
        suffixes: the token ids that follow in each row, at least one.
        room: the largest number of tokens that will be generated in a row.
        joint: whether all rows attend to one prefix; else it is repeated for every row.
    """

    def __init__(
        self,
        forward: Forward,
        prefix: Cache,
        n_prefix: int,
        suffixes: Sequence[Sequence[int]],
        room: int,
        *,
        joint: bool,
    ) -> None:
        self.forward, self.n_prefix, self.joint = forward, n_prefix, joint
        width, n = max(map(len, suffixes)), len(suffixes)
        self.ids = forward.tensor([[0] * (width - len(s)) + list(s) for s in suffixes])
        self.valid = torch.zeros(n, width + room, dtype=torch.bool, device=self.ids.device)
        for row, suffix in enumerate(suffixes):
            self.valid[row, width - len(suffix) : width] = True
        self.padded = len(set(map(len, suffixes))) > 1
        self.length = 0
        if joint:
            layers: list[Any] = prefix.layers
            self.shared = [(layer.keys, layer.values) for layer in layers]
            self.cache: Cache = own_tokens(len(prefix.layers), width + room)
        else:
            self.cache = _repeated(prefix, n) if n_prefix else forward.empty_cache()

    def read(self, chunk: int) -> torch.Tensor:
        """Read the suffixes, at most `chunk` tokens at one time, and return the logits after them."""
        width = self.ids.shape[1]
        step = max(1, chunk // len(self.ids))
        for start in range(0, width, step):
            logits = self._step(self.ids[:, start : start + step])
        return logits

    def add(self, tokens: torch.Tensor) -> torch.Tensor:
        """Add one token to each row and return the logits after it."""
        self.valid[:, self.length] = True
        return self._step(tokens[:, None])

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other rows."""
        self.valid = self.valid[list(rows)]
        self.cache.reorder_cache(torch.LongTensor(list(rows)))

    def _step(self, ids: torch.Tensor) -> torch.Tensor:
        start, self.length = self.length, self.length + ids.shape[1]
        valid = self.valid[:, : self.length]
        positions = (self.n_prefix + valid.cumsum(1) - 1)[:, start:].clamp(min=0)
        more: dict[str, Any] = {}
        if self.joint:
            seen = torch.ones(ids.shape[1], self.length, dtype=torch.bool, device=ids.device).tril(start)
            more = {"attention_mask": seen & valid[:, None, None, :], "shared_prefix": self.shared}
        elif self.padded:
            more = {"attention_mask": torch.cat((valid.new_ones(len(valid), self.n_prefix), valid), 1).long()}
        return self.forward(ids, self.cache, positions, **more)
