"""Which questions are asked, what the memory is asked for each of them, and which memories would be the right ones."""

from __future__ import annotations

from collections.abc import Sequence

from epbench.memfail.dataset.types import Question
from epbench.memfail.pipeline.setting import Setting
from epbench.memories.session import Query


def queries_of(questions: Sequence[Question], setting: Setting) -> list[Query]:
    """Return what the memory is asked: every question at every k, since a system may answer each k in its own way."""
    return [
        Query(
            id=f"{question.id}@{k}",
            question=question.id,
            store=question.row if setting.isolate else "",
            text=query_text(question, setting),
            k=k,
        )
        for k in setting.ks
        for question in questions
    ]


def query_text(question: Question, setting: Setting) -> str:
    """Return what the memory is asked for a question."""
    return question.text if setting.published_query else question.query


def gold_of(questions: Sequence[Question], setting: Setting) -> dict[str, list[str]]:
    """Return the texts of the gold memories by query, for the oracle."""
    gold: dict[str, list[str]] = {}
    for question in questions:
        known = gold.setdefault(query_text(question, setting), [])
        known += [memory.text for memory in question.gold if memory.text not in known]
    return gold
