"""The books that tables and figures are about: datasets of one's own, and the books of a published archive."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from epbench.errors import BadInput
from epbench.files.json_files import read_typed
from epbench.files.text import shown
from epbench.files.typed import Whole, fields
from epbench.hub.rows import all_checked_rows
from epbench.models.estimate import CL100K, cl100k_tokens
from epbench.reports.exhibit import Column, Exhibit, Made, Missing, Source, marked, of_source
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import Value, framed
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.chapters.loop import Iteration
from epbench.tulving.chapters.template_writer import TemplateWriter
from epbench.tulving.dataset.build import Order
from epbench.tulving.dataset.load import fingerprint_of_book, load_book
from epbench.tulving.events.new_york import Point, known_spaces
from epbench.tulving.events.universe import PUBLISHED_SIZE, Event, load_universe
from epbench.tulving.events.universe_files import universe_names
from epbench.tulving.questions.generate import Bin
from epbench.tulving.released.archive import Archive, ReleasedBook, open_archive
from epbench.tulving.released.books import n_published_events, published_rounds, read_book


class Asked(NamedTuple):
    """What the tables need of a selected question: its template's number, from 0, the letters of its cue, and its bin."""

    template: int
    cue: str
    bin: Bin


@dataclass(frozen=True)
class PaperBook:
    """A book: what its dataset or the archive says of it, its chapters, and the questions about them."""

    name: str  # the name of the dataset, such as `long` or `news-short`
    source: Source  # `own`, or `released` for a published book
    length: str  # `short`, `long` or `very-long`; empty if neither the title nor the archive says so
    universe: str  # empty if unknown; that of a published book is the paper's, even where ours has the same name
    order: Order  # `narrative`, or `chronological` for chapters sorted by date
    writer: str  # `template`, or who else wrote the chapters
    seed: int | None  # of its draws; None if unknown
    fingerprint: str  # that of runs on it; see `epbench.tulving.dataset.load`
    chapters: Sequence[Chapter] = field(repr=False)
    selected: Sequence[Asked] = field(repr=False)  # the questions that are asked
    n_answerable: int  # the number of all questions with an answer, before the selection
    n_empty: int  # the number of all questions without one
    tokens: int  # the length of the text in tokens, or in words
    tokenizer: str  # what `tokens` counts: `cl100k_base`, or `words` where that encoding is not at hand
    n_events: int | None  # the events that were to be told, with those without a chapter; None if unknown
    rounds: Sequence[Iteration]  # in which a model wrote it; empty if there were none, or if they are unknown
    no_rounds: str  # why `rounds` is empty
    coordinates: Mapping[str, Point] = field(repr=False)  # latitude and longitude of known spaces
    universe_size: int = PUBLISHED_SIZE  # the number of times, of spaces, of entities and of contents in its universe
    label: str = ""  # how tables name it: its name, with its writer or its path where two have one name

    @property
    def marked(self) -> str:
        return marked(self.label, self.source)

    @property
    def identity(self) -> Record:
        """The columns that say which book a row of a frame is about."""
        who: Record = {"source": self.source, "label": self.label, "book": self.name, "universe": self.universe or None}
        who |= {"order": self.order, "writer": self.writer or None, "seed": self.seed}
        return who | {"fingerprint": self.fingerprint}


def originals(books: Sequence[PaperBook]) -> list[PaperBook]:
    """Return the books without those that only put the chapters of another one of them in the order of their dates."""
    texts = [(book, frozenset(chapter.text for chapter in book.chapters)) for book in books]
    told = {text for book, text in texts if book.order == "narrative"}
    return [book for book, text in texts if book.order == "narrative" or text not in told]


Books = Sequence[PaperBook]
Record = dict[str, Value]
Given = Callable[[ReportedRow], Iterable[Record]]  # none from a row without a score that belongs there
BOOK, WRITER = Column("book", of_source(), text=True), Column("writer", "writer", text=True)


