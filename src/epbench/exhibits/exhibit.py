"""A table or a figure of a paper, made from runs, or the reason why it could not be made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from epbench.reports import exhibit as declared
from epbench.reports.tables import Table
from epbench.statistics.estimate import Value as Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Source = Literal["own", "released", "reported"]
"""Where a row comes from: a run of the user, a run whose answers were released, or a number in a paper."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table or a figure.

    Attributes:
        name: The name in the paper, such as `Table 3` or `Figure 7`; parts have more words, such as `Table 14, chunks`.
        title: What it shows, in a sentence without a point at its end.
        records: The numbers as data, for CSV: the same keys in each record, in the order of the columns. A mean, its
            deviation and its count are columns of their own, and `source` says where a row comes from.
        table: The same for people, with notes that name the test, its correction and the smallest difference that so
            many questions can show, where something is compared.
        draw: Draws it, within `epbench.reports.figures.drawing`; None draws the table itself.
    """

    name: str
    title: str
    records: Sequence[Mapping[str, Value]]
    table: Table
    draw: Callable[[], Figure] | None = None


Made = Exhibit | declared.Exhibit
"""An exhibit whose table was written by hand, or one that is declared."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A table or a figure that could not be made.

    Attributes:
        name: The name in the paper.
        title: What it would show.
        needs: Which runs or data it needs that were not given, such as "runs with memory rag-chapter on the same book".
    """

    name: str
    title: str
    needs: str


def slug(name: str) -> str:
    """The name of an exhibit's files: `Table 3` is `table-03`, `Table 14, chunks` is `table-14-chunks`."""
    padded = re.sub(r"\b\d+", lambda number: number[0].zfill(2), name.lower())
    return re.sub(r"[^\w]+", "-", padded).strip("-")


def marked(label: str, source: Source) -> str:
    """A label for a cell, with a mark unless the row is one's own: `gpt-4o (released)`."""
    return label if source == "own" else f"{label} ({source})"


def with_deviation(mean: float | None, deviation: float | None, digits: int = 2) -> str:
    """A mean and its standard deviation as the text of a cell, such as `0.83 ± 0.21`; a dash without a mean."""
    if mean is None:
        return "–"
    return f"{mean:.{digits}f}" if deviation is None else f"{mean:.{digits}f} ± {deviation:.{digits}f}"
