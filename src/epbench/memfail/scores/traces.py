"""The way of a needed fact, for readers: what was told, the memory that holds it, and the one that came back.

A judge looks at all memories together and names none. So the memory that is shown is the one that has most in common with
the fact, by words, and only where the verdicts say that there is one: it illustrates a label and never decides it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from epbench.memfail.dataset.types import GoldMemory, QuestionRecord
from epbench.memfail.judging.diagnosis import Outcome
from epbench.memfail.judging.stages import Label
from epbench.memfail.judging.word_rules import content_of


@dataclass(frozen=True, slots=True)
class Trace:
    """A needed fact on its way.

    Attributes:
        fact: Id of the fact.
        told: Its text, as it was told.
        stage: `correct`, the first stage that it did not pass, or `failed`.
        stored: The memory of the store that is nearest to it; None if it was not stored, or no verdict says so.
        retrieved: The nearest of the memories that came back; None if it was not retrieved.
        reason: The judge's words at the last stage that was judged.
    """

    fact: str
    told: str
    stage: Label
    stored: str | None
    retrieved: str | None
    reason: str | None


def traces_of(outcome: Outcome, record: QuestionRecord, stores: Mapping[str, Sequence[str]]) -> list[Trace]:
    """The way of each fact that a question needs.

    Args:
        outcome: What became of the question at one k.
        record: What the system did for it.
        stores: By name of a store, all memories that it held when the questions were asked.
    """
    gold = record.question.gold
    unknown: Label = "failed"
    labels = outcome.facts or (unknown,) * len(gold)
    reasons = outcome.reasons or (None,) * len(gold)
    store = tuple(stores[record.store]) if record.store in stores else ()
    found = []
    for memory, label, reason in zip(gold, labels, reasons, strict=True):
        stored = nearest(memory, store) if label in ("summary_error", "retrieval_error", "correct") else None
        retrieved = nearest(memory, record.memories) if label == "correct" else None
        found.append(Trace(memory.fact, memory.text, label, stored, retrieved, reason))
    return found


@lru_cache(maxsize=1 << 16)  # a fact has the same nearest memory for every k, and for every question that needs it
def nearest(gold: GoldMemory, memories: tuple[str, ...]) -> str | None:
    """The memory that shares most with a fact: first the words that matter for it, then those of its text.

    A word counts the more the fewer memories have it. Of memories that share the same, it is the shortest. None without
    memories, or if none shares a word.
    """
    having = _memories_with(memories)
    needed = frozenset(word for text in (*gold.link, *gold.detail) for word in content_of(text))
    text = content_of(gold.text)

    def common(memory: str, words: frozenset[str]) -> float:
        return round(sum(log(1 + len(memories) / len(having[w])) for w in sorted(content_of(memory) & words)), 9)

    sharing = {memory for word in needed | text for memory in having.get(word, ())}
    ranked = [(common(memory, needed), common(memory, text), -len(memory), memory) for memory in sharing]
    return max(ranked)[3] if ranked else None


@lru_cache(maxsize=64)
def _memories_with(memories: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    """The memories that have each word."""
    having: dict[str, list[str]] = defaultdict(list)
    for memory in memories:
        for word in content_of(memory):
            having[word].append(memory)
    return having
