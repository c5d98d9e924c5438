"""Many prompts that begin with the same tokens: these are read once, and the questions are answered in batches.

All prompts of a call begin with the same head. Behind it, the questions about one context form a family: a batch reads the
contexts of its families as rows, and each question goes on from the row of its own context. Importing this module imports torch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from transformers.cache_utils import Cache

from epbench.draws import RandomStream
from epbench.models.controls import AS_IT_IS, Controls
from epbench.models.hf.memory import available_memory
from epbench.models.hf.prefix_rows import (
    Choice,
    Forward,
    PrefixStrategy,
    Rows,
    choose_strategy,
    fitting_chunk,
    known_tokens,
    reads_at_once,
    release,
)
from epbench.models.hf.prompt_tokens import common_prefix
from epbench.progress import reading

log = logging.getLogger(__name__)

_MOST_ROWS = 128
_LONGEST_BATCH = 10  # seconds of reading on a CPU: what is lost if the process is killed
_LONGEST_BEFORE_GENERATING = 100  # seconds: generation takes as long anyway, and a step is worth more for many rows
_SPEED = 5e10  # floating-point operations that a thread of a CPU does in a second, in large products of float32
_WORTHWHILE = 1024  # tokens; on a CPU a larger pass is hardly faster, so that it may end where padding begins to cost
_PADDING = 0.05  # of the tokens that are read
_LONG_READ = 8192  # tokens; reading more at one time is no faster, because arithmetic is the limit
_FEWEST_GENERATED = 8  # rows; a step reads all weights, whether for one row or for these
_SPARSE = 0.75
_LOOK_EVERY = 16  # tokens, to see whether an answer has said enough
_AHEAD = {"cuda": 16}  # tokens that are written before the first of them is looked at: a GPU then never waits for us


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt."""

    ids: Sequence[int]  # its token ids, at least one
    max_tokens: int = 512  # the largest number of tokens to generate
    temperature: float = 0.0  # 0 for greedy decoding; else tokens are drawn from the whole distribution
    # Name of the stream of random numbers. The same name draws the same tokens, whatever else is in a batch.
    stream: tuple[object, ...] = ()
    # By label, the ids of the tokens that spell it. If there are labels, nothing is generated.
    labels: Mapping[str, Sequence[int]] = field(default_factory=dict)
    # The name of what this prompt has in common with others beyond the beginning of all; None for nothing.
    context: Hashable = None
    # Tells by the generated ids whether generation may end here; None if only the model and the limit end it.
    enough: Callable[[Sequence[int]], bool] | None = None


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
            ids = [prompt.ids for prompt in prompts]
            self.strategy, self._padded, self._token_bytes = choose_strategy(self.forward, ids)
        contexts: dict[object, list[int]] = {}
        for i, prompt in enumerate(prompts):
            contexts.setdefault(prompt.context, []).append(i)
        together = contexts.pop(None, [])
        groups = []
        for members in contexts.values():
            if self._padded and not _fills_a_batch(self.forward.model, [prompts[i] for i in members]):
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
        waiting, first = _families_of(prompts, shared), True
        while waiting:
            rows = self.batch_size or self._fitting(prompts, waiting[0], shared)
            batch = _next_batch(waiting, rows, self.forward.model, padded=self._padded)
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
            left = (replace(family, members=[i for i in family.members if i not in answered]) for family in waiting)
            waiting = [family for family in left if family.members]

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
        self, prompts: Sequence[Prompt], batch: Sequence[_Family], shared: int, cache: Cache
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
            n = _similar([len(rest[i]) for i in order], self.forward.model) if batch[0].labels else len(order)
            part, order = order[:n], order[n:]
            if contexts is None:
                rows = Rows(self.forward, cache, shared, n, room, joint=joint)
            else:
                rows = contexts.branch([row_of[i] for i in part])
            logits = rows.read([rest[i] for i in part], chunk)
            cached = [shared + (0 if i in paying else batch[row_of[i]].context) for i in part]
            completions = [Completion(cached=tokens) for tokens in cached]
            if batch[0].labels:
                for i, completion, probabilities in zip(part, completions, logits.softmax(-1).cpu(), strict=True):
                    completion.ids = [int(probabilities.argmax())]
                    labels = prompts[i].labels.items()
                    completion.probabilities = {label: float(probabilities[list(ids)].sum()) for label, ids in labels}
                    yield i, completion
                continue
            for done in self._generate([prompts[i] for i in part], completions, rows, logits):
                yield part[done], completions[done]

    def _generate(
        self, prompts: Sequence[Prompt], completions: Sequence[Completion], rows: Rows, logits: torch.Tensor
    ) -> Iterator[int]:
        """Write completions, and yield the position of each as soon as it has ended."""
        draws = [RandomStream("answer", *prompt.stream) for prompt in prompts]
        going = list(range(len(prompts)))  # the prompt of each row
        open_ = set(going)
        ahead = _AHEAD.get(logits.device.type, 1)
        known = known_tokens([prompt.ids for prompt in prompts], logits) if self.controls.repetition_penalty else None
        while True:
            n = min(ahead, max(prompts[i].max_tokens - len(completions[i].ids) for i in open_))
            temperatures, streams = [prompts[i].temperature for i in going], [draws[i] for i in going]
            choice = Choice(temperatures, streams, n, logits.device, self.controls, known)
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

    def _fitting(self, prompts: Sequence[Prompt], first: _Family, shared: int) -> int:
        """Return how many rows like those of a family fit in half of free memory; growing caches are copied."""
        width = first.context + first.rest
        room = width + max(prompts[i].max_tokens for i in first.members)
        row = 2 * max(1, (room + (0 if self._joins(shared, width) else shared)) * self._token_bytes)
        return max(1, min(_MOST_ROWS, available_memory(self.forward.model.device) // row))

    def _chunk(self, tokens: int) -> int:
        """Return how many tokens to read at one time if `tokens` have to be read in all."""
        if reads_at_once(self.forward.config):
            return max(1, tokens)
        if self.chunk is None:
            self.chunk = fitting_chunk(self.forward, tokens)
        return self.chunk


@dataclass(frozen=True, slots=True)
class _Family:
    """Prompts that have a context in common behind the head of all, or one prompt by itself."""

    members: Sequence[int]  # the positions of the prompts in the call
    context: int  # number of tokens behind the head that all members have in common; 0 for a prompt by itself
    rest: int  # the largest number of tokens that a member has behind head and context
    labels: bool  # whether the members have labels; either all have, or none


def _fills_a_batch(model: Any, members: Sequence[Prompt]) -> bool:
    """Whether these prompts with one context gain nothing from the company of others, because there is so much to read."""
    ids = [prompt.ids for prompt in members]
    shared = common_prefix(ids)
    tokens = shared + sum(len(prompt_ids) - shared for prompt_ids in ids)
    # These gain even where reading is slow, because each step then serves more rows.
    few = not members[0].labels and len(members) < _FEWEST_GENERATED
    return tokens > (_LONG_READ if few else min(_LONG_READ, _readable(model, _LONGEST_BATCH) / 2))


def _families_of(prompts: Sequence[Prompt], head: int) -> list[_Family]:
    """Group prompts that all begin with the same `head` tokens; the longest first, so that memory runs out at once if it does."""
    groups: dict[object, list[int]] = {}
    for i, prompt in enumerate(prompts):
        name = (False, i) if prompt.context is None else (True, prompt.context)
        groups.setdefault((name, bool(prompt.labels)), []).append(i)
    families = []
    for members in groups.values():
        ids = [prompts[i].ids for i in members]
        longest, shortest, labels = max(map(len, ids)), min(map(len, ids)), bool(prompts[members[0]].labels)
        shared = min(common_prefix(ids), shortest - 1) if len(members) > 1 else head
        if shared > head:
            families.append(_Family(members, shared - head, longest - shared, labels))
        else:
            families += [_Family([i], 0, len(prompts[i].ids) - head, labels) for i in members]
    return sorted(families, key=lambda f: (f.labels, -f.context, -f.rest))


def _next_batch(waiting: Sequence[_Family], rows: int, model: Any, *, padded: bool) -> list[_Family]:
    """Return the first families, or a part of the first, for one batch of at most `rows` prompts, of any lengths if `padded`."""
    first = waiting[0]
    if len(first.members) > rows:
        return [replace(first, members=first.members[:rows])]
    if first.labels:
        tokens = _readable(model, _LONGEST_BATCH)
    else:  # what generates has always enough rows to be worth the steps
        each = first.context / len(first.members) + first.rest
        tokens = max(_readable(model, _LONGEST_BEFORE_GENERATING), _FEWEST_GENERATED * each)
    batch: list[_Family] = []
    n = rest = 0
    for family in waiting:
        n, rest = n + len(family.members), max(rest, family.rest)
        read = (len(batch) + 1) * first.context + n * rest
        alike = family.labels == first.labels and (family.context > 0) == (first.context > 0)
        if batch and (n > rows or read > tokens or not alike or not (padded or family.rest == first.rest)):
            break
        batch.append(family)
    lengths = [family.context or family.rest for family in batch]
    return batch[: _similar(lengths, model)] if first.labels else batch


def _similar(lengths: Sequence[int], model: Any) -> int:
    """Of texts, the longest first, how many are read at one time, so that padding the others would cost more than it gains."""
    enough = _WORTHWHILE if model.device.type == "cpu" else _LONG_READ
    real = 0
    for n, length in enumerate(lengths):
        if n * lengths[0] >= enough and real + length < (1 - _PADDING) * (n + 1) * lengths[0]:
            return n
        real += length
    return len(lengths)


def _readable(model: Any, seconds: float) -> float:
    """Return about how many tokens a CPU reads in this time; elsewhere there is no limit."""
    if model.device.type != "cpu":
        return float("inf")
    tokens: float = seconds * _SPEED * torch.get_num_threads() / (2 * model.num_parameters())
    return tokens
