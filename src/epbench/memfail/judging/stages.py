"""The stages of a question: which checks they take, and which label follows from the verdicts.

Paper: Sections 3.2 and 5.1 (phase 3). Where the paper leaves something open, this is what we do:

- Several gold memories: each goes through its own stages; the question gets the earliest failing stage of any of them.
- A misleading question asks about somebody whom the row does not mention. As published, it passes without merit if the
  essay that could mislead was not stored or not retrieved: such passes are marked `vacuous`. If the essay lost its
  details it counts as a summary error, as published, even if the answer abstains; plain accuracy counts only abstention.
  So a vacuous pass may have a wrong answer; the scores count these apart.
- A memory that says the opposite of what was stored, or gives another number, has lost the detail: a summary error.
- A question has failed, and is neither right nor wrong, if its answer or a verdict that its label needs is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from epbench.memfail.dataset.types import GoldMemory, Kind, QuestionRecord
from epbench.memfail.judging.multiple_choice import LETTERS, letter_of
from epbench.memfail.judging.protocol import Check

Stage = Literal["storage", "summary", "retrieval"]
STAGES: tuple[Stage, ...] = ("storage", "summary", "retrieval")

Label = Literal["correct", "storage_error", "summary_error", "retrieval_error", "reasoning_error", "failed"]
ERRORS: Mapping[Stage, Label] = {
    "storage": "storage_error",
    "summary": "summary_error",
    "retrieval": "retrieval_error",
}

Stores = Mapping[str, tuple[str, ...]]
"""By name of a store, all memories that it held when the questions were asked."""


def memory_check(stage: Stage, record: QuestionRecord, gold: GoldMemory, stores: Stores) -> Check:
    """What is asked about a gold memory at a stage: of the whole store, or of the retrieved memories."""
    memories = record.memories if stage == "retrieval" else stores[record.store]
    return Check(stage, record.question, gold, memories)


def needs_no_judge(check: Check) -> bool:
    """Whether a check is false without asking: where there is no memory, none can have the fact."""
    return check.gold is not None and not check.memories


def answer_check(record: QuestionRecord) -> Check | None:
    """What is asked about the answer; None where no judge is needed, as for a multiple choice."""
    if record.question.choices:
        return None
    kind: Literal["abstention", "reasoning"] = "abstention" if record.question.kind == "misleading" else "reasoning"
    return Check(kind, record.question, answer=record.answer)


def letter_is_right(record: QuestionRecord) -> bool:
    """Whether the answer to a multiple choice selects the right option."""
    question = record.question
    return letter_of(record.answer, question.choices) == LETTERS[question.choices.index(question.reference)]


def fact_label(verdicts: Mapping[Stage, bool | None]) -> Label:
    """The label of one gold memory.

    Args:
        verdicts: By stage, whether the memory passed it; None if there is no verdict, because the judge failed or an
            earlier stage was not passed.
    """
    for stage in STAGES:
        if not verdicts[stage]:
            return "failed" if verdicts[stage] is None else ERRORS[stage]
    return "correct"


def question_label(kind: Kind, facts: Sequence[Label], answer_right: bool | None) -> tuple[Label, bool]:
    """The label of a question, and whether it is a vacuous pass.

    Args:
        kind: Kind of the question.
        facts: Labels of its gold memories.
        answer_right: Whether the answer is right; None without a verdict.
    """
    if "failed" in facts:
        return "failed", False
    earliest = next((ERRORS[stage] for stage in STAGES if ERRORS[stage] in facts), None)
    if kind == "misleading" and earliest in ("storage_error", "retrieval_error"):
        return "correct", True
    if earliest is not None:
        return earliest, False
    return ("failed" if answer_right is None else "correct" if answer_right else "reasoning_error"), False
