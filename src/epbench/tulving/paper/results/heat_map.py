"""F1 by single cue and bin as heat maps of all runs on a book (paper: Figure 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing
from epbench.reports.figures import INK
from epbench.reports.tables import Table
from epbench.tulving.paper.lines import Line, runs_among
from epbench.tulving.paper.results.cells import Cell, cell_of, leading_columns, notes_on
from epbench.tulving.paper.results.grid import cue_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_TITLE = "F1 by cue, for questions with no, one and two matching events"
_BINS = ("0", "1", "2")
_CUES = ("c", "e", "s", "t")  # from top to bottom, as in the paper
_NOTE = (
    "As in the published figure, only questions that give a single element and ask for all items count (get = all), in the "
    "bins 0, 1 and 2 of matching chapters. Runs are ordered by the mean of their cells, the highest first; nothing is clustered."
)

Cells = Mapping[tuple[str, str], Cell]
"""Cells by cue and bin."""


def heat_maps(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Figure 4: a figure for each book text, with a panel for each bin, a row for each cue and a column for each run."""
    texts: dict[tuple[str, str], list[tuple[Line, Cells]]] = {}
    for line in runs_among(lines):
        if cells := _cells(line):
            texts.setdefault((line.book, line.text), []).append((line, cells))
    if not texts:
        return [Missing("Figure 4", _TITLE, "runs that asked for all items with a single cue")]
    return [
        _figure("Figure 4" if len(texts) == 1 else f"Figure 4, {text}", f"{_TITLE} ({text})", sorted(each, key=_rank))
        for (_, text), each in texts.items()
    ]


def _cells(line: Line) -> Cells:
    asked = line.questions[line.questions["get"] == "all"]
    groups = {(cue, bin_): asked[(asked["cue"] == cue) & (asked["bin"] == bin_)] for cue in _CUES for bin_ in _BINS}
    return {key: cell_of(questions) for key, questions in groups.items() if len(questions)}


def _rank(row: tuple[Line, Cells]) -> float:
    """Minus the mean of the cells; a cell with lost questions counts with the middle of its range, for the order alone."""
    values = [
        cell.mean if cell.mean is not None else ((cell.low or 0.0) + (cell.high or 0.0)) / 2 for cell in row[1].values()
    ]
    return -sum(values) / len(values)


def _figure(name: str, title: str, rows: Sequence[tuple[Line, Cells]]) -> Exhibit:
    lines = [line for line, _ in rows]
    head, leading = leading_columns(lines)
    keys = [(cue, bin_) for bin_ in _BINS for cue in _CUES if any((cue, bin_) in cells for _, cells in rows)]
    titles = [f"{bin_}: {cue_text(cue)}" for cue, bin_ in keys]
    texts = [
        [*who, *(cells[key].text(with_n=True) if key in cells else "" for key in keys)]
        for who, (_, cells) in zip(leading, rows, strict=True)
    ]
    records = [
        {**line.columns(), "cue": cue, "bin": bin_, "score": "f1", **cells[cue, bin_].columns()}
        for line, cells in rows
        for cue, bin_ in keys
        if (cue, bin_) in cells
    ]
    used = [cell for _, cells in rows for cell in cells.values()]
    table = Table([*head, *titles], texts, notes=notes_on(lines, used, _NOTE), text_columns=len(head))
    return Exhibit(name, title, records, table, lambda: _draw(rows))


def _draw(rows: Sequence[tuple[Line, Cells]]) -> Figure:
    from matplotlib.figure import Figure

    bins = [bin_ for bin_ in _BINS if any((cue, bin_) in cells for _, cells in rows for cue in _CUES)]
    longest = max(len(line.who) for line, _ in rows)
    width = 1.4 + len(bins) * max(1.6, 0.42 * len(rows))
    figure = Figure(figsize=(width, 1.9 + 0.075 * longest), layout="constrained")
    panels = figure.subplots(1, len(bins), squeeze=False)[0]
    for panel, bin_ in zip(panels, bins, strict=True):
        _panel(panel, bin_, rows, first=bin_ == bins[0])
    return figure


def _panel(axes: Axes, bin_: str, rows: Sequence[tuple[Line, Cells]], *, first: bool) -> None:
    """One bin: grey is no question, a star is a range, whose middle gives the colour no number."""
    import numpy as np
    from matplotlib import colormaps

    means = [[cells.get((cue, bin_), Cell()).mean for _, cells in rows] for cue in _CUES]
    values = np.array([[np.nan if mean is None else mean for mean in row] for row in means], dtype=float)
    edges = [np.arange(n + 1) - 0.5 for n in (len(rows), len(_CUES))]  # the middle of a cell is at a whole number
    axes.pcolormesh(
        *edges, np.ma.masked_invalid(values), cmap=colormaps["viridis"].with_extremes(bad="#e0e0e0"), vmin=0, vmax=1,
        edgecolors="white",
    )  # fmt: skip
    for y, cue in enumerate(_CUES):
        for x, (_, cells) in enumerate(rows):
            cell = cells.get((cue, bin_), Cell())
            text = f"{cell.mean:.2f}" if cell.mean is not None else "*" if cell.lost else ""
            colour = "white" if cell.mean is not None and cell.mean < 0.6 else INK
            axes.text(x, y, text, ha="center", va="center", fontsize=7, color=colour)
    axes.set_xticks(range(len(rows)), [line.who for line, _ in rows], rotation=90, fontsize=8)
    axes.set_yticks(range(len(_CUES)), [cue_text(cue) for cue in _CUES] if first else [], fontsize=8)
    axes.set_title(f"{bin_} matching event{'' if bin_ == '1' else 's'}", fontsize=9)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
