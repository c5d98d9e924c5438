"""questions.parquet of a run of MemFail: what became of each question.

A row is one question at one k:

- id, k, row, kind, group: which question, at how many memories; see `Question`.
- config, system: of the run.
- outcome: `right` (every stage passed), `wrong` or `failed`; success: the same as a truth value, null if it failed.
- label: `correct`, the first stage that failed, or `failed`; vacuous: passed without merit.
- answer_right: whether the answer is right, whatever the stages say; null without an answer or a verdict.
- needs: for each needed fact its id (fact), its text (told), stage, the nearest memory of the store and of those that came
  back (stored, retrieved; null where the label says that there is none) and the judge's words (reason); see `Trace`.
- question, reference, answer: what the reader was asked, the true answer, and what the reader wrote (null without one).
- retrieved: the memories that the reader was shown, best first; n_stored: how many memories the store held.
- reason: the judge's words on the check that decided the label; failure: why the question failed.

A judge looks at all memories together and names none. So the memory that is shown beside a needed fact is the one that has
most in common with it, by words, and only where the verdicts say that there is one: it illustrates a label and never decides
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log
from typing import Any

from epbench.memfail.dataset.load import GoldMemory, QuestionRecord
from epbench.memfail.dataset.word_rules import content_of
from epbench.memfail.judging.diagnosis import Label, Outcome
from epbench.memfail.judging.memories import Memories, memories_of
from epbench.runs.results import Columns

_NEED = dict.fromkeys(("fact", "told", "stage", "stored", "retrieved", "reason"), "string")

COLUMNS: Columns = {
    "id": "string", "k": "int32",
    **dict.fromkeys(("row", "kind", "group", "config", "system", "outcome"), "string"),
    "success": "bool", "label": "string", "vacuous": "bool", "answer_right": "bool", "needs": [_NEED],
    **dict.fromkeys(("question", "reference", "answer"), "string"),
    "retrieved": ["string"], "n_stored": "int32", "reason": "string", "failure": "string",
}  # fmt: skip
"""The columns of questions.parquet, in their order."""


def question_rows(
    outcomes: Sequence[Outcome],
    records: Sequence[QuestionRecord],
    stores: Mapping[str, Sequence[str]],
    system: str | None,
) -> list[dict[str, Any]]:
    """The rows of questions.parquet; the columns are described above.

    Args:
        outcomes: The outcomes of all questions at all k.
        records: What they are about, in the same order.
        stores: By name of a store, all memories that it held when the questions were asked.
        system: The name of the memory system.
    """
    pairs, held = zip(outcomes, records, strict=True), {name: Memories(store) for name, store in stores.items()}
    return [_row(outcome, record, held) | {"system": system or ""} for outcome, record in pairs]


def _row(outcome: Outcome, record: QuestionRecord, stores: Mapping[str, Memories]) -> dict[str, Any]:
    result = {"correct": "right", "failed": "failed"}.get(outcome.label, "wrong")
    return {
        "id": outcome.question,
        "k": outcome.k,
        "row": outcome.row,
        "kind": outcome.kind,
        "group": outcome.group,
        "success": None if result == "failed" else result == "right",
        "label": outcome.label,
        "vacuous": outcome.vacuous,
        "answer_right": outcome.answer_right,
        "config": record.question.config,
        "outcome": result,
        "needs": [asdict(trace) for trace in traces_of(outcome, record, stores)],
        "question": record.question.text,
        "reference": record.question.reference,
        "answer": None if record.failure is not None else record.answer,
        "retrieved": list(record.memories),
        "n_stored": len(stores.get(record.store, ())),
        "reason": outcome.reason,
        "failure": outcome.failure,
    }


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
