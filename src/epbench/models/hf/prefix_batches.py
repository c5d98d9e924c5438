"""Which prompts are answered at one time. Importing this module imports torch.

All prompts of a call begin with the same head, which is read once. Behind it, the questions about one context form a
family: a batch reads the contexts of its families as rows, and each question goes on from the row of its own context.
One context at a time would leave the matrices small where contexts are short and have few questions.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from epbench.models.hf.prompt_tokens import common_prefix

MOST_ROWS = 128
_LONGEST_BATCH = 10  # seconds of reading on a CPU: what is lost if the process is killed
_LONGEST_BEFORE_GENERATING = 100  # seconds: generation takes as long anyway, and a step is worth more for many rows
_SPEED = 5e10  # floating-point operations that a thread of a CPU does in a second, in large products of float32
_WORTHWHILE = 1024  # tokens; on a CPU a larger pass is hardly faster, so that it may end where padding begins to cost
_PADDING = 0.05  # of the tokens that are read
_LONG_READ = 8192  # tokens; reading more at one time is no faster, because arithmetic is the limit
_FEWEST_GENERATED = 8  # rows; a step reads all weights, whether for one row or for these


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


def fills_a_batch(model: Any, members: Sequence[Prompt]) -> bool:
    """Whether these prompts with one context gain nothing from the company of others, because there is so much to read.

    A few that generate gain even where reading is slow, because each step then serves more rows.
    """
    ids = [prompt.ids for prompt in members]
    shared = common_prefix(ids)
    tokens = shared + sum(len(prompt_ids) - shared for prompt_ids in ids)
    few = not members[0].labels and len(members) < _FEWEST_GENERATED
    return tokens > (_LONG_READ if few else min(_LONG_READ, _readable(model, _LONGEST_BATCH) / 2))


@dataclass(frozen=True, slots=True)
class Family:
    """Prompts that have a context in common behind the head of all, or one prompt by itself."""

    members: Sequence[int]  # the positions of the prompts in the call
    context: int  # number of tokens behind the head that all members have in common; 0 for a prompt by itself
    rest: int  # the largest number of tokens that a member has behind head and context
    labels: bool  # whether the members have labels; either all have, or none


def families_of(prompts: Sequence[Prompt], head: int) -> list[Family]:
    """Group prompts that all begin with the same `head` tokens, in an order in which neighbours need little padding.

    The longest come first, so that memory runs out at once if it does.
    """
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
            families.append(Family(members, shared - head, longest - shared, labels))
        else:
            families += [
                Family([i], 0, len(prompt_ids) - head, labels) for i, prompt_ids in zip(members, ids, strict=True)
            ]
    return sorted(families, key=lambda f: (f.labels, -f.context, -f.rest))


def next_batch(waiting: Sequence[Family], rows: int, model: Any, *, padded: bool) -> list[Family]:
    """Return the first families that are answered at one time; the first one is always among them, or a part of it.

    They have at most `rows` prompts, whose lengths may differ if `padded`.
    """
    first = waiting[0]
    if len(first.members) > rows:
        return [replace(first, members=first.members[:rows])]
    if first.labels:
        tokens = _readable(model, _LONGEST_BATCH)
    else:  # what generates has always enough rows to be worth the steps
        each = first.context / len(first.members) + first.rest
        tokens = max(_readable(model, _LONGEST_BEFORE_GENERATING), _FEWEST_GENERATED * each)
    batch: list[Family] = []
    n = rest = 0
    for family in waiting:
        n, rest = n + len(family.members), max(rest, family.rest)
        read = (len(batch) + 1) * first.context + n * rest
        alike = family.labels == first.labels and (family.context > 0) == (first.context > 0)
        if batch and (n > rows or read > tokens or not alike or not (padded or family.rest == first.rest)):
            break
        batch.append(family)
    lengths = [family.context or family.rest for family in batch]
    return batch[: similar(lengths, model)] if first.labels else batch


def similar(lengths: Sequence[int], model: Any) -> int:
    """Return how many texts are read at one time: all, or so many that padding the others would cost more than it gains.

    The tokens of each text are given, those of the longest first.
    """
    enough = _WORTHWHILE if model.device.type == "cpu" else _LONG_READ
    real = 0
    for n, length in enumerate(lengths):
        if n * lengths[0] >= enough and real + length < (1 - _PADDING) * (n + 1) * lengths[0]:
            return n
        real += length
    return len(lengths)


def without(waiting: Sequence[Family], answered: set[int]) -> list[Family]:
    """Return what remains of families if some of their prompts have been answered."""
    rest = [replace(family, members=[i for i in family.members if i not in answered]) for family in waiting]
    return [family for family in rest if family.members]


def _readable(model: Any, seconds: float) -> float:
    """Return about how many tokens a CPU reads in this time; elsewhere there is no limit."""
    if model.device.type != "cpu":
        return float("inf")
    tokens: float = seconds * _SPEED * torch.get_num_threads() / (2 * model.num_parameters())
    return tokens
