"""By book: Tables 11 and 12 with the gain over no memory, and Figures 6 and 7 (Appendix D.2 and D.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from epbench.booksort.paper.inputs import Inputs
from epbench.booksort.paper.results.cells import (
    EXTEND,
    SORT,
    Cell,
    Group,
    by_columns,
    cells,
    part_of,
    reported_in,
    reported_notes,
    reported_record,
    reported_text,
    shown,
    width_note,
    with_memory,
)
from epbench.booksort.paper.results.drawing import Line, draw_lines, finish, legend
from epbench.booksort.paper.results.gain import Gain, Key, gains
from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.reports.figures import new_figure
from epbench.reports.tables import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_SCORES = {SORT: "accuracy", EXTEND: "accuracy_extend"}
_INTERVAL = "±: half of the 95 % interval, by drawing excerpts."
_REPORTED = (
    "The reported values of one model hardly differ between books, and SORT-extend has values for a book that is shorter than "
    "its excerpts; they look like running means, so that they are no targets for single books."
)
_NO_GAIN = "No run with memory none and the same model on the same pairs was given, so that no difference is shown."


def table_11(inputs: Inputs) -> Exhibit | Missing:
    """In-context accuracy by book, part and length of segments, and its gain over the same model without memory."""
    name, title = "Table 11", "In-context accuracy by book, and what it gains over no memory (Tables 11 and 12)"
    runs = with_memory(inputs, "in-context")
    found = cells(runs, _parts)
    if not found:
        return Missing(name, title, "at least one run with memory in-context")
    gained = {run.label: gains(run, with_memory(inputs, "none"), _parts) for run in runs}
    reported = reported_in(inputs, "Table 11", "Table 12")
    columns = [
        (part, words)
        for part in (SORT, EXTEND)
        for words in sorted({_words(one) for one in found if one.group["part"] == part})
    ]
    some = any(gained.values())
    rows = _rows(found, gained, columns, some)
    n_own = len(rows)
    for theirs in reported:
        texts = [reported_text(theirs, f"{_SCORES[part]}_s{words}") for part, words in columns]
        dashes = ["–"] * len(columns) if some else []
        rows.append(
            [marked(theirs.model, "reported"), theirs.model, theirs.dataset.removeprefix("book "), *texts, *dashes]
        )
    records = [_record(one, gained[one.label].get(_key(one.group))) for one in found]
    for theirs in reported:
        book = int(theirs.dataset.removeprefix("book "))
        for part, words in ((part, words) for part in _SCORES for words in (20, 50)):
            group: Group = {"book_idx": book, "part": part, "segment_length": words}
            record = reported_record(theirs, f"{_SCORES[part]}_s{words}", group)
            if record["accuracy"] is not None:
                records.append({**record, **Gain.no_fields()})
    named = [f"{part}, {words} words" for part, words in columns]
    head = ["run", "model", "book", *named, *([f"gain: {column}" for column in named] if some else [])]
    notes = [_INTERVAL, *width_note(found), _gain_note(gained) if some else _NO_GAIN, *reported_notes(reported)]
    notes += [_REPORTED] if reported else []
    return Exhibit(name, title, records, Table(head, rows, notes=notes, text_columns=3, sections=[n_own - 1]))


def figure_6(inputs: Inputs) -> Exhibit | Missing:
    """Accuracy without memory by book."""
    return _by_book(inputs, "Figure 6", "Accuracy without memory by book", "none")


def figure_7(inputs: Inputs) -> Exhibit | Missing:
    """In-context accuracy by book."""
    return _by_book(inputs, "Figure 7", "In-context accuracy by book", "in-context")


def _by_book(inputs: Inputs, name: str, title: str, memory: str) -> Exhibit | Missing:
    found = cells(with_memory(inputs, memory), by_columns("book_idx"))
    if not found:
        return Missing(name, title, f"at least one run with memory {memory}")
    rows = [
        [*shown(one), str(one.group["book_idx"]), one.rate.text(), f"{one.rate.n:,}", f"{one.rate.n_failed:,}"]
        for one in found
    ]
    notes = [
        f"All lengths of excerpts and segments together. {_INTERVAL} The paper shows standard deviations instead.",
        *width_note(found),
    ]
    table = Table(["run", "model", "book", "accuracy", "n", "failed"], rows, notes=notes, text_columns=3)
    return Exhibit(name, title, [one.record() for one in found], table, lambda: _points(found))


def _points(found: Sequence[Cell]) -> Figure:
    """A point for each book and run; the runs stand beside one another at each book."""
    books = sorted({int(str(one.group["book_idx"])) for one in found})
    labels = list(dict.fromkeys(one.label for one in found))
    figure, axes = new_figure(max(5.0, 1.0 + 0.8 * len(books)), 3.8)
    lines = []
    for number, label in enumerate(labels):
        of_run = [one for one in found if one.label == label]
        shift = (number - (len(labels) - 1) / 2) * 0.7 / max(1, len(labels))
        places = [books.index(int(str(one.group["book_idx"]))) + shift for one in of_run]
        lines.append(Line(label, places, [one.rate for one in of_run], [None] * len(of_run)))
    draw_lines(axes, lines, joined=False)
    axes.set_xticks(range(len(books)), [str(book) for book in books], rotation=30)
    finish(axes, "book (number at Project Gutenberg, or of the set)")
    legend(figure)
    return figure


def _rows(
    found: Sequence[Cell],
    gained: dict[str, dict[Key, Gain]],
    columns: Sequence[tuple[str, int]],
    some: bool,
) -> list[list[str]]:
    """A row for each run and book."""
    of_row: dict[tuple[str, int], dict[Key, Cell]] = {}
    for one in found:
        of_row.setdefault((one.label, int(str(one.group["book_idx"]))), {})[_key(one.group)] = one
    rows = []
    for (label, book), row in of_row.items():
        keys: list[Key] = [(book, part, words) for part, words in columns]
        texts = [row[key].rate.text() if key in row else "–" for key in keys]
        differences = [gained[label][key].text() if key in gained[label] else "–" for key in keys] if some else []
        rows.append([*shown(next(iter(row.values()))), str(book), *texts, *differences])
    return rows


def _parts(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
    return by_columns("book_idx", "part", "segment_length")(questions.assign(part=part_of(questions["excerpt_length"])))


def _key(group: Group) -> Key:
    return group["book_idx"], group["part"], group["segment_length"]


def _words(one: Cell) -> int:
    return int(str(one.group["segment_length"]))


def _record(one: Cell, gain: Gain | None) -> dict[str, Value]:
    return {**one.record(), **(gain.fields() if gain else Gain.no_fields())}


def _gain_note(gained: dict[str, dict[Key, Gain]]) -> str:
    known = [gain for of_run in gained.values() for gain in of_run.values()]
    return (
        "Gain: in-context minus without memory, the same model on the same questions, with its 95 % interval by drawing "
        "excerpts. p: McNemar's exact test, two-sided, by Holm for all groups of a run. * p < .05, ** p < .01. "
        f"{Gain.power_note(known)}"
    )
