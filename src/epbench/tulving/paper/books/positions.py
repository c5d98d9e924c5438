"""Figure 5: where chapters tell their facts, relative to the book, the chapter and the paragraph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.reports.figures import colour_of
from epbench.reports.tables import Table
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.chapters.exact_checks import facts_in_words, paragraphs_with, split_paragraphs
from epbench.tulving.chapters.report import QUANTILES, SPANS, Positions, fact_positions
from epbench.tulving.levels.plan import FACTS
from epbench.tulving.paper.books.book import PaperBook, identity_of, originals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLE = "Positions of the facts relative to the book, the chapter and the paragraph"
MOST_BOOKS = 4
"""Books in one figure, side by side; more of them take more figures."""

_LINES = ("-", "--", "-.", (0, (1, 1)))
FACT_NAMES = {"location": "space", "date": "time", "entity": "entity", "content": "detail"}


def positions_figures(books: Sequence[PaperBook]) -> list[Exhibit | Missing]:
    """Return Figure 5, in several parts if there are more than four books.

    As in the paper, a fact's position is the middle of its first occurrence, in any case. A book with a chapter that does
    not tell a fact word for word is left out, with a note.
    """
    books = originals(books)
    faults = {book.label + book.source: untold(book.chapters) for book in books}
    notes = [f"{book.marked} is left out: {fault}." for book in books if (fault := faults[book.label + book.source])]
    shown = [book for book in books if not faults[book.label + book.source]]
    if not shown:
        return [Missing("Figure 5", _TITLE, f"a book that tells every fact word for word {' '.join(notes)}".strip())]
    parts = [shown[start : start + MOST_BOOKS] for start in range(0, len(shown), MOST_BOOKS)]
    return [
        _figure("Figure 5" if len(parts) == 1 else f"Figure 5, part {number}", part, notes)
        for number, part in enumerate(parts, 1)
    ]


def untold(chapters: Sequence[Chapter]) -> str:
    """Name the first chapter that lacks a fact word for word within a paragraph, with the fact; "" if there is none."""
    for chapter in chapters:
        for fact, paragraphs in paragraphs_with(split_paragraphs(chapter.text), facts_in_words(chapter.event)).items():
            if not paragraphs:
                return f"chapter {chapter.number} does not tell its {FACT_NAMES[fact]} word for word in one paragraph"
    return ""


def _figure(name: str, books: Sequence[PaperBook], notes: Sequence[str]) -> Exhibit:
    import numpy as np

    positions = [fact_positions(book.chapters) for book in books]
    records: list[dict[str, Value]] = []
    rows = []
    for book, of in zip(books, positions, strict=True):
        for span in SPANS:
            for fact in FACTS:
                places = of[span][fact]
                records += [
                    {**identity_of(book), "span": span, "fact": FACT_NAMES[fact], "chapter": chapter.number}
                    | {"position": place}
                    for chapter, place in zip(book.chapters, places, strict=True)
                ]
                quantiles = [f"{np.quantile(places, q):.2f}" for q in QUANTILES]
                rows.append([book.marked, span, FACT_NAMES[fact], str(len(places)), *quantiles])
    about = [
        "A position is the middle of the first occurrence, in any case, divided by the length in characters: 0 is the "
        "beginning of the book, chapter or paragraph, 1 its end. The figure shows the share of chapters that have told a "
        "fact by a position; the dotted line is that of facts that are spread evenly.",
    ]
    head = ["book", "relative to", "fact", "chapters", *(f"{q:.0%} quantile" for q in QUANTILES)]
    table = Table(head, rows, notes=[*about, *notes], text_columns=3)
    return Exhibit(name, _TITLE, records, table, lambda: _draw(books, positions))


def _draw(books: Sequence[PaperBook], positions: Sequence[Positions]) -> Figure:
    """A column for each book, a row for each span."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(4.4, 2.9 * len(books)), 7.5), layout="constrained")
    grid = figure.subplots(len(SPANS), len(books), sharex=True, sharey=True, squeeze=False)
    for column, (book, of) in enumerate(zip(books, positions, strict=True)):
        for row, span in enumerate(SPANS):
            axes: Axes = grid[row][column]
            for number, fact in enumerate(FACTS):
                axes.ecdf(of[span][fact], color=colour_of(number), linestyle=_LINES[number], label=FACT_NAMES[fact])
            axes.plot([0, 1], [0, 1], color="#999", linewidth=0.8, linestyle=":")
            axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"position in the {span}")
            axes.spines[["top", "right"]].set_visible(False)
        grid[0][column].set_title(book.marked, fontsize=10)
    for row in range(len(SPANS)):
        grid[row][0].set_ylabel("share of chapters")
    figure.legend(*grid[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    return figure
