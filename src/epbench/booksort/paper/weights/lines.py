"""Lines by epoch: one for each training, told apart by colour, marker and style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.booksort.paper.contexts.accuracies import MARKERS, STYLES, legend_text
from epbench.reports.figures import colour_of, error_bars, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_APART = 0.06  # epochs by which points of two trainings at one epoch are moved apart


@dataclass(frozen=True)
class Line:
    """What one training shows.

    Attributes:
        label: Its name in the legend.
        epochs: The measured epochs.
        values: A value for each epoch; None draws no point.
        intervals: A 95 % interval or None for each epoch; empty for a line without error bars.
        ranges: The ends between which an unknown value lies, or None for each epoch; drawn as dotted bars. Empty for none.
    """

    label: str
    epochs: Sequence[int]
    values: Sequence[float | None]
    intervals: Sequence[Sequence[float] | None] = ()
    ranges: Sequence[Sequence[float] | None] = ()


def line_figure(lines: Sequence[Line], title: str, *, chance: float | None = None, log: bool = False) -> Figure:
    """Draw one panel with its legend.

    Args:
        lines: One for each training.
        title: What the y axis shows.
        chance: The value of a guess, drawn as a dotted line; None for none.
        log: Whether the y axis is logarithmic.
    """
    figure, axes = new_figure(6.4, 3.8)
    draw_lines(axes, lines, title, chance=chance, log=log)
    legend_of(figure, axes)
    return figure


def draw_lines(
    axes: Axes, lines: Sequence[Line], title: str, *, chance: float | None = None, log: bool = False
) -> None:
    """Draw lines by epoch into one pair of axes; see `line_figure`."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    for number, line in enumerate(lines):
        shift = (number - (len(lines) - 1) / 2) * _APART
        places = [epoch + shift for epoch in line.epochs]
        values = [float("nan") if value is None else value for value in line.values]
        axes.plot(
            places, values, STYLES[number % len(STYLES)], marker=MARKERS[number % len(MARKERS)], markersize=5,
            color=colour_of(number), label=legend_text(line.label),
        )  # fmt: skip
        if line.intervals:
            error_bars(axes, places, values, line.intervals, colour_of(number))
        for place, lost in zip(places, line.ranges, strict=False):
            if lost:
                axes.plot([place, place], lost, ":", color=colour_of(number), marker="_", linewidth=1.5)
    if chance is not None:
        axes.axhline(chance, color="#888", linestyle=(0, (1, 2)), linewidth=1, label="chance")
    axes.set_xlabel("epoch (0: before training)")
    axes.set_ylabel(title)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def legend_of(figure: Figure, axes: Axes) -> None:
    """One legend below all panels of a figure, from one of them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(labels)), fontsize=9, frameon=False)
