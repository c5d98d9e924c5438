"""How lines of accuracies are drawn: points with error bars, and a dotted bar where questions failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.exhibits.exhibit import Value
from epbench.reports.figures import colour_of, error_bars
from epbench.safe_text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS, STYLES = "osD^vPX*", ("-", "--", ":", "-.")


def draw_line(
    axes: Axes, number: int, places: Sequence[float], records: Sequence[Mapping[str, Value]], label: str = ""
) -> None:
    """Draw the accuracies of some records as a line.

    Where questions failed there is no point but a dotted bar, from the accuracy if they were all wrong to that if they were
    all right.

    Args:
        axes: Where to draw.
        number: The number of the line; it decides colour, marker and style.
        places: Where the points are on the x axis.
        records: With accuracy, low, high, if_failed_wrong and if_failed_right; see `epbench.booksort.paper.contexts.rows`.
        label: Its name in the legend; empty for none.
    """
    colour = colour_of(number)
    values = [one if isinstance(one := record["accuracy"], float) else float("nan") for record in records]
    name = legend_text(label) if label else None
    style, marker = STYLES[number % len(STYLES)], MARKERS[number % len(MARKERS)]
    axes.plot(places, values, style, marker=marker, color=colour, label=name)
    error_bars(axes, places, values, [ends(record, "low", "high") for record in records], colour)
    for place, record in zip(places, records, strict=True):
        if lost := ends(record, "if_failed_wrong", "if_failed_right"):
            axes.plot([place, place], lost, ":", color=colour, marker="_", linewidth=1.5)


def chance_line(axes: Axes) -> None:
    """A dotted line at the accuracy of guessing."""
    axes.axhline(0.5, color="#888", linestyle=(0, (1, 2)), linewidth=1, label="chance")


def legend_below(figure: Figure, panels: Iterable[Axes]) -> None:
    """One legend below all panels, with each name once."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    columns = min(3, len(found))
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns, fontsize=9, frameon=False)


def legend_text(label: str) -> str:
    """A label on one line; matplotlib leaves out those that begin with an underscore, so that a blank stands before it."""
    text = one_line(label)
    return f" {text}" if text.startswith("_") else text


def ends(record: Mapping[str, Value], low: str, high: str) -> tuple[float, float] | None:
    """The two ends of an interval of a record; None if there is none."""
    first, last = record[low], record[high]
    return (first, last) if isinstance(first, float) and isinstance(last, float) else None
