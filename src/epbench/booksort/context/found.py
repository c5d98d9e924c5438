"""Whether what a memory system returned is the segments of a pair, and in which order they stand there.

A system may keep texts as they are, cut them, or put them in its own words, and it does not say where a memory comes
from. So what it returns is compared with the segments:

- A segment is found word for word if at least half of its words stand in the memories in runs of four words or more, whatever
  memories these are in. A segment may lie across two conversations, as it may lie across two passages of memory `rag`.
- Otherwise it is found if one memory has at least half of its words, weighted by how rare they are among the conversations of
  the store. Words that most conversations have weigh next to nothing. A paraphrase that shares few words is not seen, so the
  share that is found word for word is told beside it.
- Both are in order if the earlier segment stands first: in an earlier memory, or earlier in the same one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from statistics import median
from typing import TypeVar

T = TypeVar("T")
RUN = 4
"""Words in a row that a memory must share with a segment."""
ENOUGH = 0.5
"""Share of a segment, as for the passages of memory `rag`."""


@dataclass(frozen=True)
class Found:
    """What a system returned for the segments of a pair."""

    memories: Sequence[str]  # its memories, best first
    both: bool  # whether both segments were found, by either rule
    in_order: bool  # whether they were, and the earlier one stands first
    verbatim: bool  # whether both were found word for word


def rarity_of(texts: Sequence[str]) -> dict[str, float]:
    """How rare each word of some texts is: the squared logarithm of one more than all texts, over those with the word."""
    n_with = Counter(word for text in texts for word in _indexed(text)[0])
    return {word: log((len(texts) + 1) / n) ** 2 for word, n in n_with.items()}


def find(segments: tuple[str, str], memories: Sequence[str], rarity: Mapping[str, float]) -> Found:
    """Look for the earlier and the later segment in memories; a word that is not in `rarity` counts as the rarest."""
    places = [
        (place, True) if (place := _verbatim(segment, memories)) else (_by_words(segment, memories, rarity), False)
        for segment in segments
    ]
    (earlier, one), (later, other) = places
    if earlier is None or later is None:
        return Found(memories, False, False, False)
    return Found(memories, True, earlier < later, one and other)


Place = tuple[int, float]
"""The number of a memory, and the word of it, around which a segment stands there."""


def _verbatim(segment: str, memories: Sequence[str]) -> Place | None:
    words, place, most = _words(segment), None, 0
    runs, covered = _runs(words), set[int]()
    for number, memory in enumerate(memories):
        in_memory = _indexed(memory)[1]
        at = {i: in_memory[run] for i, run in enumerate(runs) if run in in_memory}
        here = {i + more for i in at for more in range(RUN)}
        covered |= here
        if len(here) > most:
            most, place = len(here), (number, float(median(at.values())))
    return place if len(covered) >= ENOUGH * len(words) else None


def _by_words(segment: str, memories: Sequence[str], rarity: Mapping[str, float]) -> Place | None:
    rarest = max(rarity.values(), default=1.0)
    weights = {word: rarity.get(word, rarest) for word in _words(segment)}
    place, most = None, ENOUGH * sum(weights.values())
    for number, memory in enumerate(memories):
        at = {word: place for word, place in _indexed(memory)[0].items() if word in weights}
        weight = sum(weights[word] for word in at)
        if weight >= most and (place is None or weight > most):
            most, place = weight, (number, sum(weights[word] * i for word, i in at.items()) / (weight or 1.0))
    return place


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + RUN]) for i in range(max(1, len(words) - RUN + 1))]


@lru_cache(maxsize=4096)  # systems return the same memories for many pairs
def _indexed(text: str) -> tuple[dict[str, int], dict[tuple[str, ...], int]]:
    """Where each word, and each run of words, of a text first stands, in words."""
    words = _words(text)
    return _first(words), _first(_runs(words))


def _first(items: Sequence[T]) -> dict[T, int]:
    """Where each item first stands."""
    return {items[i]: i for i in reversed(range(len(items)))}
