"""The chapters of a published book: its events, their layouts, and its text, cut at the headings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from msgspec import Struct

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.files.typed import Whole, fields
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.events.dates import from_words
from epbench.tulving.events.events import Event
from epbench.tulving.released.archive import ReleasedBook
from epbench.tulving.released.files import Files

_ROW = fields(
    {
        **dict.fromkeys(("chapter", "raw_generated_paragraph_idx"), Whole), "post_entities": list[str],
        **dict.fromkeys(("date", "location", "entity", "content"), str),
    }
)  # fmt: skip
_Event = tuple[str, str, str, str, str]
"""Date, location, entity, content and detail."""


class _Layout(Struct, frozen=True):
    """How the chapter of an event was to be written."""

    style: str
    nb_paragraphs: Whole


def published_chapters(files: Files, book: ReleasedBook) -> list[Chapter]:
    """Return the chapters of a book as published, before it is reordered.

    Raises:
        BadInput: A file is missing, truncated or not what its name says, or a value does not fit.
    """
    text = files.json(f"{book.base}/book.json", str)
    path = f"{book.base}/df_book_groundtruth.parquet"
    where = files.where(path)
    rows = files.table(path, _ROW)
    events, layouts = published_events(files, book), files.json(f"{book.experiment}/meta_events.json", list[_Layout])
    if len(rows) != book.n_chapters:
        raise BadInput(f"{where}: found {len(rows)} chapters, expected {book.n_chapters} by the folder's name")
    bodies = _cut(text, len(rows), files.where(f"{book.base}/book.json"))
    chapters = []
    for number, (row, body) in enumerate(zip(rows, bodies, strict=True), 1):
        here = f"{where}, chapter {number}"
        event = _event_of(row, number, events[: len(layouts)], here)
        layout = layouts[row["raw_generated_paragraph_idx"]]
        chapters.append(
            Chapter(
                number=number,
                event=Event(_day(row["date"], here), *event[1:5]),
                style=layout.style,
                n_paragraphs=layout.nb_paragraphs,
                text=body,
                secondary=tuple(row["post_entities"]),
            )
        )
    return chapters


def published_events(files: Files, book: ReleasedBook) -> list[_Event]:
    """Return date, location, entity, content and detail of every event of the book's experiment.

    Events that no chapter tells are among them.

    Raises:
        BadInput: `events.json` is missing, truncated, or holds something else.
    """
    return files.json(f"{book.experiment}/events.json", list[_Event])


def _event_of(row: Mapping[str, Any], number: int, events: list[_Event], where: str) -> _Event:
    """The event that a row of the chapters' table tells, after a check that the two agree."""
    k: int = row["raw_generated_paragraph_idx"]
    if row["chapter"] != number:
        raise BadInput(f"{where}, field 'chapter': expected {number}, found {row['chapter']}")
    if not 0 <= k < len(events):
        raise BadInput(f"{where}: event {k} is not in events.json")
    if (row["date"], row["location"], row["entity"], row["content"]) != events[k][:4]:
        raise BadInput(f"{where}: its event differs from event {k} of events.json")
    return events[k]


def _cut(text: str, n: int, where: str) -> list[str]:
    """The texts of the n chapters, without their headings."""
    headings = ["Chapter 1\n\n", *(f"\n\n\nChapter {number}\n\n" for number in range(2, n + 1))]
    starts: list[int] = []
    for number, heading in enumerate(headings, 1):
        starts.append(text.find(heading, starts[-1] if starts else 0))
        if starts[-1] < 0:
            raise BadInput(f"{where}: the heading 'Chapter {number}' is missing")
    ends = [*starts[1:], len(text)]
    return [
        text[start + len(heading) : end].strip("\n") for start, heading, end in zip(starts, headings, ends, strict=True)
    ]


def _day(text: str, where: str) -> date:
    try:
        return from_words(text)
    except ValueError:
        raise BadInput(f"{where}, field 'date': expected a date such as 'May 07, 2024', found {shown(text)}") from None
