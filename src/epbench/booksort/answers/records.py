"""Reading the records of answers.jsonl: the answer that a record stands for, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from epbench.booksort.answers.parsing import parse_answer

Record = Mapping[str, Any]

CUT_OFF = "the answer was cut off before it named a segment"


def predicted(record: Record) -> Literal["A", "B", "X"]:
    """The answer in a record of answers.jsonl.

    The label with the higher probability, over all its spellings, counts (Section 3.1). An answer of several words, as
    endpoints give it, is read as a text instead, as its first token may be the article of "A closer look says B". An answer
    without probabilities is read as a text, too. X stands for an answer that names neither segment.
    """
    said = parse_answer(record["answer"])
    a, b = probabilities_of(record)
    if a is None or b is None or a == b or (said and len(record["answer"].split()) > 1):
        return said or "X"
    return "A" if a > b else "B"


def failure_of(record: Record) -> str | None:
    """Why a record of answers.jsonl is neither right nor wrong: its request failed, or its text was cut off too early.

    Returns:
        The reason; None for an answer that can be read, and for one that ended by itself and names no segment, which is
        wrong.
    """
    if record.get("failure") is not None:
        return str(record["failure"])
    # A model in this process is asked for one token, whose probabilities decide, so nothing of its answer is missing.
    by_text = record.get("probabilities") is None or len(record["answer"].split()) > 1
    cut_off = record.get("ended") == "length" and by_text and parse_answer(record["answer"]) is None
    return CUT_OFF if cut_off else None


def probabilities_of(record: Record) -> tuple[float | None, float | None]:
    """The probabilities of A and B as the first token of the answer, 0 to 1; None where they are unknown."""
    known = record.get("probabilities") or {}
    return known.get("A"), known.get("B")
