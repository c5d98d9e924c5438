"""Which questions are asked, what the memory is asked for each of them, and which memories would be the right ones."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from epbench.errors import BadInput
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


def limited(questions: Sequence[Question], limit: int | None) -> list[Question]:
    """Return a random subset of the questions, in their order; a larger limit keeps the same questions and adds more.

    Only the questions are limited: everything is still stored.

    Args:
        questions: All questions of a config.
        limit: How many to keep, at least 1; None keeps all.

    Raises:
        BadInput: The limit is below 1.
    """
    if limit is not None and limit < 1:
        raise BadInput(f"limit: expected at least 1, got {limit}")
    by_hash = sorted((question.id for question in questions), key=lambda id_: sha256(id_.encode()).hexdigest())
    kept = set(by_hash[:limit])
    return [question for question in questions if question.id in kept]
