"""Rows of tokens that continue one stored prefix: how they grow, and how a model can share the prefix, which is tried out."""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal

import torch
import transformers
from transformers import MinPLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.models.controls import Controls
from epbench.models.hf import prefix_attention
from epbench.models.hf.memory import available_memory
from epbench.models.hf.prefix_attention import NAME, StoredPrefix, own_tokens

log = logging.getLogger(__name__)

_CACHE_NAMES = ("cache", "past_key_values", "cache_params")  # since transformers 5.24, and before it; Mamba's


class Forward:
    """The forward call of a model, with the arguments that this model takes."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.config = model.config
        self._known = inspect.signature(model.forward).parameters

    def __call__(self, ids: torch.Tensor, cache: Cache, positions: torch.Tensor, **more: Any) -> torch.Tensor:
        """Return the float32 logits after the last token of each row, (rows, vocabulary); the cache grows by the tokens."""
        if "logits_to_keep" in self._known:  # else they would be computed for every token, and only the last are needed
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

    def tensor(self, values: Any) -> torch.Tensor:
        """Put values on the device of the model's first layers."""
        return torch.tensor(values, device=self.model.device)

    def empty_cache(self) -> DynamicCache:
        """Return a cache that knows which layers of the model have a sliding window."""
        return DynamicCache(config=self.config)

    def read_logits(self, ids: Sequence[int]) -> torch.Tensor:
        """Return the logits after a text that is read at once."""
        return self(self.tensor([list(ids)]), self.empty_cache(), self.tensor([list(range(len(ids)))]))[0]

    def read(
        self, ids: Sequence[int], chunk: int, tell: Callable[[int, int], None] = lambda done, total: None
    ) -> DynamicCache:
        """Return the cache of a text, read in pieces of at most `chunk` tokens; `tell` takes how many are read, of how many."""
        tell(0, len(ids))
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
            tell(start + n, len(ids))
        if joint and ids:
            layers: list[Any] = cache.layers
            for layer, grown in zip(layers, growing.layers, strict=True):
                layer.lazy_initialization(*grown.stored)
                layer.keys, layer.values = grown.stored
        return cache


def can_be_padded(cache: Cache) -> bool:
    """Whether one batch may have rows of different lengths; sliding windows and running states would count the padding."""
    return all(type(layer) is DynamicLayer for layer in cache.layers)


def _repeated(cache: Cache, n: int, room: int) -> Cache:
    """Return the cache for n rows that will have `room` tokens more; the original does not change."""
    if cache.is_initialized and can_be_padded(cache):
        layers: list[Any] = cache.layers
        roomy = own_tokens(len(layers), room + cache.get_seq_length())
        for i, layer in enumerate(layers):
            roomy.update(layer.keys.expand(n, -1, -1, -1), layer.values.expand(n, -1, -1, -1), i)
        return roomy
    plain = (DynamicLayer, DynamicSlidingWindowLayer)  # these layers replace their tensors, others change them in place
    repeated = copy.copy(cache)
    repeated.layers = [copy.copy(x) if type(x) in plain else copy.deepcopy(x) for x in cache.layers]
    if n > 1:  # the only way to repeat that layers with a running state have too
        repeated.reorder_cache(torch.LongTensor([0] * n))
    return repeated


