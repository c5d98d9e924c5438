"""Every table and figure of the paper about Tulving books, in its order, and what goes beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Made, Missing
from epbench.runs.folder import read_run
from epbench.tulving.paper import book_tables, grouping, hallucinations, seeds
from epbench.tulving.paper.inputs import Inputs
from epbench.tulving.paper.results import make as of_results

if TYPE_CHECKING:
    from epbench.tulving.paper.books import PaperBook
    from epbench.tulving.paper.results.realism import Ratings

_ORDER = (
    "Table 2", "Figure 3", "Table 3", "Figure 4", "Table 4", "Table 6", "Table 7", "Table 8", "Figure 5", "Table 9",
    "Table 12", "Figure 6", "Figure 7", *(f"Table {number}" for number in range(13, 26)), "Figure 8", "E.8", "Table 26",
    "Table 27", "Table 28",
)  # fmt: skip
"""As they follow one another in the paper; everything else comes after them."""


def exhibits(
    inputs: Inputs,
    books: Sequence[PaperBook],
    *,
    realism: Ratings | None = None,
    by: Sequence[str] = (),
    entity: str | None = None,
) -> list[Made | Missing]:
    """Make the tables and figures.

    Args:
        inputs: The runs and the reported rows.
        books: The books.
        realism: How realistic the event of each chapter is, by the fingerprint of the book; None if nobody has said so. A
            chapter has None where the judge failed.
        by: The columns of questions.parquet to group the questions by; empty for none.
        entity: The person whose path Figure 6 shows; None for the one with the most events.
    """
    about_books = [row for row in inputs.reported if book_tables.is_about_books(row)]
    inputs = replace(inputs, reported=[row for row in inputs.reported if not book_tables.is_about_books(row)])
    found: list[Made | Missing] = [
        *of_results.exhibits(inputs, realism),
        *book_tables.exhibits(books, entity, reported=about_books),
    ]
    if inputs.runs:
        found += [*hallucinations.exhibits(inputs), *grouping.exhibits(inputs.runs, by), *seeds.exhibits(inputs)]
    places = {name: place for place, name in enumerate(_ORDER)}
    return sorted(found, key=lambda one: places.get(one.name.partition(",")[0], len(places)))


def datasets_of(inputs: Inputs) -> list[str]:
    """The datasets that own runs say they are on, each once."""
    names = [str(read_run(run.folder).get("dataset", "")) for run in inputs.runs if run.source == "own"]
    return [name for name in dict.fromkeys(names) if name]
