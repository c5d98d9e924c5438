"""How the figures about answers are drawn: lines by distance, points by book, and several panels beside one another."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.booksort.paper.results.cells import Cell
from epbench.booksort.paper.results.rates import CHANCE, Rate, stars
from epbench.reports.figures import INK, colour_of, error_bars
from epbench.safe_text import printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")


@dataclass(frozen=True)
class Line:
    """Rates that are joined by a line.

    Attributes:
        label: Its name in the legend.
        places: Where its points lie on the x axis.
        rates: The rate of each point. One that lost questions is drawn as its range, without a point.
        p_values: The corrected p-value of each point, for stars; None draws no star.
    """

    label: str
    places: Sequence[float]
    rates: Sequence[Rate]
    p_values: Sequence[float | None]


def line_of(label: str, found: Sequence[Cell], place: Callable[[Cell], float], *, starred: bool = True) -> Line:
    """The cells of a line, in the order of their places."""
    ordered = sorted(found, key=place)
    p_values = [cell.p_holm if starred else None for cell in ordered]
    return Line(label, [place(cell) for cell in ordered], [cell.rate for cell in ordered], p_values)


def draw_lines(axes: Axes, lines: Sequence[Line], *, joined: bool = True, dodge: float = 1.0) -> None:
    """Draw lines with error bars and stars; each has a colour, a marker and a dash of its own.

    Args:
        axes: Where to draw.
        lines: The lines.
        joined: Whether points are joined; groups without an order, such as books, are not.
        dodge: The factor that places the next line a little to the right, so that error bars stay apart.
    """
    for number, line in enumerate(lines):
        colour, marker = colour_of(number), MARKERS[number % len(MARKERS)]
        places = [x * dodge ** (number - (len(lines) - 1) / 2) for x in line.places]
        values = [math.nan if rate.accuracy is None else rate.accuracy for rate in line.rates]  # a gap in the line
        axes.plot(
            places, values, color=colour, marker=marker, markersize=5, label=printable(line.label),
            linestyle=DASHES[number % len(DASHES)] if joined else "",
        )  # fmt: skip
        error_bars(axes, places, values, [rate.interval for rate in line.rates], colour)
        ranges = [(x, rate.bounds) for x, rate in zip(places, line.rates, strict=True) if rate.bounds]
        for x, (low, high) in ranges:
            axes.plot([x, x], [low, high], color=colour, linestyle=":", linewidth=3)
        for x, rate, p in zip(places, line.rates, line.p_values, strict=True):
            if rate.accuracy is not None and stars(p):
                top = max(rate.accuracy, (rate.interval or (0, 0))[1])
                axes.annotate(
                    stars(p), (x, top), xytext=(0, 1), textcoords="offset points", ha="center", color=colour, fontsize=9
                )


def finish(axes: Axes, x_label: str, *, words: bool = False, title: str = "") -> None:
    """Label the axes, draw chance as a line, and leave room for the stars.

    Args:
        axes: The axes with their lines.
        x_label: What the x axis shows.
        words: Whether the x axis counts words, on a logarithmic scale.
        title: A title above the axes, such as the name of a run.
    """
    axes.axhline(CHANCE, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_ylabel("accuracy")
    axes.set_xlabel(x_label)
    low, high = axes.get_ylim()
    axes.set_ylim(max(0.0, min(low, 0.4)), min(1.08, high + 0.04))
    if words:
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        steps = (
            (1, 1.5, 2, 3, 5, 7)
            if high < 8 * low
            else (1, 2, 5)
            if high < 30 * low
            else (1, 3)
            if high < 200 * low
            else (1,)
        )
        ticks = [x for x in (int(step * 10**power) for power in range(1, 6) for step in steps) if low <= x <= high]
        axes.set_xticks(ticks, [f"{x:,}" for x in ticks])
        axes.minorticks_off()
    if title:
        axes.set_title(printable(title), fontsize=9)


def legend(figure: Figure) -> None:
    """One legend for all panels, below them; each name stands there once."""
    named: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    columns = max(1, min(len(named), int(figure.get_figwidth() * 7 / max(12, *map(len, named)))))
    figure.legend(
        list(named.values()), list(named), loc="outside lower center", fontsize=8, frameon=False, ncols=columns
    )


def panels(count: int, columns: int = 3, width: float = 3.2, height: float = 2.6) -> tuple[Figure, list[Axes]]:
    """A figure with several pairs of axes that share their scales.

    Args:
        count: How many, at least 1.
        columns: The largest number of panels in a row.
        width: The width of a panel in inches.
        height: Its height in inches.
    """
    from matplotlib.figure import Figure

    columns = min(count, columns)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(max(4.5, columns * width), max(3.0, rows * height)), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel().tolist()
    for axes in grid:
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, grid[:count]
