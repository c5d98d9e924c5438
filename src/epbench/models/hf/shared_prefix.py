"""Many prompts that begin with the same tokens: the head is read once, the questions are answered in batches.

Importing this module imports torch and transformers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers.cache_utils import Cache

from epbench.draws import RandomStream
from epbench.models.hf.device_memory import fitting_chunk, free_bytes, release
from epbench.models.hf.prefix_rows import Forward, Rows, can_be_padded
from epbench.models.hf.prefix_strategies import PrefixStrategy, choose_strategy, reads_at_once
from epbench.models.hf.prompt_tokens import common_prefix

log = logging.getLogger(__name__)

_MOST_ROWS = 128


@dataclass(frozen=True, slots=True)
class Ask:
    """One prompt.

    Attributes:
        ids: its tokens, at least one.
        max_tokens: most tokens to generate.
        temperature: 0 is greedy; else tokens are drawn from the whole distribution.
        stream: names the stream of draws: the same name draws the same tokens, whatever stands beside it in a batch.
        labels: by label, the token ids that spell it; if there are any, nothing is generated.
    """

    ids: Sequence[int]
    max_tokens: int = 512
    temperature: float = 0.0
    stream: tuple[object, ...] = ()
    labels: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(slots=True)
class Told:
    """What came of an `Ask`.

    Attributes:
        ids: generated tokens, without the one that ends; with labels, the one most probable token.
        ended: whether the model ended the answer itself.
        probabilities: of each label.
        shared: tokens of the prompt that all prompts had in common.
        failure: why there is nothing, or None.
    """

    ids: list[int] = field(default_factory=list)
    ended: bool = False
    probabilities: dict[str, float] | None = None
    shared: int = 0
    failure: str | None = None


class SharedPrefix:
    """Answers prompts of one causal language model.

    Args:
        model: in evaluation mode, with its weights on a device.
        end_ids: tokens that end an answer.
        batch_size: most questions at a time; by default what free memory takes, at most 128. It is halved, and stays
            so, whenever memory runs out.
        chunk: most tokens read at a time; by default as many as have their activations in an eighth of free memory,
            at most 8192.
    """

    def __init__(
        self, model: Any, end_ids: Sequence[int], *, batch_size: int | None = None, chunk: int | None = None
    ) -> None:
        self.forward = Forward(model)
        self.end_ids = frozenset(end_ids)
        self.batch_size, self.chunk = batch_size, chunk
        self.way: PrefixStrategy | None = None
        self._token_bytes = 0
        self._stored: tuple[Sequence[int], Cache] | None = None

    def answer(self, asks: Sequence[Ask]) -> Iterator[tuple[int, Told]]:
        """(place in `asks`, what came of it) for all, in any order."""
        if not asks:
            return
        if self.way is None:
            self.way, self._token_bytes = choose_strategy(self.forward, asks[0].ids)
        prompts = [ask.ids for ask in asks]
        shared = 0 if self.way == "none" else min(common_prefix(prompts), min(map(len, prompts)) - 1)
        try:
            cache = self.read(prompts[0][:shared])
        except torch.OutOfMemoryError:
            why = f"no memory for the {shared:,} tokens that the prompts share"
            yield from ((i, Told(failure=why)) for i in range(len(asks)))
            return
        # Longest first: if memory runs out, it does so at once; and neighbours need little padding.
        waiting = sorted(range(len(asks)), key=lambda i: (bool(asks[i].labels), -len(asks[i].ids)))
        while waiting:
            places = self._next_batch(asks, waiting, shared, cache)
            try:
                told = self._run([asks[i] for i in places], shared, cache)
            except torch.OutOfMemoryError:
                told = []
            if told or len(places) == 1:
                told = told or [Told(failure=f"no memory for a prompt of {len(prompts[places[0]]):,} tokens")]
                yield from zip(places, told, strict=True)
                waiting = waiting[len(places) :]
            else:
                self.batch_size = len(places) // 2
                log.info("out of memory with %d questions at a time: %d from now on", len(places), self.batch_size)
            if (told and told[0].failure) or not told:
                release()

    def read(self, prefix: Sequence[int]) -> Cache:
        """The cache of a prefix; the last one is kept, so that reading it again costs nothing."""
        if self._stored and self._stored[0] == prefix:
            return self._stored[1]
        self._stored = None  # before the next one is made: two may not fit
        chunk = self._chunk(len(prefix))
        while True:
            try:
                cache = self.forward.read(prefix, chunk)
                break
            except torch.OutOfMemoryError:
                if chunk <= 64:
                    raise
                chunk = self.chunk = chunk // 2
                log.info("out of memory: reading %d tokens at a time from now on", chunk)
            release()
        self._stored = prefix, cache
        return cache

    def forget(self) -> None:
        """Drop the stored prefix and give its memory back."""
        self._stored = None
        release()

    def _run(self, asks: Sequence[Ask], shared: int, cache: Cache) -> list[Told]:
        """A batch: either all with labels, or none."""
        suffixes = [ask.ids[shared:] for ask in asks]
        # The joint attention spells out the scores of the own tokens, so these should be the smaller part.
        joint = self.way == "joint" and shared >= 2 * max(map(len, suffixes))
        room = 0 if asks[0].labels else max(ask.max_tokens for ask in asks)
        rows = Rows(self.forward, cache, shared, suffixes, room, joint=joint)
        logits = rows.read(self._chunk(max(map(len, suffixes)) * len(asks)))
        if asks[0].labels:
            return [_labelled(ask, one, shared) for ask, one in zip(asks, logits.softmax(-1), strict=True)]
        return self._generate(asks, rows, logits, shared)

    def _generate(self, asks: Sequence[Ask], rows: Rows, logits: torch.Tensor, shared: int) -> list[Told]:
        told = [Told(shared=shared) for _ in asks]
        draws = [RandomStream("answer", *ask.stream) for ask in asks]
        going = list(range(len(asks)))  # the ask of each row
        open_ = set(going)
        while True:
            tokens = _choose(logits, [asks[i].temperature for i in going], [draws[i] for i in going])
            for i, token in zip(going, tokens.tolist(), strict=True):
                if i in open_ and token in self.end_ids:
                    told[i].ended = True
                elif i in open_:
                    told[i].ids.append(token)
                if told[i].ended or len(told[i].ids) >= asks[i].max_tokens:
                    open_.discard(i)
            if not open_:
                return told
            if len(open_) <= len(going) // 2:  # rows that ended cost as much as others
                kept = [row for row, i in enumerate(going) if i in open_]
                rows.keep(kept)
                tokens, going = tokens[kept], [going[row] for row in kept]
            logits = rows.add(tokens)

    def _next_batch(self, asks: Sequence[Ask], waiting: Sequence[int], shared: int, cache: Cache) -> list[int]:
        first = asks[waiting[0]]
        room = len(first.ids) - shared + first.max_tokens + (0 if self.way == "joint" else shared)
        size = self.batch_size or self._fitting(room)
        same = [i for i in waiting[:size] if bool(asks[i].labels) == bool(first.labels)]
        if self.way != "none" and can_be_padded(cache):
            return same
        return [i for i in same if len(asks[i].ids) == len(first.ids)]

    def _fitting(self, tokens: int) -> int:
        """How many rows of so many tokens fit in half of free memory: growing caches are copied."""
        row = 2 * max(1, tokens * self._token_bytes)
        return max(1, min(_MOST_ROWS, free_bytes(self.forward.model.device) // row))

    def _chunk(self, tokens: int) -> int:
        """Most tokens to read at a time, where `tokens` are to be read in all."""
        if reads_at_once(self.forward.config):
            return max(1, tokens)
        if self.chunk is None:
            self.chunk = fitting_chunk(self.forward, tokens)
        return self.chunk


def _choose(logits: torch.Tensor, temperatures: Sequence[float], draws: Sequence[RandomStream]) -> torch.Tensor:
    """The next token of each row: the most probable one, or one drawn by a number of its own stream.

    One number a token, and the distribution's running sum: the same on every device, up to rounding.
    """
    chosen = logits.argmax(-1)
    warm = [row for row, temperature in enumerate(temperatures) if temperature > 0]
    if warm:
        heat = torch.tensor([temperatures[row] for row in warm], device=logits.device)
        running = (logits[warm] / heat[:, None]).softmax(-1).cumsum(-1)
        marks = torch.tensor([draws[row].unit() for row in warm], device=logits.device)
        drawn = torch.searchsorted(running, marks[:, None] * running[:, -1:], right=True)[:, 0]
        chosen[warm] = drawn.clamp(max=logits.shape[-1] - 1)
    return chosen


def _labelled(ask: Ask, probabilities: torch.Tensor, shared: int) -> Told:
    by_label = {label: float(probabilities[list(ids)].sum()) for label, ids in ask.labels.items()}
    return Told([int(probabilities.argmax())], probabilities=by_label, shared=shared)
