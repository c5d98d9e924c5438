"""Which questions are asked, what the memory is asked for each of them, and which memories would be the right ones."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from epbench.memfail.dataset.types import Question
from epbench.memfail.pipeline.setting import Setting
from epbench.memories.session import Query
from epbench.runs.subset import subset


def asked_of(questions: Sequence[Question], limit: int | None = None, shard: str | None = None) -> list[Question]:
    """Return the questions of a run, as `subset` chooses them.

    Args:
        questions: Those of a config.
        limit: The number of questions of the whole run; None for all.
        shard: `i/n` for the i-th of n parts, which never divide a row; None for the whole run.

    Raises:
        BadInput: The limit is below 1, or there is no such shard.
    """
    limited = subset(questions, attrgetter("id"), limit)
    return limited if shard is None else subset(limited, attrgetter("row"), None, shard)


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