@dataclass(frozen=True)
class BookTable:
    """How a table about books is declared: what it is made of, how people see it, and what stands below."""

    name: str
    title: str
    columns: Sequence[Column]
    own: Callable[[Books], Iterable[Record]]  # the rows of the frame about books; without any, the table is missing
    given: Given
    notes: Callable[[Books], Sequence[str]]
    needs: Callable[[Books], str] = lambda _: "books"  # what is missing if there are no rows
    shows: Callable[[PaperBook], bool] = lambda _: True  # which books it is about
    arranged: Callable[[list[Record]], list[Record]] = list  # all rows, in the order of the table
    across: str = ""
    sections: str = ""

    def make(self, books: Books, reported: Sequence[ReportedRow]) -> Made:
        """Make it; its last notes say where the reported rows are from, with the notes of these rows."""
        books = [book for book in books if self.shows(book)]
        rows = list(self.own(books))
        if not rows:
            return Missing(self.name, self.title, self.needs(books))
        theirs = [(row, found) for row in reported if row.table == self.name and (found := list(self.given(row)))]
        frame = framed(self.arranged([*rows, *(record for _, found in theirs for record in found)]))
        notes = [*self.notes(books)]
        notes += [f"(reported): {source}." for source in sorted({f"{row.source}, {row.table}" for row, _ in theirs})]
        notes += [f"{marked(row.dataset, 'reported')}: {row.note}" for row, _ in theirs if row.note]
        return Exhibit(self.name, self.title, frame, self.columns, notes, across=self.across, sections=self.sections)


def identity_of(row: ReportedRow) -> Record:
    """What says which book a row is about, as `PaperBook.identity`; the paper names the book and its writer only."""
    return {"source": "reported", "label": row.dataset, "book": row.dataset, "writer": row.model}


def in_one_row(scores: Iterable[str], **more: Value) -> Given:
    """What gives one record with these scores as columns."""
    known = dict.fromkeys(scores)
    return lambda row: (
        [identity_of(row) | {name: row.scores.get(name) for name in known} | more]
        if known.keys() & row.scores.keys()
        else []
    )


def of_cells(names: Sequence[str], cells: Iterable[tuple[str, ...]], *columns: str) -> Given:
    """What gives a record for each cell of a row, whose score is named by the cell, such as `time.3-5`."""
    known = {".".join(cell): dict(zip(names, cell, strict=True)) for cell in cells}
    return lambda row: [
        {**identity_of(row), **cell, **dict.fromkeys(columns, row.scores.get(name))}
        for name, cell in known.items()
        if known.keys() & row.scores.keys()
    ]


def read_books(datasets: Sequence[str] = (), archive: Path | None = None) -> list[PaperBook]:
    """Read books: datasets in their order, and those of an archive; the report and the card are read from folders only.

    Writers and seeds tell books of one label apart, or else what the user gave. BadInput if a dataset is given twice or is not
    a Tulving book, a file is damaged, or the archive holds no published book.
    """
    if twice := next((name for name in datasets if list(datasets).count(name) > 1), None):
        raise BadInput(f"the dataset {twice} is given twice")
    opened = open_archive(archive) if archive else None
    books = [_own(name) for name in datasets]
    books += [_published(opened, book) for book in opened.books] if opened else []
    given = [*datasets, *(f"{book.name}, fingerprint {book.fingerprint}" for book in books[len(datasets) :])]
    choices = []
    for book, last in zip(books, given, strict=True):
        by, seed = f"{book.name} by {book.writer}", f", seed {book.seed}"
        choices.append((book, [book.name, by, book.name + seed, by + seed, last]))
    taken = Counter((book.source, label) for book, of in choices for label in {*of})
    return [
        replace(book, label=next((label for label in of if taken[book.source, label] == 1), of[-1]))
        for book, of in choices
    ]


@cache
def length_counter() -> tuple[Callable[[str], int], str]:
    """How the length of a text is counted, and the name of what is counted: tokens where their encoding is at hand."""
    try:
        return cl100k_tokens(), CL100K
    except BadInput:
        return lambda text: len(text.split()), "words"


def _counts(text: str, n_chapters: Sequence[int]) -> dict[str, Any]:
    (count, unit), n_empty = length_counter(), n_chapters.count(0)
    return {"tokens": count(text), "tokenizer": unit, "n_answerable": len(n_chapters) - n_empty, "n_empty": n_empty}


