"""What the figures are made of: stacked bars of stages, and lines of success with intervals, drawn into given axes.

Stages differ by hatch as well as by colour, and runs by marker and dash, so that a figure can be read in black and white.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.reports.figures import INK, colour_of, error_bars, new_figure
from epbench.reports.tables import Scores

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VACUOUS_HATCH = "///"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "p", ">", "h")
"""More than there are colours, so that two lines of one colour still differ."""
_DASHES = ("-", "--", "-.")


@dataclass(frozen=True, slots=True)
class Stage:
    """How one of the things that can become of a question is drawn."""

    title: str
    colour: str
    hatch: str


STAGES: Mapping[str, Stage] = {
    "success_rate": Stage("correct", "#54a24b", ""),
    "storage_error": Stage("storage error", "#c03538", "xxx"),
    "summary_error": Stage("summary error", "#f58518", "\\\\\\"),
    "retrieval_error": Stage("retrieval error", "#f6dc7a", "..."),
    "reasoning_error": Stage("reasoning error", "#d5c3e0", "---"),
}
"""By the name of a rate in scores.json, in the order of stacking."""


def stacked(
    axes: Axes, places: Sequence[float], cells: Sequence[Scores], *, width: float = 0.75, labelled: bool = True
) -> None:
    """Stack what became of the questions on one another, with the vacuous part of the correct ones marked.

    Args:
        axes: Where to draw.
        places: The places of the bars.
        cells: The scores of each bar, as in by_k of scores.json; all of them have the rate of each stage.
        width: The width of a bar.
        labelled: Whether the legend gets an entry for each stage.
    """
    base = [0.0] * len(cells)
    for name, stage in STAGES.items():
        heights = [scores[name] for scores in cells]
        label = stage.title if labelled else None
        axes.bar(
            places, heights, width, bottom=base, color=stage.colour, label=label, hatch=stage.hatch, edgecolor=INK,
            linewidth=0.4,
        )  # fmt: skip
        base = [low + height for low, height in zip(base, heights, strict=True)]
    vacuous = [scores.get("vacuous", 0) / max(1, scores["n"] - scores.get("failed", 0)) for scores in cells]
    if any(vacuous):
        label = "of it vacuous" if labelled else None
        axes.bar(places, vacuous, width, color="none", edgecolor=INK, hatch=VACUOUS_HATCH, linewidth=0.4, label=label)


def line(axes: Axes, points: Mapping[float, Scores], number: int, label: str, *, reported: bool) -> None:
    """A line of success rates with their intervals; reported ones are dotted and have hollow markers.

    Args:
        axes: Where to draw.
        points: The scores by their place on the x axis; those without a rate are left out.
        number: The number of the line, from which its colour, marker and dash follow.
        label: The name of the line.
        reported: Whether the numbers are those of a paper.
    """
    known = {x: scores for x, scores in sorted(points.items()) if scores.get("success_rate") is not None}
    if not known:
        return
    colour = colour_of(number)
    style = ":" if reported else _DASHES[number % len(_DASHES)]
    fill = "white" if reported else colour
    rates = [scores["success_rate"] for scores in known.values()]
    marker = MARKERS[number % len(MARKERS)]
    axes.plot(list(known), rates, style, marker=marker, markersize=5, color=colour, markerfacecolor=fill, label=label)
    success_intervals(axes, list(known), list(known.values()), colour)


def panels_for(
    titles: Sequence[str], *, columns: int = 3, width: float = 3.0, height: float = 2.6
) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each title, in rows from the left; all of them show rates from 0 to 1.

    Args:
        titles: The title of each panel, at least one.
        columns: The most panels in a row.
        width: Of a panel, in inches.
        height: Of a panel, in inches.
    """
    columns = min(columns, len(titles))
    rows = -(-len(titles) // columns)
    figure, first = new_figure(2.4 + width * columns, 0.4 + height * rows)
    first.remove()
    panels = list(figure.subplots(rows, columns, sharey=True, squeeze=False).flat)
    for axes in panels[len(titles) :]:
        axes.set_axis_off()
    for axes, title in zip(panels, titles, strict=False):
        dress(axes, title)
    return figure, panels[: len(titles)]


def dress(axes: Axes, title: str = "") -> None:
    """The title, the range and the frame of a panel of rates."""
    axes.set_title(title, fontsize=9)
    axes.set_ylim(-0.02, 1.04)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def one_legend(figure: Figure) -> None:
    """One legend for all panels, with each entry once."""
    known: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    figure.legend(list(known.values()), list(known), loc="outside right upper", frameon=False, fontsize=8)


def success_intervals(axes: Axes, places: Sequence[float], cells: Sequence[Scores], colour: str = INK) -> None:
    """The 95 % intervals of success rates, where there are any."""
    intervals = [scores.get("intervals", {}).get("success_rate") for scores in cells]
    error_bars(axes, places, [scores["success_rate"] for scores in cells], intervals, colour)
