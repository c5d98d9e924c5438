"""Answers to the questions about a book that are right, right in part, wrong, abstaining, wordy or vague, by turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def scripted_answers(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Answers by the id of the question."""
    items = [item for row in rows for item in row["answer"]]
    in_order = sorted(
        rows, key=lambda row: (row["get"], len(set(row["answer"])))
    )  # so that each kind gets every answer
    return {row["id"]: _answer(number, row["answer"], items) for number, row in enumerate(in_order)}


def _answer(number: int, reference: Sequence[str], items: Sequence[str]) -> str:
    other = items[(number * 37) % len(items)]
    return {
        0: "; ".join(reference) or "I do not know; the text does not tell.",
        1: "; ".join(reference[: (len(reference) + 1) // 2]) or other,
        2: other,
        3: "I do not know.",
        4: f"I remember {', then '.join(reversed(reference))} and perhaps {other}.",
        5: ", then ".join(reference) or "It never happened.",
        6: "; ".join(item.split()[-1] for item in reference) or "Something.",
    }[number % 7]