def _published(archive: Archive, book: ReleasedBook) -> PaperBook:
    data, rounds = read_book(archive, book), published_rounds(archive.files, book)
    seed, text = re.search(r"_seed(\d+)$", book.root), data.book()
    return PaperBook(
        *(book.name, "released", book.book, book.universe, book.order, book.generator, int(seed[1]) if seed else None),
        fingerprint=fingerprint_of_book([question._asdict() for question in data.selected], text),
        chapters=data.chapters,
        selected=[Asked(q.template, q.cue, q.bin) for q in data.selected],
        n_events=n_published_events(archive.files, book),
        rounds=rounds,
        no_rounds="" if rounds else "the archive does not hold the checks of its candidates",
        coordinates=known_spaces(chapter.event.space for chapter in data.chapters),
        **_counts(text, [question.n_chapters for question in data.questions]),
    )


_PARTS = ("location", "entity", "content", "detail")
_CHAPTER = fields(
    dict.fromkeys(("date", *_PARTS, "style", "text"), str)
    | {"chapter": Whole, "n_paragraphs": Whole, "secondary_entities": list[str]}
)


class _Writing(Struct, frozen=True):
    writer: str
    iterations: list[Iteration]
    dropped: list[dict[str, Any]]
    checker: str = ""


_MADE = re.compile(r"The days of (?P<name>.+?), seed (?P<seed>-?\d+)(?:, written by (?P<writer>.+))?")
_CONVERTED = re.compile(r"(?P<name>.+?), as published, by (?P<writer>.+)")
_NAME = re.compile(r"(?:(?P<universe>.+?)-)??(?P<length>very-long|short|long)(?P<ordered>-ordered)?")


def _own(dataset: str) -> PaperBook:
    loaded = load_book(dataset)
    made, converted = (pattern.fullmatch(loaded.book.title) for pattern in (_MADE, _CONVERTED))
    found, seed = made or converted, int(made["seed"]) if made else None
    name, writer = (found["name"], found["writer"] or TemplateWriter.name) if found else (Path(dataset).name, "")
    parts = _NAME.fullmatch(name) if found else None
    universe = (parts["universe"] or "default") if parts else ""
    rows, where = all_checked_rows(dataset, "chapters", "test", _CHAPTER), f"{dataset}, config 'chapters', row"
    chapters = [_chapter(row, f"{where} {number}, field 'date'") for number, row in enumerate(rows)]
    days = [chapter.event.time for chapter in chapters]
    ordered = bool(parts["ordered"]) if parts else len(days) > 1 and days == sorted(days)
    every = all_checked_rows(dataset, "all_questions", "test", fields({"n_chapters": Whole}))
    report, card = Path(dataset) / "writing.json", Path(dataset) / "README.md"
    writing = read_typed(report, _Writing) if report.is_file() else None
    rounds = writing.iterations if writing and writing.checker else []
    no_rounds = f"{report} reports no rounds of a model"
    if writer == TemplateWriter.name:
        no_rounds = "the template writer composes each chapter from its plan in one go, so there are no rounds to show"
    sized = re.search(r"--universe-size (\d+)", card.read_text("utf-8", errors="replace")) if card.is_file() else None
    size = int(sized[1]) if sized else PUBLISHED_SIZE
    coordinates: Mapping[str, Point] = {}
    if converted and not made:
        no_rounds = "the checks of its candidates are in the archive, not in the dataset that was made from it"
        coordinates = known_spaces(chapter.event.space for chapter in chapters)
    elif universe in universe_names() and seed is not None:
        coordinates = load_universe(universe, size, seed).coordinates
    return PaperBook(
        *(name, "released" if converted and not made else "own", parts["length"] if parts else "", universe),
        *("chronological" if ordered else "narrative", writer, seed),
        fingerprint=loaded.fingerprint,
        chapters=chapters,
        selected=[Asked(row["template"], row["cue"], row["bin"]) for row in loaded.rows],
        n_events=len(chapters) + len(writing.dropped) if writing else None,
        universe_size=size,
        rounds=rounds,
        no_rounds="" if rounds else no_rounds,
        coordinates=coordinates,
        **_counts(loaded.book.text, [row["n_chapters"] for row in every]),
    )


def _chapter(row: dict[str, Any], where: str) -> Chapter:
    try:
        day = date.fromisoformat(row["date"])
    except ValueError:
        raise BadInput(f"{where}: expected a date such as 2024-05-07, found {shown(row['date'])}") from None
    event, secondary = Event(day, *(row[part] for part in _PARTS)), tuple(row["secondary_entities"])
    return Chapter(row["chapter"], event, row["style"], row["n_paragraphs"], row["text"], secondary)
