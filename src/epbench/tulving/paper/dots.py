"""A figure of points with intervals: a row for each group, and a mark of its own for each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.reports.figures import INK, colour_of, error_bars, new_figure
from epbench.safe_text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 60
"""More rows than this cannot be read in one figure."""

_MARKS = "osD^vPX*"
_SPREAD = 0.7  # of the height of a row, over which the points of its series are laid

_SHORT = 40  # characters; longer names have a line each in the legend

Point = tuple[float | None, Sequence[float] | None]
"""A value, of which None draws nothing, and [low, high] around it, of which None draws no bar."""


@dataclass(frozen=True)
class Series:
    """The points of one run.

    Attributes:
        label: Its name in the legend.
        points: The point in each row; None where it has none.
    """

    label: str
    points: Sequence[Point | None]


def dots(rows: Sequence[str], series: Sequence[Series], title: str, limits: tuple[float, float] = (0, 1)) -> Figure:
    """Draw the points; series differ in mark and colour, so that they are told apart in black and white too.

    Args:
        rows: The names of the rows, from above; at least one.
        series: The points of each run, as many as there are rows; at least one.
        title: What the values are.
        limits: The ends of the scale.
    """
    lines = len(series)
    figure, axes = new_figure(7.0, 1.2 + len(rows) * max(0.35, 0.13 * lines) + 0.2 * lines)
    for number, one in enumerate(series):
        offset = (number - (lines - 1) / 2) * _SPREAD / lines
        drawn = [(row + offset, *point) for row, point in enumerate(one.points) if point]
        places = [place for place, value, _ in drawn if value is not None]
        values = [value for _, value, _ in drawn if value is not None]
        intervals = [interval for _, value, interval in drawn if value is not None]
        colour = colour_of(number)
        error_bars(axes, places, values, intervals, colour, horizontal=True)
        label = printable(one.label)
        label = f" {label}" if label.startswith("_") else label  # matplotlib hides a name with an underscore
        axes.plot(values, places, _MARKS[number % len(_MARKS)], color=colour, markeredgecolor=INK, label=label)
    axes.set_yticks(range(len(rows)), [printable(row) for row in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(limits[0] - 0.02, limits[1] + 0.02)
    axes.set_xlabel(printable(title))
    axes.grid(axis="x", color="#ddd", linewidth=0.6)
    axes.set_axisbelow(True)
    ncols = 2 if max(len(one.label) for one in series) <= _SHORT else 1
    figure.legend(loc="outside lower center", frameon=False, ncols=ncols, fontsize=8)
    return figure
