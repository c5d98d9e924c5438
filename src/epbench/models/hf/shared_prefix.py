"""Many prompts that begin with the same tokens: these are read once, and the questions are answered in batches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from transformers import MinPLogitsWarper, TopKLogitsWarper, TopPLogitsWarper
from transformers.cache_utils import Cache

from epbench.draws import RandomStream
from epbench.models.controls import AS_IT_IS, Controls
from epbench.models.hf.memory import available_memory
from epbench.models.hf.prefix_batches import (
    MOST_ROWS,
    Family,
    Prompt,
    families_of,
    fills_a_batch,
    next_batch,
    similar,
    without,
)
from epbench.models.hf.prefix_rows import (
    Forward,
    PrefixStrategy,
    Rows,
    choose_strategy,
    fitting_chunk,
    reads_at_once,
    release,
)
from epbench.models.hf.prompt_tokens import common_prefix
from epbench.progress import reading

log = logging.getLogger(__name__)

_SPARSE = 0.75
_LOOK_EVERY = 16  # tokens, to see whether an answer has said enough
_AHEAD = {"cuda": 16}  # tokens that are written before the first of them is looked at: a GPU then never waits for us


@dataclass(slots=True)
class Completion:
    """What a model made of a prompt."""

    # Generated token ids, without the one that ends the answer; with labels, the most probable token alone.
    ids: list[int] = field(default_factory=list)
    ended: bool = False  # whether the model ended the answer itself
    probabilities: dict[str, float] | None = None  # by label, its probability
    shared: int = 0  # number of tokens that all prompts of the call have in common
    cached: int = 0  # number of tokens of this prompt that were not computed, because another prompt had been
    failure: str | None = None  # why there is no completion; None if there is one


class SharedPrefix:
    """Answers prompts of one causal language model.

    `batch_size` is the largest number of questions at one time, by default as many as fit in free memory, at most 128; it is
    halved for good whenever memory runs out. `chunk` is the largest number of tokens read at one time, by default as many as
    have their activations in an eighth of free memory, at most 8192. `end_ids` are the tokens that end an answer.
    """

    def __init__(
        self,
        model: Any,
        end_ids: Sequence[int],
        *,
        batch_size: int | None = None,
        chunk: int | None = None,
        controls: Controls = AS_IT_IS,
    ) -> None:
        self.forward = Forward(model)
        self.end_ids = frozenset(end_ids)
        self.batch_size, self.chunk, self.controls = batch_size, chunk, controls
        self.strategy: PrefixStrategy | None = None
        self._padded, self._token_bytes = False, 0
        self._stored: tuple[Sequence[int], Cache] | None = None

    def answer(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield the position in `prompts` and the completion of each prompt as soon as it is there, in any order."""
        if not prompts:
            return
        if self.strategy is None:
            chosen = choose_strategy(self.forward, [prompt.ids for prompt in prompts])
            self.strategy, self._padded, self._token_bytes = chosen
        contexts: dict[object, list[int]] = {}
        for i, prompt in enumerate(prompts):
            contexts.setdefault(prompt.context, []).append(i)
        together = contexts.pop(None, [])
        groups = []
        for members in contexts.values():
            if self._padded and not fills_a_batch(self.forward.model, [prompts[i] for i in members]):
                together += members
            else:  # their context is then the beginning that all of them share
                groups.append((members, [replace(prompts[i], context=None) for i in members]))
        for members, alike in [*groups, (together, [prompts[i] for i in together])]:
            for i, completion in self._answer(alike):
                yield members[i], completion

    def _answer(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        if not prompts:
            return
        ids = [prompt.ids for prompt in prompts]
        shared = 0 if self.strategy == "none" else min(common_prefix(ids), min(map(len, ids)) - 1)
        try:
            cache = self.read(ids[0][:shared])
        except torch.OutOfMemoryError:
            why = f"no memory for the {shared:,} tokens that the prompts share"
            yield from ((i, Completion(failure=why)) for i in range(len(prompts)))
            return
        waiting, first = families_of(prompts, shared), True
        while waiting:
            rows = self.batch_size or self._fitting(prompts, waiting[0], shared)
            batch = next_batch(waiting, rows, self.forward.model, padded=self._padded)
            n, answered = sum(len(family.members) for family in batch), set[int]()
            with suppress(torch.OutOfMemoryError):
                for i, completion in self._run(prompts, batch, shared, cache):
                    completion.shared = shared
                    if first and i == batch[0].members[0]:  # this one has paid for the tokens that all share
                        completion.cached, first = 0, False
                    answered.add(i)
                    yield i, completion
            if len(answered) < n:
                release()
                if n == 1:
                    (i,) = batch[0].members
                    answered.add(i)
                    yield i, Completion(failure=f"no memory for a prompt of {len(ids[i]):,} tokens")
                else:
                    self.batch_size = n // 2
                    log.info("out of memory with %d questions at a time: %d from now on", n, self.batch_size)
            waiting = without(waiting, answered)

    def read(self, prefix: Sequence[int]) -> Cache:
        """Return the cache of a prefix. The last one is kept, so that reading it again costs nothing."""
        if self._stored and self._stored[0] == prefix:
            return self._stored[1]
        self._stored = None  # dropped before the next one is made, because two may not fit
        chunk = self._chunk(len(prefix))
        while True:
            try:
                cache = self.forward.read(prefix, chunk, reading)
                break
            except torch.OutOfMemoryError:
                if chunk <= 64:
                    raise
                chunk //= 2
                log.info("out of memory: reading %d tokens at a time", chunk)
            release()
        if self.chunk is not None:  # a prefix that does not fit at all says nothing about those that are read after it
            self.chunk = min(self.chunk, chunk)
        self._stored = prefix, cache
        return cache

    def forget(self) -> None:
        """Drop the stored prefix and release its memory."""
        self._stored = None
        release()

    def _run(
        self, prompts: Sequence[Prompt], batch: Sequence[Family], shared: int, cache: Cache
    ) -> Iterator[tuple[int, Completion]]:
        """Answer a batch, in which either all prompts have labels or none has, and all have contexts or none has."""
        rest = {i: prompts[i].ids[shared + family.context :] for family in batch for i in family.members}
        order = sorted(rest, key=lambda i: -len(rest[i]))
        width = batch[0].context + len(rest[order[0]])
        room = width + (0 if batch[0].labels else max(prompts[i].max_tokens for i in order))
        chunk, joint = self._chunk(width * len(order)), self._joins(shared, width)
        contexts = None
        if batch[0].context:
            contexts = Rows(self.forward, cache, shared, len(batch), room, joint=joint)
            contexts.read([prompts[f.members[0]].ids[shared : shared + f.context] for f in batch], chunk)
        row_of = {i: row for row, family in enumerate(batch) for i in family.members}
        paying = {family.members[0] for family in batch}  # the first of each family has its context computed
        while order:
            n = similar([len(rest[i]) for i in order], self.forward.model) if batch[0].labels else len(order)
            part, order = order[:n], order[n:]
            if contexts is None:
                rows = Rows(self.forward, cache, shared, n, room, joint=joint)
            else:
                rows = contexts.branch([row_of[i] for i in part])
            logits = rows.read([rest[i] for i in part], chunk)
            cached = [shared + (0 if i in paying else batch[row_of[i]].context) for i in part]
            completions = [Completion(cached=tokens) for tokens in cached]
            for done in self._complete([prompts[i] for i in part], completions, rows, logits):
                yield part[done], completions[done]

    def _complete(
        self, prompts: Sequence[Prompt], completions: Sequence[Completion], rows: Rows, logits: torch.Tensor
    ) -> Iterator[int]:
        """Write completions, and yield the position of each as soon as it has ended."""
        if not prompts[0].labels:
            yield from self._generate(prompts, completions, rows, logits)
            return
        for n, probabilities in enumerate(logits.softmax(-1).cpu()):
            completions[n].ids = [int(probabilities.argmax())]
            by_label = {label: float(probabilities[list(ids)].sum()) for label, ids in prompts[n].labels.items()}
            completions[n].probabilities = by_label
            yield n

    def _generate(
        self, prompts: Sequence[Prompt], completions: Sequence[Completion], rows: Rows, logits: torch.Tensor
    ) -> Iterator[int]:
        """Write completions, and yield the position of each as soon as it has ended."""
        draws = [RandomStream("answer", *prompt.stream) for prompt in prompts]
        going = list(range(len(prompts)))  # the prompt of each row
        open_ = set(going)
        ahead = _AHEAD.get(logits.device.type, 1)
        known = _known([prompt.ids for prompt in prompts], logits) if self.controls.repetition_penalty else None
        while True:
            n = min(ahead, max(prompts[i].max_tokens - len(completions[i].ids) for i in open_))
            temperatures, streams = [prompts[i].temperature for i in going], [draws[i] for i in going]
            choice = _Choice(temperatures, streams, n, logits.device, self.controls, known)
            written = [choice.next_tokens(logits)]
            while len(written) < n:
                written.append(choice.next_tokens(rows.add(written[-1])))
            for i, tokens in zip(going, torch.stack(written, 1).tolist(), strict=True):
                if i in open_ and self._takes(prompts[i], completions[i], tokens):
                    open_.discard(i)
                    yield i
            if not open_:
                return
            last = written[-1]
            if len(open_) <= _SPARSE * len(going):  # rows that have ended cost as much as others
                kept = [row for row, i in enumerate(going) if i in open_]
                rows.keep(kept)
                last, going, known = last[kept], [going[row] for row in kept], None if known is None else known[kept]
            logits = rows.add(last)

    def _takes(self, prompt: Prompt, completion: Completion, tokens: Sequence[int]) -> bool:
        """Add tokens to a completion up to its end, and return whether that has come."""
        ids = completion.ids
        for token in tokens:
            if token in self.end_ids:
                completion.ended = True
                return True
            ids.append(token)
            if len(ids) >= prompt.max_tokens or (len(ids) % _LOOK_EVERY == 0 and prompt.enough and prompt.enough(ids)):
                return True
        return False

    def _joins(self, shared: int, width: int) -> bool:
        """Whether all rows attend to one prefix: joint attention keeps the scores of the rows' own tokens in memory."""
        return self.strategy == "joint" and shared >= 2 * width

    def _fitting(self, prompts: Sequence[Prompt], first: Family, shared: int) -> int:
        """Return how many rows like those of a family fit in half of free memory; growing caches are copied."""
        width = first.context + first.rest
        room = width + max(prompts[i].max_tokens for i in first.members)
        row = 2 * max(1, (room + (0 if self._joins(shared, width) else shared)) * self._token_bytes)
        return max(1, min(MOST_ROWS, available_memory(self.forward.model.device) // row))

    def _chunk(self, tokens: int) -> int:
        """Return how many tokens to read at one time if `tokens` have to be read in all."""
        if reads_at_once(self.forward.config):
            return max(1, tokens)
        if self.chunk is None:
            self.chunk = fitting_chunk(self.forward, tokens)
        return self.chunk


class _Choice:
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
        self._limits: list[Callable[[Any, torch.Tensor], torch.Tensor]] = [lambda _, logits: logits / heat]
        if controls.top_k is not None:
            self._limits.append(TopKLogitsWarper(controls.top_k))
        if controls.top_p is not None:
            self._limits.append(TopPLogitsWarper(controls.top_p))
        if controls.min_p is not None:
            self._limits.append(MinPLogitsWarper(controls.min_p))
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


def _known(prompts: Sequence[Sequence[int]], logits: torch.Tensor) -> torch.Tensor:
    """Which tokens of the vocabulary each prompt has, as (prompts, vocabulary)."""
    known = torch.zeros_like(logits, dtype=torch.bool)
    for row, ids in enumerate(prompts):
        known[row, list(set(ids))] = True
    return known
