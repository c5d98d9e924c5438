"""The cards of the questions of a run on a Tulving book: verdict, matching chapters, and what was retrieved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.journals.journal import Record, read_journal
from epbench.memories.session import RETRIEVED
from epbench.reports.explorer import Evidence, Mark, QuestionCard, explorer_html
from epbench.reports.tables import cell
from epbench.tulving.context.passages import read_passages

Chapters = Sequence[tuple[int, str]]
"""The number and the text of each chapter."""

MOST_CARDS = 10_000
"""The number of questions, repeats included, up to which a page has all; a book has fewer, each of some kilobytes."""

NO_BOOK = "The book was not at hand when this page was made, so the chapters that match a question are not shown."
_ABOUT = (
    "A cue names what a question gives: t time, s space, e entity, c content. Right is an F1 of 1. Bin 0 asks for what never "
    "happened: no chapter matches, and an abstention is right."
)
_MARKED = "Of the chapters that match a question, the paragraphs with what it gives or asks for are shown first."
_CUE = ("time", "space", "entity", "content")


def questions_html(
    folder: Path, records: Sequence[Record], chapters: Chapters | None, n_questions: int | None = None
) -> str:
    """Question by question, as HTML for the page of a run.

    Args:
        folder: The run's folder, for what was retrieved.
        records: The rows of questions.parquet; see `epbench.tulving.scores.question_files.records_of`.
        chapters: The chapters of the book; None if the book is not at hand, which the page says then.
        n_questions: The number of rows, if `records` has only the first of them.
    """
    known = chapters or ()
    places = {number: place for place, (number, _) in enumerate(known)}
    cards = cards_of(records, places, _retrieved(folder, known))
    return explorer_html(cards, [text for _, text in known], [_ABOUT, _MARKED if known else NO_BOOK], n_questions)


def cards_of(
    records: Sequence[Record], places: Mapping[int, int], retrieved: Mapping[str, Sequence[str]]
) -> list[QuestionCard]:
    """A card for each time that a question was asked.

    Args:
        records: The rows of questions.parquet.
        places: By number of a chapter, the number of its text on the page; chapters that are not there are not shown.
        retrieved: By id of a question, the passages or memories that a reader was shown, in that order.
    """
    repeated = any(record["repeat"] for record in records)
    return [_card(record, places, retrieved, repeated) for record in records]


def _card(
    record: Record, places: Mapping[int, int], retrieved: Mapping[str, Sequence[str]], repeated: bool
) -> QuestionCard:
    facets = {name: str(record[name]) for name in ("bin", "cue", "trace", "get")}
    if repeated:
        facets["repeat"] = str(record["repeat"])
    marks = list(_marks(record))
    return QuestionCard(
        id=f"{record['id']}, repeat {record['repeat']}" if repeated else record["id"],
        facets=facets,
        outcome=record["outcome"],
        question=record["question"],
        reference=record["reference"],
        answer=record["answer"],
        verdict="" if record["outcome"] == "failed" else _verdict(record),
        reason=record.get("failure") or record.get("reason") or "",
        evidence=[Evidence(f"Chapter {n}", places[n], marks) for n in record["chapters"] if n in places],
        retrieved=retrieved.get(record["id"]),
    )


def _verdict(record: Record) -> str:
    """F1 with its parts, and what was found of each true item, a line each."""
    order = "" if record.get("tau") is None else f", tau {cell(record['tau'])}"
    lines = [
        f"F1 {cell(record['f1'])} (precision {cell(record['precision'])}, recall {cell(record['recall'])}; "
        f"harsh F1 {cell(record['harsh_f1'])}{order})",
        *(f"{_found(score)[0]}: {item}" for item, score in zip(record["reference"], record["scores"], strict=True)),
        f"items in the answer: {'; '.join(map(str, record['items'])) or 'none'}",
    ]
    return "\n".join(lines)


def _marks(record: Record) -> Iterator[Mark]:
    """What the question gives and what it asks for."""
    for name in _CUE:
        if record[name] is not None:
            yield Mark(record[name], f"{name}, given")
    scores: Sequence[float | None] = record.get("scores") or [None] * len(record["reference"])
    for item, score in zip(record["reference"], scores, strict=True):
        label, kind = _found(score)
        yield Mark(item, label, kind)


def _found(score: float | None) -> tuple[str, Any]:
    """What is said of a true item, and how it is marked."""
    if score is None:
        return "true item", "cue"
    if score == 0:
        return "item not found", "lost"
    return ("item found" if score == 1 else f"item found in part ({score:.2f})"), "found"


def _retrieved(folder: Path, chapters: Chapters) -> dict[str, Sequence[str]]:
    """What was retrieved, by id of the question: passages of the book, or memories of a system."""
    records = read_journal(folder / RETRIEVED).items()
    memories = {key.rpartition("@")[0]: record["memories"] for key, record in records if "memories" in record}
    return {**read_passages(folder, chapters), **memories}
