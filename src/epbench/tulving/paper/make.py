"""Every table and figure of the paper about Tulving books, in its order, and what goes beyond it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from epbench.reports.exhibit import Made, slug
from epbench.runs.folder import read_run
from epbench.tulving.paper import book_chapters, book_tables, contrasts, groups, inventions, recall
from epbench.tulving.paper.books import PaperBook, originals
from epbench.tulving.paper.inputs import Inputs, lines_of, runs_among

# As they follow one another in the paper; everything else comes after them
_ORDER = "Table 2, Figure 3, Table 3, Figure 4, Table 4, Table 6, Table 7, Table 8, Figure 5, Table 9".split(", ")
_ORDER += ["Table 12", "Figure 6", "Figure 7", "B.4", *(f"Table {number}" for number in range(13, 24)), "E.7"]
_ORDER += "Table 24, Table 25, E.8, Invented items, Figure 8, Appendix F, Table 26, Table 27, Table 28".split(", ")
_OF_LINES = (
    *(contrasts.ranks, contrasts.books_by_writer, contrasts.books_by_order, contrasts.estimation_plots),
    *(recall.by_bin, recall.by_kind, recall.diverse_books, recall.heat_maps, recall.order_tables),
)
_OF_ORIGINALS = (
    *(book_tables.MAIN_BOOKS, book_chapters.ROUNDS, book_chapters.COMPOSITION),
    *(book_tables.REPETITIONS, book_tables.WIDESPREADNESS, book_tables.OTHER_BOOKS),
)
_OF_ALL_BOOKS = (book_tables.EXPECTED, book_tables.OVERVIEW)


def exhibits(
    inputs: Inputs,
    books: Sequence[PaperBook],
    *,
    realism: contrasts.Ratings | None = None,
    by: Sequence[str] = (),
    entity: str | None = None,
) -> list[Made]:
    """Make the tables and figures of runs, reported rows and books.

    `realism` has the ratings by the fingerprint of the book; `by` has the columns of questions.parquet to group questions by,
    and `entity` is the person whose path Figure 6 shows. BadInput if a column cannot be used or a person is in no book.
    """
    tables = {"E.7", *(table.name for table in (*_OF_ORIGINALS, *_OF_ALL_BOOKS))}
    about_books = [row for row in inputs.reported if not row.memory and row.table in tables]  # and not about a reader
    lines = lines_of(replace(inputs, reported=[row for row in inputs.reported if row not in about_books]))
    told = originals(books)  # one that only orders the chapters of another one by date stands in Tables 6 and 28 alone
    found: list[Made] = [
        *(one for of_lines in _OF_LINES for one in of_lines(lines)),
        *contrasts.by_realism(lines, realism),
        *(table.make(told, about_books) for table in _OF_ORIGINALS),
        *(table.make(books, about_books) for table in _OF_ALL_BOOKS),
        book_tables.distribution(realism or {}).make(told, about_books),
        *book_chapters.positions_figures(told),
        *book_chapters.path_figures(told, entity),
    ]
    if runs := runs_among(lines):
        found += [*inventions.hallucinations(lines), *([groups.grouped(runs, by)] if by else [])]
        found += [inventions.sources(lines, books), inventions.partial_verdicts(lines), inventions.dialogues(lines)]
        found += [groups.harsh(runs), groups.seeds(runs)]
    places = {name: place for place, name in enumerate(_ORDER)}
    counts = Counter[str]()
    for at, one in enumerate(found):  # those of books `a b` and `a-b` would have one file
        counts[slug(one.name)] += 1
        if (n := counts[slug(one.name)]) > 1:
            found[at] = replace(one, name=f"{one.name}, {n}")
    return sorted(found, key=lambda one: places.get(one.name.partition(",")[0], len(places)))


def datasets_of(inputs: Inputs) -> list[str]:
    """The datasets that own runs say they are on, each once."""
    names = [str(read_run(run.folder).get("dataset", "")) for run in inputs.runs if run.source == "own"]
    return [name for name in dict.fromkeys(names) if name]
