"""The baseline `everything`: it names every item of the book that was asked for, whatever the question.

It needs no memory of any event. The paper's lenient F1 counts at most as many items as there are true ones, so this answer
is right wherever something has happened: what a memory scores below it, it could have had by naming everything. Harsh F1
counts all that it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from epbench.metric_folders import formulas
from epbench.models.protocol import Request, RuleBasedReader

EVERYTHING = "everything"
"""The name of the memory."""

ACCOUNT = "full_details"
"""The trace whose items are the texts of chapters; its questions are answered with all names of the other traces."""


def names_by_trace(questions: Iterable[Mapping[str, Any]], items: str = "answer") -> dict[str, list[str]]:
    """Collect what is true in answer to any of some questions, which the field `items` has, by what they ask for.

    Returns:
        The names by trace, each once: dates from the earliest to the latest, all others in alphabetical order. Under
        `ACCOUNT` are the names of all other traces.
    """
    by_trace: dict[str, set[str]] = {}
    for question in questions:
        by_trace.setdefault(question["trace"], set()).update(question[items])
    normalise = formulas("episodic_f1").normalise
    names = {trace: sorted(of_trace, key=lambda name: (normalise(name), name)) for trace, of_trace in by_trace.items()}
    others = [listed for trace, listed in names.items() if trace != ACCOUNT]
    return names | {ACCOUNT: list(dict.fromkeys(chain(*others)))}


class EverythingReader(RuleBasedReader):
    """Answers each question with all names of what it asks for in any row of the dataset, and reads nothing."""

    name = "rules"

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._trace_of = {row["id"]: row["trace"] for row in rows}
        names_of = names_by_trace(rows)
        self._answers = {trace: "\n".join(f"- {name}" for name in names) for trace, names in names_of.items()}

    def answer_to(self, request: Request) -> str:
        """Return the names, one on each line."""
        return self._answers[self._trace_of[request.id]] or "Everything."
