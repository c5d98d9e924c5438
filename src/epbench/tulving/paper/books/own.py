"""A book of one's own, from the rows, the title, the card and the report of its dataset."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from msgspec import Struct

from epbench.errors import BadInput
from epbench.exhibits.exhibit import Source
from epbench.files.json_files import read_typed
from epbench.files.text import shown
from epbench.files.typed import Whole, fields
from epbench.hub.rows import all_checked_rows
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.chapters.loop import Iteration
from epbench.tulving.chapters.template_writer import TemplateWriter
from epbench.tulving.dataset.build import Order
from epbench.tulving.dataset.load import load_book
from epbench.tulving.events.events import Event
from epbench.tulving.events.new_york import Point, known_spaces
from epbench.tulving.events.universe import PUBLISHED_SIZE, load_universe
from epbench.tulving.events.universe_files import universe_names
from epbench.tulving.paper.books.book import Asked, PaperBook

_CHAPTER = fields(
    {
        **dict.fromkeys(("date", "location", "entity", "content", "detail", "style", "text"), str),
        "chapter": Whole, "n_paragraphs": Whole, "secondary_entities": list[str],
    }
)  # fmt: skip

_MADE = re.compile(r"The days of (?P<name>.+?), seed (?P<seed>-?\d+)(?:, written by (?P<writer>.+))?")
_CONVERTED = re.compile(r"(?P<name>.+?), as published, by (?P<writer>.+)")
_NAME = re.compile(r"(?:(?P<universe>.+?)-)??(?P<length>very-long|short|long)(?P<ordered>-ordered)?")
_SIZE = re.compile(r"--universe-size (\d+)")


def read_own(dataset: str, count: tuple[Callable[[str], int], str]) -> PaperBook:
    """Read a dataset.

    Args:
        dataset: A name on the Hub, or a folder. The report on the writing and the command on the card are read from a
            folder only.
        count: How the length of a text is counted, and what that counts.

    Raises:
        BadInput: The dataset does not exist or is not a Tulving book, or a file in its folder is damaged.
    """
    loaded = load_book(dataset)
    told = _told_by(loaded.book.title, dataset)
    chapters = [
        _chapter(row, f"{dataset}, config 'chapters', row {number}")
        for number, row in enumerate(all_checked_rows(dataset, "chapters", "test", _CHAPTER))
    ]
    every = all_checked_rows(dataset, "all_questions", "test", fields({"n_chapters": Whole}))
    n_answerable = sum(row["n_chapters"] > 0 for row in every)
    size, writing = _size(dataset), _writing(dataset)
    dropped = len(writing.dropped) if writing else 0
    rounds = writing.iterations if writing and writing.checker else []
    return PaperBook(
        label=told.name,
        name=told.name,
        source=told.source,
        length=told.length,
        universe=told.universe,
        order=told.order or _order_of(chapters),
        writer=told.writer,
        seed=told.seed,
        fingerprint=loaded.fingerprint,
        text=loaded.book.text,
        chapters=chapters,
        selected=[Asked(row["template"], row["cue"], row["bin"], row["chapters"]) for row in loaded.rows],
        n_answerable=n_answerable,
        n_empty=len(every) - n_answerable,
        tokens=count[0](loaded.book.text),
        tokenizer=count[1],
        n_events=len(chapters) + dropped if writing else None,
        universe_size=size,
        rounds=rounds,
        no_rounds="" if rounds else _why_no_rounds(told, dataset),
        coordinates=_coordinates(told, size, chapters),
    )


class _Writing(Struct, frozen=True):
    """What is read of the report on the writing."""

    writer: str
    iterations: list[Iteration]
    dropped: list[dict[str, Any]]
    checker: str = ""


@dataclass(frozen=True)
class _Told:
    """What the title of a book says."""

    name: str
    source: Source
    writer: str
    seed: int | None
    universe: str
    length: str
    order: Order | None


def _told_by(title: str, dataset: str) -> _Told:
    made, converted = _MADE.fullmatch(title), _CONVERTED.fullmatch(title)
    found = made or converted
    name = found["name"] if found else Path(dataset).name
    parts = _NAME.fullmatch(name) if found else None
    return _Told(
        name=name,
        source="released" if converted and not made else "own",
        writer=(found["writer"] or TemplateWriter.name) if found else "",
        seed=int(made["seed"]) if made else None,
        universe=(parts["universe"] or "default") if parts else "",
        length=parts["length"] if parts else "",
        order=("chronological" if parts["ordered"] else "narrative") if parts else None,
    )


def _chapter(row: dict[str, Any], where: str) -> Chapter:
    try:
        day = date.fromisoformat(row["date"])
    except ValueError:
        raise BadInput(
            f"{where}, field 'date': expected a date such as 2024-05-07, found {shown(row['date'])}"
        ) from None
    event = Event(day, row["location"], row["entity"], row["content"], row["detail"])
    secondary = tuple(row["secondary_entities"])
    return Chapter(row["chapter"], event, row["style"], row["n_paragraphs"], row["text"], secondary)


def _order_of(chapters: list[Chapter]) -> Order:
    """The order that the dates have, for a book whose name does not say it."""
    days = [chapter.event.time for chapter in chapters]
    return "chronological" if len(days) > 1 and days == sorted(days) else "narrative"


def _coordinates(told: _Told, size: int, chapters: Sequence[Chapter]) -> Mapping[str, Point]:
    """Those of our own universe, or for a published book those of well-known spaces."""
    if told.source == "released":
        return known_spaces(chapter.event.space for chapter in chapters)
    known = told.universe in universe_names() and told.seed is not None
    return load_universe(told.universe, size, told.seed or 0).coordinates if known else {}


def _size(dataset: str) -> int:
    """The size of the universe in the command on the card; the published size without one."""
    card = Path(dataset) / "README.md"
    found = _SIZE.search(card.read_text("utf-8", errors="replace")) if card.is_file() else None
    return int(found[1]) if found else PUBLISHED_SIZE


def _writing(dataset: str) -> _Writing | None:
    """The report on the writing; None if there is none."""
    path = Path(dataset) / "writing.json"
    return read_typed(path, _Writing) if path.is_file() else None


def _why_no_rounds(told: _Told, dataset: str) -> str:
    if told.source == "released":
        return "the checks of its candidates are in the archive, not in the dataset that was made from it"
    if told.writer == TemplateWriter.name:
        return "the template writer composes each chapter from its plan in one go, so there are no rounds to show"
    return f"{Path(dataset) / 'writing.json'} reports no rounds of a model"
