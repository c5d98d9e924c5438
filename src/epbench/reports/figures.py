"""Figures with one style, drawn by matplotlib as SVG, so that a page needs no other file."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from epbench.files.text import html_text, printable
from epbench.reports.tables import Table
from epbench.statistics.paired import PairedEstimate
from epbench.statistics.ranks import Ranking

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.colors import Colormap
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
    """An empty figure, in inches, with one pair of axes, without lines above and to the right of it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def plain_numbers(axis: Axis, text: str = "{x:,g}") -> None:
    """Mark a logarithmic axis at 1, 2 and 5 of each power of ten, with plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter(text))
    axis.set_minor_formatter(NullFormatter())


def heat_map(axes: Axes, cells: Sequence[Sequence[float | None]], colours: Colormap, grey: str, **scale: Any) -> None:
    """Fill a cell for each value, the first row at the top, and one in grey for None; `scale` is that of `pcolormesh`."""
    import numpy as np

    values = np.array([[np.nan if value is None else value for value in row] for row in cells], float)
    x, y = (np.arange(n + 1) - 0.5 for n in values.shape[::-1])  # the middle of a cell is at a whole number
    colours = colours.with_extremes(bad=grey)
    axes.pcolormesh(x, y, np.ma.masked_invalid(values), cmap=colours, edgecolors="white", **scale)
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def error_bars(
    axes: Axes,
    places: Sequence[float],
    values: Sequence[float],
    intervals: Sequence[Sequence[float] | None],
    colour: str = INK,
    *,
    horizontal: bool = False,
) -> None:
    """Draw an error bar from the lower to the upper end of each interval; None draws none, and neither does a value of NaN.

    The places are on the x axis, or on the y axis for horizontal bars.
    """
    ends = [interval or (value, value) for value, interval in zip(values, intervals, strict=True)]
    # Rounding may put a value a little outside its interval, and matplotlib refuses negative lengths.
    lengths = [
        [max(0.0, value - low) for value, (low, _) in zip(values, ends, strict=True)],
        [max(0.0, high - value) for value, (_, high) in zip(values, ends, strict=True)],
    ]
    x, y, xerr, yerr = (values, places, lengths, None) if horizontal else (places, values, None, lengths)
    axes.errorbar(x, y, yerr, xerr, fmt="none", ecolor=colour, capsize=3)


def figure_html(figure: Figure, caption: str) -> str:
    """A matplotlib figure, drawn within `drawing`, as an HTML figure."""
    text = svg(figure)
    return f"<figure>{text[text.index('<svg') :]}<figcaption>{html_text(caption)}</figcaption></figure>"


def svg(figure: Figure) -> str:
    """A matplotlib figure as the text of an SVG file."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    text = io.StringIO()
    FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None})
    return printable(text.getvalue())


Group = tuple[str, Sequence[float], str, Sequence[float], PairedEstimate]
"""The name and the values of the first run, the same of the second, and what `paired_estimate` makes of both."""


