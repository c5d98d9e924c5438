"""What a memory system is told for the pairs of segments, what it returns, and whether that is the segments.

The excerpt of a pair, or its whole book, is stored in conversations that end where a sentence does. Each excerpt (or book) has
an instance of the system to itself. One query asks for both segments of a pair.

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
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, lru_cache
from itertools import pairwise
from math import log
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeVar

from epbench.booksort.context.retrieval import first_word, query_for, spaced
from epbench.booksort.dataset.load import BookText, Pair, excerpt_of, group_of, is_whole_book, pair_id
from epbench.booksort.texts.cleaning import sentence_starts
from epbench.errors import BadInput
from epbench.memories.between import told_after
from epbench.memories.guard import Limits
from epbench.memories.protocol import SystemSpec
from epbench.memories.recall import Budget, check_budget, fit, read_recall, shown_of
from epbench.memories.session import Conversation, Query, fill_and_ask
from epbench.progress import Progress

Stored = Literal["excerpt", "book"]
"""What is stored for a pair."""
WORDS = 100
"""Words of a conversation."""
TOP_K = 4
"""Memories for a pair: two for each segment, since a segment may lie across two conversations."""
FIRST, BETWEEN = datetime(2025, 1, 6, 9), timedelta(minutes=10)
"""The simulated time at which the first conversation is stored, and the time to the next."""


@dataclass(frozen=True, kw_only=True)
class Remembering:
    """How a memory system is run; BadInput if `tokens` is below 1."""

    stored: Stored = "excerpt"  # what it is told for a pair: its `excerpt`, or its whole `book`
    words: int = WORDS  # words of a conversation, at least 1; it ends with the nearest sentence
    limits: Limits = field(default_factory=Limits)  # what one call, and the system's process, may take
    # What else `load_memory` takes: isolation, and for an installed system endpoint, settings and source.
    options: Mapping[str, Any] = field(default_factory=dict)
    tokens: int | None = None  # the most tokens of memories that the reader is shown for a pair; None for any number

    def __post_init__(self) -> None:
        check_budget(self.tokens)


def conversation_starts(text: str, words: int) -> list[int]:
    """Return the words at which the conversations of a text begin, from 0; each has about `words` words, in whole sentences."""
    n, cuts = len(text.split()), [0]
    ends = [*sentence_starts(re.split(r"\n\s*\n", text)), n]
    while True:
        ahead = ends[bisect_right(ends, cuts[-1]) :] or [n]
        place = bisect_left(ahead, target := cuts[-1] + words)
        nearest = min(ahead[max(0, place - 1) : place + 1], key=lambda end: abs(end - target))
        if nearest >= n:
            return cuts
        cuts.append(nearest)


class Told:
    """What each store is told: its conversations of about `words` words, and which of them hold the segments of a pair.

    Without books, excerpts are stored. BadInput if `words` is below 1, the set lacks the text of an excerpt, or an
    excerpt is not in its book.
    """

    def __init__(self, pairs: Sequence[Pair], books: Sequence[BookText], words: int) -> None:
        if words < 1:
            raise BadInput(f"--conversation-words: expected at least 1, got {words}")
        self._books = {book.book_idx: spaced(book.text) for book in books}
        texts = {self.store_of(pair): excerpt_of(pair) for pair in pairs if not books}
        asked = {pair.book_idx for pair in pairs}
        texts |= {f"book {book.book_idx}": book.text for book in books if book.book_idx in asked}
        self._starts = {store: conversation_starts(text, words) for store, text in texts.items()}
        self.texts = {
            store: [" ".join(words[start:end]) for start, end in pairwise([*self._starts[store], len(words)])]
            for store, words in ((store, text.split()) for store, text in texts.items())
        }
        """By the name of the store, the texts of its conversations."""
        self._begin = lru_cache(maxsize=64)(self._find)  # the pairs of an excerpt follow one another

    def store_of(self, pair: Pair) -> str:
        """The name of the store that is told about a pair."""
        return f"book {pair.book_idx}" if self._books else group_of(pair)

    def parts(self, pair: Pair) -> tuple[range, range]:
        """The numbers of the conversations that hold a part of the earlier and of the later segment."""
        starts = self._starts[self.store_of(pair)]
        begin = 0 if is_whole_book(pair.config) else self._begin(pair.book_idx, excerpt_of(pair))
        earlier, later = (
            range(bisect_right(starts, at) - 1, bisect_left(starts, at + len(segment.split())))
            for at, segment in zip((begin + place for place in pair.positions), pair.segments, strict=True)
        )
        return earlier, later

    def needed(self, pair: Pair) -> list[str]:
        """The conversations that hold the segments of a pair, in the order of the book."""
        texts = self.texts[self.store_of(pair)]
        return [texts[number] for number in sorted({number for part in self.parts(pair) for number in part})]

    @cached_property
    def rarity(self) -> dict[str, dict[str, float]]:
        """By store, how rare each word of its conversations is; see `rarity_of`."""
        return {store: rarity_of(texts) for store, texts in self.texts.items()}

    def _find(self, book_idx: int, excerpt: str) -> int:
        """The word of a store's text at which an excerpt begins."""
        first = first_word(excerpt, self._books.get(book_idx, "")) if self._books else 0
        if first is None:
            raise BadInput(f"an excerpt is not in book {book_idx} of config 'books', from which it should be")
        return first


