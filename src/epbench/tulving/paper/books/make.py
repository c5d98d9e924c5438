"""All tables and figures about books, in the order of the paper."""

from __future__ import annotations

from collections.abc import Sequence

from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.exhibits.reported import ReportedRow
from epbench.tulving.paper.books.book import PaperBook
from epbench.tulving.paper.books.characteristics import characteristics, overview
from epbench.tulving.paper.books.path import path_figures
from epbench.tulving.paper.books.positions import positions_figures
from epbench.tulving.paper.books.repetitions import REPEATS, actual_table, expected_table
from epbench.tulving.paper.books.widespreadness import widespreadness_table
from epbench.tulving.paper.books.writing import composition_table, rounds_table

WITH_REPORTED = ("Table 2", "Table 7", "Table 8", "Table 9", "Table 12", "Table 26")
"""The tables that have rows of papers."""


def is_about_books(row: ReportedRow) -> bool:
    """Whether a row of a paper is about a book and its writer, and not about a reader with a memory."""
    return not row.memory and row.table in WITH_REPORTED


def exhibits(
    books: Sequence[PaperBook],
    entity: str | None = None,
    *,
    reported: Sequence[ReportedRow] = (),
    repeats: int = REPEATS,
    seed: int = 0,
) -> list[Exhibit | Missing]:
    """Return Tables 2, 6, 7, 8, Figure 5, Tables 9, 12, Figure 6, Tables 26 and 28.

    Args:
        books: The books; without any, Table 6 is still made.
        entity: Whose path Figure 6 shows; None for the person with the most events in each book.
        reported: Numbers of papers that stand beside those of books, such as those in `data/reported_books.json`; rows
            that are about something else do no harm.
        repeats: The number of repetitions of the draws in Tables 6 and 9, at least 2; the paper has 10,000.
        seed: The seed of these draws.

    Raises:
        BadInput: No book tells of this person.
    """
    main, others = characteristics(books, reported)
    return [
        main,
        expected_table(books, repeats=repeats, seed=seed),
        rounds_table(books, reported),
        composition_table(books, reported),
        *positions_figures(books),
        actual_table(books, reported, repeats=repeats, seed=seed),
        widespreadness_table(books, reported),
        *path_figures(books, entity),
        others,
        overview(books),
    ]
