"""What became of each question of a run of MemFail: questions.parquet, and the cards on the run's page.

A row is one question at one k:

- id, k, row, kind, group: which question, at how many memories; see `Question`.
- config, system: of the run.
- outcome: `right` (every stage passed), `wrong` or `failed`; success: the same as a truth value, null if it failed.
- label: `correct`, the first stage that failed, or `failed`; vacuous: passed without merit.
- answer_right: whether the answer is right, whatever the stages say; null without an answer or a verdict.
- needs: for each needed fact its id (fact), its text (told), stage (`correct`, the first that it did not pass, or `failed`), the
  nearest memory of the store and of those that came back (stored, retrieved; null where it was not stored or did not come back,
  or no verdict says so) and the judge's words at the last stage that was judged (reason).
- question, reference, answer: what the reader was asked, the true answer, and what the reader wrote (null without one).
- retrieved: the memories that the reader was shown, best first; n_stored: how many memories the store held.
- reason: the judge's words on the check that decided the label; failure: why the question failed.

A judge looks at all memories together and names none. So the memory that is shown beside a needed fact is the one that has
most in common with it, by words, and only where the verdicts say that there is one: it illustrates a label and never decides
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import Any

from epbench.memfail.dataset.load import GoldMemory, QuestionRecord
from epbench.memfail.dataset.word_rules import content_of
from epbench.memfail.judging.diagnosis import Outcome
from epbench.memfail.judging.memories import Memories, memories_of
from epbench.reports.explorer import QuestionCard, Step, Trail, explorer_html
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
    result, question = {"correct": "right", "failed": "failed"}.get(outcome.label, "wrong"), record.question
    same = ("k", "row", "kind", "group", "label", "vacuous", "answer_right", "reason", "failure")
    return {
        **{name: getattr(outcome, name) for name in same},
        "id": outcome.question,
        "success": None if result == "failed" else result == "right",
        "config": question.config,
        "outcome": result,
        "needs": _needs(outcome, record, stores),
        "question": question.text,
        "reference": question.reference,
        "answer": None if record.failure is not None else record.answer,
        "retrieved": list(record.memories),
        "n_stored": len(stores.get(record.store, ())),
    }


def _needs(outcome: Outcome, record: QuestionRecord, stores: Mapping[str, Memories]) -> list[dict[str, str | None]]:
    """The way of each fact that a question needs."""
    gold = record.question.gold
    labels = outcome.facts or ("failed",) * len(gold)
    reasons = outcome.reasons or (None,) * len(gold)
    store, back = memories_of(stores.get(record.store, ())), memories_of(record.memories)
    return [
        {
            "fact": memory.fact,
            "told": memory.text,
            "stage": label,
            "stored": nearest(memory, store) if label in ("summary_error", "retrieval_error", "correct") else None,
            "retrieved": nearest(memory, back) if label == "correct" else None,
            "reason": reason,
        }
        for memory, label, reason in zip(gold, labels, reasons, strict=True)
    ]


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


_STAGES = ("storage", "summary", "retrieval")
_ASKED = {
    "storage": "1 storage: is it in the store?",
    "summary": "2 summary: has it kept its details?",
    "retrieval": "3 retrieval: did it come back?",
}
_ANSWER = "4 reasoning: is the answer right?"
_NOT_JUDGED = "not judged"
_ABOUT = (
    "A question is right if every needed fact passed every stage and the answer is right; its label is the first stage that "
    "failed.",
    "The judge looks at all memories together and names none. So the memory that stands beside a stage is the one that has "
    "most words in common with the fact: it illustrates the verdict and does not decide it.",
)


def questions_html(rows: Sequence[Mapping[str, Any]]) -> str:
    """Question by question, as HTML for the page of a run.

    Args:
        rows: What `question_rows` returns.
    """
    return explorer_html(cards_of(rows), notes=_ABOUT)


def cards_of(rows: Sequence[Mapping[str, Any]]) -> list[QuestionCard]:
    """A card for each question at each k.

    Args:
        rows: The rows of questions.parquet.
    """
    several = len({row["k"] for row in rows}) > 1
    kinds, groups = any(row["kind"] for row in rows), any(row["group"] for row in rows)
    return [_card(row, several, kinds, groups) for row in rows]


def _card(row: Mapping[str, Any], several: bool, kinds: bool, groups: bool) -> QuestionCard:
    facets = {"label": _in_words(row["label"])}
    if several:
        facets["memories asked for (k)"] = str(row["k"])
    if kinds:
        facets["kind"] = row["kind"] or "–"
    if groups:
        facets["group"] = row["group"] or "–"
    return QuestionCard(
        id=f"{row['id']}, k = {row['k']}" if several else row["id"],
        facets=facets,
        outcome=row["outcome"],
        question=row["question"],
        reference=[row["reference"]],
        answer=row["answer"],
        verdict=_verdict(row),
        reason=row["failure"] or row["reason"] or "",
        retrieved=row["retrieved"],
        trails=[_trail(number, need, row) for number, need in enumerate(row["needs"], 1)],
    )


def _verdict(row: Mapping[str, Any]) -> str:
    """The label, what is special about it, and the answer by itself."""
    right = {True: "right", False: "wrong", None: _NOT_JUDGED}[row["answer_right"]]
    lines = [f"label: {_in_words(row['label'])}", f"the answer by itself, whatever the stages say: {right}"]
    if row["vacuous"]:
        lines.append("vacuous: passed without merit, as what could mislead was not stored or not retrieved")
    return "\n".join([*lines, f"the store held {row['n_stored']:,} memories"])


def _trail(number: int, need: Mapping[str, Any], row: Mapping[str, Any]) -> Trail:
    """The steps of one needed fact. A stage after the first that failed was not judged."""
    failed = need["stage"].removesuffix("_error")
    last = _STAGES.index(failed) if failed in _STAGES else len(_STAGES) - 1
    steps = [Step("told", "as it was told", need["told"])]
    for place, stage in enumerate(_STAGES):
        if failed == "failed" or place > last:
            steps.append(Step(_ASKED[stage], _NOT_JUDGED))
            continue
        text = need["retrieved" if stage == "retrieval" else "stored"]
        note = f"judge: {need['reason']}" if place == last and need["reason"] else ""
        steps.append(Step(_ASKED[stage], "not passed" if stage == failed else "passed", text, note))
    result = {True: "passed", False: "not passed", None: _NOT_JUDGED}[row["answer_right"]]
    return Trail(f"Needed fact {number}: {need['fact']}", [*steps, Step(_ANSWER, result, row["answer"])])


def _in_words(label: str) -> str:
    return label.replace("_", " ")