@dataclass(frozen=True)
class Remembered:
    """What a system remembers of the segments of pairs."""

    found: Mapping[str, Found]  # by the id of the pair, what was found; a pair without it has failed
    failures: Mapping[str, str]  # by the id of the pair, why it has failed
    warnings: Sequence[str]  # what a reader of the results has to know


@dataclass(frozen=True)
class MemoryRun:
    """A memory system, what it is told, and how much it may return."""

    system: SystemSpec  # the system
    told: Told  # what it is told
    k: int  # the largest number of memories for a pair
    between: Sequence[str] = ()  # sentences that each store is told last

    @property
    def conversations(self) -> list[Conversation]:
        """All conversations, in the order of storing."""
        return [
            Conversation(f"{number}", store, (f"{number}",), ({"role": "user", "content": text, "timestamp": time},))
            for store, texts in self.told.texts.items()
            for number, text in enumerate(texts)
            for time in [(FIRST + number * BETWEEN).isoformat()]
        ]

    def queries(self, pairs: Sequence[Pair], query: str = "") -> dict[str, Query]:
        """One query for each pair by its id, whichever orders it is asked in; `query` as in the prompt pack."""
        asked: dict[str, Query] = {}
        for pair in pairs:
            id_, text = pair_id(pair.id), query_for(pair, query)
            asked.setdefault(id_, Query(f"{id_}@{self.k}", id_, self.told.store_of(pair), text, self.k))
        return asked

    def remember(
        self, folder: Path, pairs: Sequence[Pair], query: str, limits: Limits, progress: Progress, budget: Budget
    ) -> Remembered:
        """Store what is told and ask for the segments of the pairs; what is journaled is not done again.

        The reader is shown what fits in the budget. BadInput: no instance of the system can be made.
        """
        asked = [*self.queries(pairs, query).values()]
        conversations = told_after(self.conversations, self.between)
        fill_and_ask(folder, self.system, conversations, asked, limits=limits, progress=progress)
        fit(folder, read_recall(folder, self.system, self.conversations, asked).found, asked, budget)
        return self.read(folder, pairs)

    def read(self, folder: Path, pairs: Sequence[Pair]) -> Remembered:
        """Read from the journals of a run what it remembers of the pairs."""
        queries = self.queries(pairs)
        recall = read_recall(folder, self.system, self.conversations, [*queries.values()])
        shown = shown_of(folder, recall.found)
        found, failures = {}, {}
        for pair in pairs:
            query = queries[pair_id(pair.id)]
            lost = [recall.unstored.get((query.store, f"{n}")) for part in self.told.parts(pair) for n in part]
            reasons = [f"memory system: could not store a segment: {reason}" for reason in lost if reason]
            if query.id in recall.failures:
                reasons.insert(0, recall.failures[query.id])
            if reasons:
                failures[pair.id] = reasons[0]
            else:
                found[pair.id] = find(pair.segments, shown[query.id], self.told.rarity[query.store])
        return Remembered(found, failures, recall.warnings)

    def plan(self, pairs: Sequence[Pair]) -> Iterator[str]:
        """What storing and retrieving take, as lines of text."""
        name, inside = self.system.name, self.system.inner_model
        n = len(told_after(self.conversations, self.between))
        yield f"{n:,} conversations to tell {name} in {len(self.told.texts):,} stores, {len(self.queries(pairs)):,} retrievals"
        if inside:
            yield f"what {name} asks of {inside} comes on top; a finished run's usage.json tells it"

    def stand_in(self, pairs: Sequence[Pair]) -> dict[str, Sequence[str]]:
        """By the id of the pair, memories about as long as those of the system, which holds none yet."""
        likely: dict[str, Sequence[str]] = {}
        for pair in pairs:
            texts, needed = self.told.texts[self.told.store_of(pair)], self.told.needed(pair)
            some = list(dict.fromkeys([*needed, *texts]))[: self.k]
            system = self.system
            likely[pair.id] = needed if system.knows_gold else [*texts, *self.between] if system.beyond_k else some
        return likely


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
