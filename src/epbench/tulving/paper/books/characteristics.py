"""Tables 2, 26 and 28: how long each book is, what it tells, how many questions are asked about it, and what it is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from epbench.exhibits.exhibit import Exhibit, Missing, Source, Value, marked
from epbench.exhibits.reported import ReportedRow
from epbench.models.estimate import CL100K
from epbench.reports.tables import Table, cell
from epbench.tulving.paper.books.book import (
    PaperBook,
    identity_of,
    originals,
    reported_identity,
    reported_notes,
    rows_of,
)
from epbench.tulving.questions.generate import BINS

MAIN_UNIVERSE = "default"

_TITLES = {
    "Table 2": "Characteristics of the main books",
    "Table 26": "Characteristics of the books from other universes",
    "Table 28": "All books, and the tables in which they are used",
}
_HEAD = (
    "book", "writer", "events", "chapters", "length", "dates", "spaces", "entities", "contents", "first day", "last day",
    "questions", *(f"about {bin_}" for bin_ in BINS),
)  # fmt: skip


def characteristics(books: Sequence[PaperBook], reported: Sequence[ReportedRow] = ()) -> list[Exhibit | Missing]:
    """Return Table 2 and Table 26.

    The first has the books from the default universe in the order in which they were drawn, the second those from other
    universes.
    """
    told = originals(books)
    main = [book for book in told if book.universe == MAIN_UNIVERSE]
    others = [book for book in told if book.universe != MAIN_UNIVERSE]
    return [
        _table("Table 2", main, reported, "a book from the default universe"),
        _table("Table 26", others, reported, "a book from another universe, such as news or scifi"),
    ]


def _table(name: str, books: Sequence[PaperBook], reported: Sequence[ReportedRow], needs: str) -> Exhibit | Missing:
    if not books:
        return Missing(name, _TITLES[name], needs)
    theirs = rows_of(name, reported, _COUNTED)
    records = [*map(_record, books), *map(_reported_record, theirs)]
    rows = [_cells(record) for record in records]
    notes = [
        "“About 0, 1, …” counts the selected questions by the number of chapters that match their cue. There are fewer "
        "chapters than events where no candidate for an event passed the checks.",
        *_unknown_events(books),
        *_lengths_note(books),
        *reported_notes(theirs),
    ]
    return Exhibit(name, _TITLES[name], records, Table(list(_HEAD), rows, notes=notes, text_columns=2))


def _record(book: PaperBook) -> dict[str, Value]:
    events = [chapter.event for chapter in book.chapters]
    bins = Counter(question.bin for question in book.selected)
    return {
        **identity_of(book),
        "n_events": book.n_events,
        "n_chapters": len(events),
        "length": book.tokens,
        "length_unit": book.tokenizer,
        "n_times": len({event.time for event in events}),
        "n_spaces": len({event.space for event in events}),
        "n_entities": len({event.entity for event in events}),
        "n_contents": len({event.content for event in events}),
        "first_day": min(event.time for event in events).isoformat(),
        "last_day": max(event.time for event in events).isoformat(),
        "n_answerable": book.n_answerable,
        "n_empty": book.n_empty,
        "n_selected": len(book.selected),
        **{f"selected_{bin_}": bins[bin_] for bin_ in BINS},
    }


def _reported_record(row: ReportedRow) -> dict[str, Value]:
    """The same columns for a row of the paper; None for what it does not give."""
    given = {column: row.scores.get(column) for column in _COUNTED}
    return {**reported_identity(row), **dict.fromkeys(_COLUMNS), **given, "length_unit": CL100K}


_COUNTED = (
    "n_events", "n_chapters", "length", "n_times", "n_spaces", "n_entities", "n_contents", "n_selected",
    *(f"selected_{bin_}" for bin_ in BINS),
)  # fmt: skip
_COLUMNS = (
    *_COUNTED[:3], "length_unit", *_COUNTED[3:7], "first_day", "last_day", "n_answerable", "n_empty", *_COUNTED[7:],
)  # fmt: skip


def _cells(record: Mapping[str, Value]) -> list[str]:
    before, after = ("writer", "n_events", "n_chapters"), (*_COUNTED[3:7], "first_day", "last_day", *_COUNTED[7:])
    source = cast(Source, record["source"])
    shown = [[cell(record[column]) for column in columns] for columns in (before, after)]
    return [marked(str(record["label"]), source), *shown[0], length_cell(record), *shown[1]]


def length_cell(record: Mapping[str, Value]) -> str:
    """The length with its unit: `102,870 tokens`."""
    length = record["length"]
    unit = "words" if record["length_unit"] == "words" else "tokens"
    return "–" if length is None else f"{length:,} {unit}"


def _lengths_note(books: Sequence[PaperBook]) -> list[str]:
    """A sentence about the unit of lengths."""
    if any(book.tokenizer == "words" for book in books):
        return [
            "Lengths of books given here are in words, since the encoding cl100k_base, in which the paper counts tokens, is "
            "not at hand.",
        ]
    return ["Lengths are in tokens of the encoding cl100k_base."]


def _unknown_events(books: Sequence[PaperBook]) -> list[str]:
    """A sentence about the books for which no report says how many events they were to tell."""
    unknown = [book.marked for book in books if book.n_events is None]
    if not unknown:
        return []
    return [f"No report on the writing says how many events were drawn for {', '.join(unknown)}."]


def overview(books: Sequence[PaperBook]) -> Exhibit | Missing:
    """Return Table 28: every book with its variation, and the tables of the paper that are made from it."""
    if not books:
        return Missing("Table 28", _TITLES["Table 28"], "books")
    records: list[dict[str, Value]] = []
    rows = []
    for book in books:
        kind, used = use_of(book, books)
        records.append(
            identity_of(book)
            | {"size": book.length or None, "n_chapters": len(book.chapters)}
            | {"length": book.tokens, "length_unit": book.tokenizer, "use": kind, "used_in": used or None}
        )
        variation = "chronological" if book.order == "chronological" else "–"
        about = [book.marked, book.universe or "–", book.length or "–", book.writer or "–", variation]
        rows.append([*about, kind, used or "–", str(len(book.chapters)), length_cell(records[-1])])
    head = ["book", "universe", "size", "writer", "order", "use", "made from it", "chapters", "length"]
    notes = ["Tables and figures are those of the paper; all books also have a row in the tables on books themselves."]
    table = Table(head, rows, notes=[*notes, *_lengths_note(books)], text_columns=7)
    return Exhibit("Table 28", _TITLES["Table 28"], records, table)


def use_of(book: PaperBook, books: Sequence[PaperBook]) -> tuple[str, str]:
    """Say what a book is for, and which tables of the paper compare it.

    Args:
        book: The book.
        books: All of them. The first of its universe, length and order is the main one; a later one by another writer is
            there for the comparison of writers, and one of another seed for the spread over seeds.
    """
    if book.order == "chronological":
        return "ablation: order", "Tables 22 and 23"
    if book.universe != MAIN_UNIVERSE:
        return "ablation: universe", "Table 27" if book.length in ("short", "long") else ""
    alike = [one for one in books if (one.universe, one.length, one.order) == (book.universe, book.length, book.order)]
    same_source = [one for one in alike if one.source == book.source]
    if same_source[0].writer != book.writer:
        return "ablation: writer", "Tables 20 and 21"
    if same_source[0].seed != book.seed:
        return "another seed", ""
    used = {
        "short": "Tables 13 and 17, Figure 7",
        "long": "Tables 3, 4, 14 to 16, 18, 19, 24 and 25, Figures 3, 4 and 8",
    }
    return "main", used.get(book.length, "")
