"""The way of a needed fact, for readers: what was told, the memory that holds it, and the one that came back.

A judge looks at all memories together and names none. So the memory that is shown is the one that has most in common with
the fact, by words, and only where the verdicts say that there is one: it illustrates a label and never decides it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

from epbench.memfail.dataset.types import GoldMemory, QuestionRecord
from epbench.memfail.judging.diagnosis import Outcome
from epbench.memfail.judging.memories import memories_of
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
    held = stores.get(record.store, ())
    store, back = memories_of(held if isinstance(held, tuple) else tuple(held)), memories_of(record.memories)
    found = []
    for memory, label, reason in zip(gold, labels, reasons, strict=True):
        stored = nearest(memory, store) if label in ("summary_error", "retrieval_error", "correct") else None
        retrieved = nearest(memory, back) if label == "correct" else None
        found.append(Trace(memory.fact, memory.text, label, stored, retrieved, reason))
    return found


def nearest(gold: GoldMemory, texts: tuple[str, ...]) -> str | None:
    """The memory that shares most with a fact: first the words that matter for it, then those of its text.

    A word counts the more the fewer memories have it. Of memories that share the same, it is the shortest. None without
    memories, or if none shares a word.
    """
    memories = memories_of(texts)
    needed = frozenset(word for text in (*gold.link, *gold.detail) for word in content_of(text))
    text = content_of(gold.text)

    def weight(words: Iterable[str]) -> float:
        known = [n for word in sorted(words) if (n := memories.number_with(word))]
        return round(sum(log(1 + len(memories) / n) for n in known), 9)

    def common(memory: str, words: frozenset[str]) -> float:
        return weight(content_of(memory) & words)

    for words in (needed, text):  # memories without a needed word matter only if none has one
        rest = sorted(words, key=lambda word: (-memories.number_with(word), word))
        shared: dict[str, float] = {}
        while rest:
            shared |= {m: common(m, words) for m in memories.with_any([rest.pop()]) if m not in shared}
            # A memory that has only the other, commoner words cannot share more than these weigh.
            if shared and max(shared.values()) > weight(rest):
                break
        if shared:
            most = max(shared.values())
            best = [memory for memory, of_memory in shared.items() if of_memory == most]
            return max(best, key=lambda memory: (common(memory, text), -len(memory), memory))
    return None
