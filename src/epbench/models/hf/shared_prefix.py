"""Many prompts that begin with the same tokens: these are read once, and the questions are answered in batches.

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
class Prompt:
    """One prompt.

    Attributes:
        ids: its token ids, at least one.
        max_tokens: the largest number of tokens to generate.
        temperature: 0 for greedy decoding; else tokens are drawn from the whole distribution.
        stream: name of the stream of random numbers. The same name draws the same tokens, whatever else is in a batch.
        labels: by label, the ids of the tokens that spell it. If there are labels, nothing is generated.
    """

    ids: Sequence[int]
    max_tokens: int = 512
    temperature: float = 0.0
    stream: tuple[object, ...] = ()
    labels: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(slots=True)
class Completion:
    """What a model made of a prompt.

    Attributes:
        ids: generated token ids, without the one that ends the answer; with labels, the most probable token alone.
        ended: whether the model ended the answer itself.
        probabilities: by label, its probability.
        shared: number of tokens that all prompts have in common.
        failure: why there is no completion; None if there is one.
    """

    ids: list[int] = field(default_factory=list)
    ended: bool = False
    probabilities: dict[str, float] | None = None
    shared: int = 0
    failure: str | None = None


class SharedPrefix:
    """Answers prompts of one causal language model.

    Args:
        model: a model in evaluation mode, with its weights on a device.
        end_ids: ids of the tokens that end an answer.
        batch_size: the largest number of questions at one time; by default as many as fit in free memory, at most 128.
            It is halved for good whenever memory runs out.
        chunk: the largest number of tokens read at one time; by default as many as have their activations in an eighth
            of free memory, at most 8192.
    """

    def __init__(
        self, model: Any, end_ids: Sequence[int], *, batch_size: int | None = None, chunk: int | None = None
    ) -> None:
        self.forward = Forward(model)
        self.end_ids = frozenset(end_ids)
        self.batch_size, self.chunk = batch_size, chunk
        self.strategy: PrefixStrategy | None = None
        self._token_bytes = 0
        self._stored: tuple[Sequence[int], Cache] | None = None

    def answer(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield the position in `prompts` and the completion of each prompt, in any order."""
        if not prompts:
            return
        if self.strategy is None:
            self.strategy, self._token_bytes = choose_strategy(self.forward, prompts[0].ids)
        ids = [prompt.ids for prompt in prompts]
        shared = 0 if self.strategy == "none" else min(common_prefix(ids), min(map(len, ids)) - 1)
        try:
            cache = self.read(ids[0][:shared])
        except torch.OutOfMemoryError:
            why = f"no memory for the {shared:,} tokens that the prompts share"
            yield from ((i, Completion(failure=why)) for i in range(len(prompts)))
            return
        # With the longest first, memory runs out at once if it does, and neighbours need little padding.
        waiting = sorted(range(len(prompts)), key=lambda i: (bool(prompts[i].labels), -len(ids[i])))
        while waiting:
            batch = self._next_batch(prompts, waiting, shared, cache)
            try:
                completions = self._run([prompts[i] for i in batch], shared, cache)
            except torch.OutOfMemoryError:
                completions = []
            if completions or len(batch) == 1:
                why = f"no memory for a prompt of {len(ids[batch[0]]):,} tokens"
                completions = completions or [Completion(failure=why)]
                yield from zip(batch, completions, strict=True)
                waiting = waiting[len(batch) :]
            else:
                self.batch_size = len(batch) // 2
                log.info("out of memory with %d questions at a time: %d from now on", len(batch), self.batch_size)
            if not completions or completions[0].failure:
                release()

    def read(self, prefix: Sequence[int]) -> Cache:
        """Return the cache of a prefix. The last one is kept, so that reading it again costs nothing."""
        if self._stored and self._stored[0] == prefix:
            return self._stored[1]
        self._stored = None  # dropped before the next one is made, because two may not fit
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
        """Drop the stored prefix and release its memory."""
        self._stored = None
        release()

    def _run(self, prompts: Sequence[Prompt], shared: int, cache: Cache) -> list[Completion]:
        """Answer a batch, in which either all prompts have labels or none has."""
        suffixes = [prompt.ids[shared:] for prompt in prompts]
        # Joint attention keeps the scores of the questions' own tokens in memory, so these should be the smaller part.
        joint = self.strategy == "joint" and shared >= 2 * max(map(len, suffixes))
        room = 0 if prompts[0].labels else max(prompt.max_tokens for prompt in prompts)
        rows = Rows(self.forward, cache, shared, suffixes, room, joint=joint)
        logits = rows.read(self._chunk(max(map(len, suffixes)) * len(prompts)))
        if prompts[0].labels:
            return [_labelled(prompt, one, shared) for prompt, one in zip(prompts, logits.softmax(-1), strict=True)]
        return self._generate(prompts, rows, logits, shared)

    def _generate(self, prompts: Sequence[Prompt], rows: Rows, logits: torch.Tensor, shared: int) -> list[Completion]:
        completions = [Completion(shared=shared) for _ in prompts]
        draws = [RandomStream("answer", *prompt.stream) for prompt in prompts]
        going = list(range(len(prompts)))  # the prompt of each row
        open_ = set(going)
        while True:
            tokens = _choose(logits, [prompts[i].temperature for i in going], [draws[i] for i in going])
            for i, token in zip(going, tokens.tolist(), strict=True):
                if i in open_ and token in self.end_ids:
                    completions[i].ended = True
                elif i in open_:
                    completions[i].ids.append(token)
                if completions[i].ended or len(completions[i].ids) >= prompts[i].max_tokens:
                    open_.discard(i)
            if not open_:
                return completions
            if len(open_) <= len(going) // 2:  # rows that have ended cost as much as others
                kept = [row for row, i in enumerate(going) if i in open_]
                rows.keep(kept)
                tokens, going = tokens[kept], [going[row] for row in kept]
            logits = rows.add(tokens)

    def _next_batch(self, prompts: Sequence[Prompt], waiting: Sequence[int], shared: int, cache: Cache) -> list[int]:
        first = prompts[waiting[0]]
        room = len(first.ids) - shared + first.max_tokens + (0 if self.strategy == "joint" else shared)
        size = self.batch_size or self._fitting(room)
        same = [i for i in waiting[:size] if bool(prompts[i].labels) == bool(first.labels)]
        if self.strategy != "none" and can_be_padded(cache):
            return same
        return [i for i in same if len(prompts[i].ids) == len(first.ids)]

    def _fitting(self, tokens: int) -> int:
        """Return how many rows of so many tokens fit in half of free memory; growing caches are copied."""
        row = 2 * max(1, tokens * self._token_bytes)
        return max(1, min(_MOST_ROWS, free_bytes(self.forward.model.device) // row))

    def _chunk(self, tokens: int) -> int:
        """Return how many tokens to read at one time if `tokens` have to be read in all."""
        if reads_at_once(self.forward.config):
            return max(1, tokens)
        if self.chunk is None:
            self.chunk = fitting_chunk(self.forward, tokens)
        return self.chunk


def _choose(logits: torch.Tensor, temperatures: Sequence[float], draws: Sequence[RandomStream]) -> torch.Tensor:
    """Choose the next token of each row: the most probable one, or one drawn with a number from the row's own stream.

    Drawing takes one number and the running sum of the distribution, so it is the same on every device, up to rounding.
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


def _labelled(prompt: Prompt, probabilities: torch.Tensor, shared: int) -> Completion:
    by_label = {label: float(probabilities[list(ids)].sum()) for label, ids in prompt.labels.items()}
    return Completion([int(probabilities.argmax())], probabilities=by_label, shared=shared)