class Rows:
    """Rows of tokens that follow a prefix. They grow together, padded on the left wherever one has fewer tokens to read.

    The cache of the prefix, which has `n_prefix` tokens, does not change. A row will have at most `room` tokens beside it, with
    padding. `joint` says whether all rows attend to one prefix; else it is repeated for every row.
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
        """Return rows that go on from these, each as often as it is named; the cache must be one that can be padded."""
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


class Choice:
    """Chooses the next tokens of some rows: the most probable one, or one drawn with a number from the row's own stream."""

    def __init__(
        self,
        temperatures: Sequence[float],
        draws: Sequence[RandomStream],
        n: int,
        device: torch.device,
        controls: Controls,
        known: torch.Tensor | None,
    ) -> None:
        warm = [row for row, temperature in enumerate(temperatures) if temperature > 0]
        self._any, self._penalty, self._known = bool(warm), controls.repetition_penalty, known
        self._rows = torch.tensor(warm, dtype=torch.long, device=device)
        heat = torch.tensor([temperatures[row] for row in warm], device=device)[:, None]
        # In the order of transformers' `generate`.
        warpers: Any = TopKLogitsWarper, TopPLogitsWarper, MinPLogitsWarper
        values = controls.top_k, controls.top_p, controls.min_p
        limits = [warper(value) for warper, value in zip(warpers, values, strict=True) if value is not None]
        self._limits = [lambda _, logits: logits / heat, *limits]
        # On the device at once, because it would wait for each.
        marks = torch.tensor([[draws[row].unit() for row in warm] for _ in range(n)], device=device)
        self._marks = iter(marks[..., None])

    def next_tokens(self, logits: torch.Tensor) -> torch.Tensor:
        """Return a token for each row of logits."""
        if self._known is not None and self._penalty is not None:
            penalised = torch.where(logits > 0, logits / self._penalty, logits * self._penalty)
            logits = torch.where(self._known, penalised, logits)
        chosen = logits.argmax(-1)
        if self._any:
            limited = logits[self._rows]
            for limit in self._limits:
                limited = limit(None, limited)
            # By one number and the running sum of the distribution, which is the same on every device, up to rounding.
            running = limited.softmax(-1).cumsum(-1)
            drawn = torch.searchsorted(running, next(self._marks) * running[:, -1:], right=True)[:, 0]
            chosen[self._rows] = drawn.clamp(max=logits.shape[-1] - 1)
        if self._known is not None:
            self._known.scatter_(1, chosen[:, None], True)
        return chosen


def known_tokens(prompts: Sequence[Sequence[int]], logits: torch.Tensor) -> torch.Tensor:
    """Which tokens of the vocabulary each prompt has, as (prompts, vocabulary)."""
    known = torch.zeros_like(logits, dtype=torch.bool)
    for row, ids in enumerate(prompts):
        known[row, list(set(ids))] = True
    return known


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

    Tried on a few tokens of three prompts. Returns also whether rows of different lengths can then be read together, and the
    bytes that one token takes in the cache. `BadInput` if the cache of this model cannot be used at all.
    """
    # From the beginning of the first prompt, the middle of a later one, and the end of the last; a short one is repeated.
    stretches: list[list[int]] = []
    for i in range(3):
        ids = list(prompts[i * (len(prompts) - 1) // 2])
        start = int(max(0, len(ids) - _TOKENS) * i / 2)
        stretch = (ids[start : start + _TOKENS] * _TOKENS)[:_TOKENS]
        stretches += [] if stretch in stretches else [stretch]
    head = 2 * _TOKENS // 3
    lengths = (_TOKENS, head + 8)
    whole = [[forward.read_logits(stretch[:n]) for n in lengths] for stretch in stretches]
    cache = forward.read(stretches[0][:head], chunk=head // 2)
    padded = can_be_padded(cache)
    states = [getattr(layer, name, None) for layer in cache.layers for name in ("keys", "values")]
    size = sum(t.element_size() * t.shape[1] * t.shape[3] for t in states if t is not None and t.dim() == 4)
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


def _compare(actual: torch.Tensor, expected: torch.Tensor, limits: tuple[float, float]) -> None:
    """Raise ValueError if logits, or what follows from them, differ by more than rounding."""
    # What all logits differ by has no effect. Another token may be the most probable one where two are nearly as probable.
    most, most_divergence = limits
    off = float((actual - expected).std() / expected.std())
    true, ours = expected.log_softmax(-1), actual.log_softmax(-1)
    divergence = float((true.exp() * (true - ours)).nan_to_num(0.0).sum())
    behind = float((expected.max() - expected[actual.argmax()]) / expected.std())
    if not (off < most and divergence < most_divergence and behind < 3 * most):
        raise ValueError(
            f"logits differ by {off:.2g} of their standard deviation, distributions by {divergence:.2g} nats, and the most "
            f"probable token is {behind:.2g} standard deviations behind"
        )


_LONGEST_CHUNK = 8192  # longer chunks are no faster, because arithmetic is the limit


def release() -> None:
    """Release memory that is no longer used, after memory has run out."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def fitting_chunk(forward: Forward, tokens: int) -> int:
    """Return how many of a text's tokens to read at one time: activations then fit in an eighth of free memory, 256 to 8192."""
    config, model = forward.config.get_text_config(), forward.model
    # Each token needs some hidden states, the gates of the feed-forward layer, and its row in the mask.
    states: int = 8 * config.hidden_size + 3 * (getattr(config, "intermediate_size", None) or 4 * config.hidden_size)
    a_token = states * torch.empty((), dtype=model.dtype).element_size() + 4 * tokens
    return max(256, min(_LONGEST_CHUNK, available_memory(model.device) // (8 * a_token)))
