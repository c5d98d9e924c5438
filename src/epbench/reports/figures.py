"""Figures with one style, drawn by matplotlib as SVG, so that a page needs no other file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from epbench.safe_text import html_text, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#eeca3b", "#9d755d")
INK = "#222"
"""The colour of error bars and other lines that belong to no run."""


def colour_of(number: int) -> str:
    """The colour of the run, or the line, of this number, counted from 0; after eight they begin again."""
    return COLOURS[number % len(COLOURS)]


@contextmanager
def drawing() -> Iterator[None]:
    """Make matplotlib draw the same SVG bytes each time, with text as text: a `$` in a run's name starts no formula."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "epbench", "svg.fonttype": "none", "text.parse_math": False}):
        yield


def new_figure(width: float, height: float) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes, without lines above and to the right of it.

    Args:
        width: In inches.
        height: In inches.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def error_bars(
    axes: Axes,
    places: Sequence[float],
    values: Sequence[float],
    intervals: Sequence[Sequence[float] | None],
    colour: str = INK,
    *,
    horizontal: bool = False,
) -> None:
    """Draw an error bar from the lower to the upper end of each interval.

    Args:
        axes: Where to draw.
        places: The places of the values, on the x axis, or on the y axis for horizontal bars.
        values: The values that the intervals are about; NaN draws nothing.
        intervals: [low, high] for each value; None draws no bar.
        colour: The colour of the bars.
        horizontal: Whether the values lie on the x axis.
    """
    ends = [interval or (value, value) for value, interval in zip(values, intervals, strict=True)]
    # Rounding may put a value a little outside its interval, and matplotlib refuses negative lengths.
    lengths = [
        [max(0.0, value - low) for value, (low, _) in zip(values, ends, strict=True)],
        [max(0.0, high - value) for value, (_, high) in zip(values, ends, strict=True)],
    ]
    if horizontal:
        axes.errorbar(values, places, xerr=lengths, fmt="none", ecolor=colour, capsize=3)
    else:
        axes.errorbar(places, values, yerr=lengths, fmt="none", ecolor=colour, capsize=3)


def figure_html(figure: Figure, caption: str) -> str:
    """A matplotlib figure as an HTML figure.

    Args:
        figure: Drawn within `drawing`.
        caption: As text.
    """
    text = svg(figure)
    return f"<figure>{text[text.index('<svg') :]}<figcaption>{html_text(caption)}</figcaption></figure>"


def svg(figure: Figure) -> str:
    """A matplotlib figure as the text of an SVG file."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    text = io.StringIO()
    FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None})
    return printable(text.getvalue())
