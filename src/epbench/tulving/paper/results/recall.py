"""F1 by the number of matching chapters, on every book (paper: Tables 3 and 13), and on several universes (Table 27)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.tulving.paper.lines import Line, by_book, is_plain, runs_among, size_of, universe_of
from epbench.tulving.paper.results.cells import bin_cells, bin_table

_TITLE = "Recall: mean and standard deviation of F1 by the number of events that match the cue"


def long_recall(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Table 3: a table for each book that is not a short one."""
    return _recall("Table 3", lines, short=False)


def short_recall(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Table 13: a table for each short book."""
    return _recall("Table 13", lines, short=True)


def _recall(name: str, lines: Sequence[Line], *, short: bool) -> list[Exhibit | Missing]:
    # Reported rows about a book by another writer stand in Table 20.
    published = [line for line in lines if line.run is not None or not line.writer]
    books = {book: each for book, each in by_book(published).items() if (size_of(book) == "short") == short}
    if not books:
        kind = "a short book" if short else "a book that is not a short one, such as long"
        return [Missing(name, _TITLE, f"runs on {kind}")]
    return [
        bin_table(name if len(books) == 1 else f"{name}, {book}", f"{_TITLE} ({book})", with_reported_once(each))
        for book, each in books.items()
    ]


def with_reported_once(lines: Sequence[Line]) -> list[Line]:
    """The lines that have F1 by bin; of reported rows that say the same, as a paper repeats its numbers, the first."""
    found: dict[object, Line] = {}
    for line in lines:
        if line.reported is None:
            found[id(line)] = line
            continue
        means = tuple(cell.mean for cell in bin_cells(line).values())
        if set(means) != {None}:
            about = line.reported.source, line.book, line.writer, line.memory, line.model, means
            found.setdefault(about, line)
    return list(found.values())


def diverse_books(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Table 27: readers of books of other universes, on these and on the books of the default universe."""
    title = "Recall on diverse books: mean and standard deviation of F1 by the number of events that match the cue"
    plain = [line for line in lines if is_plain(line.book)]
    readers = {_reader(line) for line in runs_among(plain) if universe_of(line.book) != "default"}
    if not readers:
        return [Missing("Table 27", title, "runs on books of other universes, such as news-short or scifi-long")]
    reported = {_reader(line) for line in plain if line.run is None and universe_of(line.book) != "default"}
    chosen = [
        line
        for line in with_reported_once(plain)
        if (_reader(line) in readers if line.run is not None else _reader(line) in reported and not line.writer)
    ]
    sizes = ("short", "long", "very-long")
    ordered = sorted(
        chosen,
        key=lambda line: (line.run is None, *_reader(line), sizes.index(size_of(line.book)), universe_of(line.book) != "default"),
    )  # fmt: skip
    note = (
        "Each universe has its own dates, spaces, entities, contents and questions, so that its books are not paired."
    )
    return [bin_table("Table 27", title, [_named_by_book(line) for line in ordered], [note])]


def _reader(line: Line) -> tuple[str, str, str]:
    return line.source, line.memory, line.model


def _named_by_book(line: Line) -> Line:
    """The line without its label: here the book tells runs of one reader apart."""
    return replace(line, label=line.book) if line.source == "own" else line
