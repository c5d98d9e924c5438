"""The latest state of an entity, and its states in chronological order (paper: Table 4)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.reports.tables import Table
from epbench.tulving.paper.lines import Line, by_book, runs_among
from epbench.tulving.paper.results.cells import Cell, cell_of, leading_columns, notes_on, reported_cell

if TYPE_CHECKING:
    import pandas as pd

_TITLE = "The latest state of an entity, and all its states in chronological order"
_SCORES = {
    "latest": "latest",
    "all_matched": "all",
    "kendall_tau": "Kendall τ",
    "chronological_awareness": "chronological awareness",
}
"""The scores by their names in scores.json, with the titles of their columns."""

_COUNTED = (
    "Latest: mean F1 of the questions with get = latest about two or more chapters; so are the published numbers, which the "
    "paper calls the share of answers that match. All: of the questions with get = chronological and two or more different "
    "true items, the share whose true items were all found. τ: its mean over these alone, whose number is its n. "
    "Chronological awareness: the mean of latest and of all · τ, which is 0 where it would be negative."
)

Row = tuple[Line, dict[str, Cell]]


def order_tables(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Table 4: a table for each book, the readers with the highest chronological awareness first."""
    # A run that was limited to a few questions may have none of these.
    found = {book: _rows(each) for book, each in by_book(lines).items()}
    found = {book: rows for book, rows in found.items() if runs_among(line for line, _ in rows)}
    if not found:
        return [Missing("Table 4", _TITLE, "runs that asked for the latest state and for the chronological order")]
    return [
        _table("Table 4" if len(found) == 1 else f"Table 4, {book}", f"{_TITLE} ({book})", rows)
        for book, rows in found.items()
    ]


def _rows(lines: Sequence[Line]) -> list[Row]:
    rows = [(line, _cells(line)) for line in lines]
    shown = [(line, cells) for line, cells in rows if cells["latest"].n != 0 or cells["all_matched"].n != 0]
    return sorted(shown, key=lambda row: -_rank(row[1]))


def _rank(cells: dict[str, Cell]) -> float:
    """Chronological awareness; -1 where it is a range, so that these rows come last."""
    latest, all_, tau = (cells[name].mean for name in ("latest", "all_matched", "kendall_tau"))
    if latest is None or all_ is None:
        return -1.0
    return (latest + max(0.0, all_ * (tau or 0.0))) / 2


def _cells(line: Line) -> dict[str, Cell]:
    if line.run is None:
        return {name: reported_cell(line, name) for name in _SCORES}
    asked, scores = line.questions, line.run.scores
    latest = asked[(asked["get"] == "latest") & (asked["n_chapters"] >= 2)]
    ordered = asked[(asked["get"] == "chronological") & asked["reference"].map(lambda items: len(set(items)) >= 2)]
    found = ordered.assign(found=ordered["tau"].notna().astype(float))
    return {
        "latest": cell_of(latest),
        "all_matched": _without_deviation(cell_of(found, "found")),
        "kendall_tau": _tau(ordered, scores.get("incomplete", {}).get("kendall_tau")),
        "chronological_awareness": _awareness(scores, [*latest["outcome"], *ordered["outcome"]]),
    }


def _without_deviation(cell: Cell) -> Cell:
    """A share has no deviation of interest."""
    return Cell(cell.n, cell.lost, cell.mean, None, cell.low, cell.high)


def _tau(ordered: pd.DataFrame, bounds: Sequence[float] | None) -> Cell:
    """Kendall's tau of the questions whose true items were all found; its bounds also know the lost ones."""
    taus, lost = [float(tau) for tau in ordered["tau"].dropna()], int((ordered["outcome"] == "failed").sum())
    if lost:
        low, high = bounds or (None, None)
        return Cell(len(taus) + lost, lost, low=low, high=high)
    mean = math.fsum(taus) / len(taus) if taus else None
    return Cell(len(taus), 0, mean, statistics.stdev(taus) if len(taus) > 1 else None)


def _awareness(scores: Mapping[str, Any], outcomes: Sequence[str]) -> Cell:
    """Chronological awareness as in scores.json, which has no deviation."""
    n, lost, name = len(outcomes), outcomes.count("failed"), "chronological_awareness"
    if bounds := scores.get("incomplete", {}).get(name):
        return Cell(n, lost, low=bounds[0], high=bounds[1])
    return Cell(n, lost, scores[name]) if scores.get(name) is not None else Cell()


def _table(name: str, title: str, rows: Sequence[Row]) -> Exhibit:
    lines = [line for line, _ in rows]
    head, leading = leading_columns(lines)
    records = [
        {**line.columns(), "score": score, **cells[score].columns()}
        for line, cells in rows
        for score in _SCORES
        if cells[score].n != 0 or cells[score].mean is not None
    ]
    texts = [[_text(score, cells[score]) for score in _SCORES] for _, cells in rows]
    cells = [cell for _, each in rows for cell in each.values()]
    table = Table(
        [*head, *_SCORES.values()],
        [[*who, *shown] for who, shown in zip(leading, texts, strict=True)],
        notes=notes_on(lines, cells, _COUNTED),
        text_columns=len(head),
    )
    return Exhibit(name, title, records, table)


def _text(score: str, cell: Cell) -> str:
    if score in ("latest", "all_matched"):
        if cell.mean is not None:
            return f"{cell.mean:.0%} ({cell.n})" if cell.n else f"{cell.mean:.0%}"
        return cell.text()
    if score == "kendall_tau" and cell.mean is not None and cell.n:
        return f"{cell.mean:.2f} ({cell.n})"
    return cell.text() if score != "chronological_awareness" or cell.mean is None else f"{cell.mean:.3f}"