def paired_estimation_plot(groups: Mapping[str, Group], score: str) -> Figure:
    """Draw a pair of plots for each group, after Gardner and Altman: the values above, their difference below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1 + 2.6 * len(groups), 5.2), layout="constrained")
    above, below = figure.subplots(2, len(groups), squeeze=False, sharey="row", height_ratios=(3, 2))
    for number, (title, (first, before, second, after, estimate)) in enumerate(groups.items()):
        top, bottom = above[number], below[number]
        for pair, n in Counter(zip(before, after, strict=True)).items():
            dark = min(1.0, 0.12 + 4 * n / len(before))  # a line is as dark as there are questions on it
            top.plot([0, 1], pair, color=colour_of(0), linewidth=0.8, alpha=dark)
        means = [sum(before) / len(before), sum(after) / len(after)]
        top.plot([0, 1], means, color=INK, marker="D", linewidth=2)
        top.set_xticks([0, 1], [printable(first), printable(second)])
        top.set(xlim=(-0.3, 1.3), title=printable(title))
        shape = bottom.violinplot([estimate.resampled], [0], showextrema=False)["bodies"][0]
        shape.set(facecolor="#bbb", edgecolor=INK, alpha=0.7)
        bottom.plot([0, 0], estimate.interval, color=INK, linewidth=3)
        bottom.plot([0], [estimate.mean], color=INK, marker="o")
        bottom.axhline(0, color=INK, linewidth=0.8, linestyle="--")
        bottom.set_xticks([0], [f"n = {estimate.n}"])
        for axes in (top, bottom):
            axes.spines[["top", "right"]].set_visible(False)
    above[0].set_ylabel(score)
    below[0].set_ylabel("mean difference,\nsecond − first")
    return figure


_LINE = 0.28  # inches for a method, and for a bar


def critical_difference_diagram(ranking: Ranking) -> Figure:
    """Draw a ranking: the better half of the methods is named on the left, the others on the right (Demšar, 2006).

    A bar joins methods that do not differ. The figure is drawn within `drawing`.
    """
    from matplotlib.figure import Figure

    ranks, names = ranking.ranks, {method: printable(method) for method in ranking.ranks}
    n_left = (len(ranks) + 1) // 2
    longest = max(map(len, names.values())) + 7
    lines = 2 + len(ranking.groups) + n_left
    figure = Figure(figsize=(4 + 2 * longest * 0.085, 0.6 + _LINE * lines), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title("average rank (1 is best)", fontsize=10)
    axes.spines[["left", "right", "bottom"]].set_visible(False)
    axes.spines["top"].set_position("zero")
    axes.xaxis.set_ticks_position("top")
    axes.yaxis.set_visible(False)
    margin = 0.01 * (max(ranks.values()) - min(ranks.values())) or 0.01
    levels: list[float] = []  # the rank at which the last bar of each level ends
    for group in ranking.groups:
        low, high = ranks[group[0]], ranks[group[-1]]
        level = next((number for number, end in enumerate(levels) if end < low), len(levels))
        levels[level:] = [high, *levels[level + 1 :]]
        axes.plot([low - margin, high + margin], [-1 - level] * 2, color=INK, linewidth=3)
    methods = list(ranks)
    for side, left in ((methods[:n_left], True), (methods[n_left:][::-1], False)):
        for line, method in enumerate(side):
            rank, edge = ranks[method], min(ranks.values()) - margin if left else max(ranks.values()) + margin
            height = -len(levels) - 1 - line
            axes.plot([edge, rank, rank], [height, height, 0], color=INK)
            axes.scatter(rank, 0, color=INK, s=18, zorder=3)
            name = f"{names[method]} ({rank:.2f})" if left else f"({rank:.2f}) {names[method]}"
            axes.text(edge, height, name, ha="right" if left else "left", va="center")
    return figure


_MOST_ROWS = 60
_CHARACTER, _ROW = 0.085, 0.24  # inches that a character of a cell takes in width, and a row in height


def table_picture(table: Table) -> Figure:
    """Draw a table within `drawing`; of a long one the first rows, with a line that says how many there are."""
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    rows = [list(map(printable, row)) for row in table.rows[:_MOST_ROWS]]
    head = list(map(printable, table.head))
    if len(table.rows) > _MOST_ROWS:
        rows.append([f"… {len(table.rows)} rows in all", *[""] * (len(head) - 1)])
    widths = [max(len(row[column]) for row in [head, *rows]) + 2 for column in range(len(head))]
    figure = Figure(figsize=(max(3.0, sum(widths) * _CHARACTER), max(1.0, (len(rows) + 1.5) * _ROW)))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    shares = [width / sum(widths) for width in widths]
    drawn = axes.table(rows or [[""] * len(head)], colLabels=head, colWidths=shares, bbox=Bbox.unit())
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(9)
    for (line, column), cell in drawn.get_celld().items():
        cell.visible_edges = "B" if line else "BT"
        cell.set_edgecolor("#222" if line == 0 else "#ccc")
        cell.get_text().set_horizontalalignment("left" if column < table.text_columns else "right")
        if line == 0:
            cell.get_text().set_fontweight("bold")
    return figure
