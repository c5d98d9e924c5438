"""Figures of frames of estimates: lines, points, bars and forests, in one style that is legible in black and white.

Every function takes rows of the frame of an exhibit, with the columns of `epbench.statistics.estimate.Estimate`. What
differs between runs has a colour, a marker, and a dash or a hatch of its own; a mean that lost questions is drawn as the
range in which it lies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.files.text import printable
from epbench.reports.figures import INK, colour_of, error_bars, new_figure
from epbench.statistics.estimate import stars

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, Any]
Plot = Callable[[Sequence[Row]], "Figure"]
_Row = TypeVar("_Row", bound=Row)
_Item = TypeVar("_Item")
_Key = TypeVar("_Key")

# More than there are colours, so that two lines of one colour still differ.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "p", ">", "h")
DASHES = ("-", "--", "-.", ":")
_GUESS = (0, (1, 2))  # the dots of the line at the value of a guess
_LEGEND_LINE = 0.18  # inches
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "---", "+++", "ooo")


def panels(
    titles: Sequence[str], *, columns: int = 3, width: float = 3.2, height: float = 2.6
) -> tuple[Figure, list[Axes]]:
    """A figure with a panel for each title, in rows from the left, that share their y axis; sizes of a panel are in inches."""
    from matplotlib.figure import Figure

    columns = min(columns, len(titles))
    rows = math.ceil(len(titles) / columns)
    figure = Figure(figsize=(max(4.5, columns * width), max(3.0, rows * height)), layout="constrained")
    grid: list[Axes] = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel().tolist()
    for axes in grid:
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[len(titles) :]:
        axes.set_visible(False)
    for axes, title in zip(grid, titles, strict=False):
        axes.set_title(printable(title), fontsize=9)
    return figure, grid[: len(titles)]


def grouped(rows: Iterable[_Row], *names: str) -> dict[Any, list[_Row]]:
    """Rows by the value of a column, or by the values of several, in the order in which these come."""
    return grouped_by(rows, itemgetter(*names))


def grouped_by(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Items by what a function gives for each, in the order in which that comes."""
    found: dict[_Key, list[_Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def lines(
    axes: Axes,
    rows: Sequence[Row],
    x: str | Callable[[Row], float],
    by: str,
    *,
    order: Sequence[Any] = (),
    joined: bool = True,
    dodge: float = 1.0,
    starred: bool = True,
) -> None:
    """Draw a line with intervals for each value of the column `by`, over the column `x` or what `x` gives as the place.

    `order` has all values of `by` in the figure, so that a line looks the same in every panel; by default those here. Points are
    `joined` unless groups have no order, as books have none. The factor `dodge` places the next line a little to the right, so
    that error bars stay apart. With `starred`, a mean that differs by its `p_holm` gets stars.
    """
    place = (lambda row: float(row[x])) if isinstance(x, str) else x
    of_line = grouped(rows, by)
    names = list(order) or list(of_line)
    for label, points in of_line.items():
        number = names.index(label)
        points = sorted(points, key=place)
        reported, colour = points[0].get("source") == "reported", colour_of(number)
        places = [place(row) * dodge ** (number - (len(names) - 1) / 2) for row in points]
        values, marker = _means(points), MARKERS[number % len(MARKERS)]
        marks: dict[str, Any] = {"marker": marker, "markerfacecolor": "white" if reported else colour, "markersize": 5}
        dash = (":" if reported else DASHES[number % len(DASHES)]) if joined else ""
        axes.plot(places, values, linestyle=dash, color=colour, label=legible(label), **marks)
        error_bars(axes, places, values, [ends(row) for row in points], colour)
        _ranges(axes, places, points, colour)
        for at, row in zip(places, points, strict=True):
            if starred and row["mean"] is not None and (text := stars(row.get("p_holm"))):
                top = max(row["mean"], (ends(row) or (0, 0))[1])
                above: dict[str, Any] = {"xytext": (0, 1), "textcoords": "offset points", "ha": "center"}
                axes.annotate(text, (at, top), color=colour, fontsize=9, **above)


FRONTIER = (
    "Points are runs, with 95 % intervals; no run above the line costs as little and scores as much as those on it."
)


def frontier(rows: Sequence[Row], columns: Mapping[str, str], y_label: str) -> Figure:
    """Draw a score against what it costs, a panel for each cost, with a line through the runs that nothing surpasses.

    `columns` has what each column of costs is called; a point without one is not in its panel.
    """
    figure, grid = panels([""] * len(columns), columns=2, width=4.6, height=3.4)
    names = list(grouped(rows, "label"))
    for axes, (column, title) in zip(grid, columns.items(), strict=True):
        known = [row for row in rows if row.get(column) is not None and row["mean"] is not None]
        lines(axes, known, column, "label", order=names, joined=False, starred=False)
        best: list[Row] = []
        for row in sorted(known, key=lambda row: (row[column], -row["mean"])):
            if not best or row["mean"] > best[-1]["mean"]:
                best.append(row)
        places = [row[column] for row in best]
        axes.step(places, _means(best), where="post", color=INK, linewidth=0.8, linestyle=_GUESS, zorder=0)
        axes.set(xlabel=printable(title), ylabel=y_label, ylim=(-0.02, 1.02))
        axes.set_xlim(left=0)
        axes.locator_params(axis="x", nbins=5)
    legend(figure, long=True)
    return figure


def _means(rows: Sequence[Row]) -> list[float]:
    """NaN for a missing one, which is a gap in the line."""
    return [math.nan if row["mean"] is None else row["mean"] for row in rows]


def _ranges(axes: Axes, places: Sequence[float], rows: Sequence[Row], colour: str, *, horizontal: bool = False) -> None:
    """Draw the range in which each mean lies that lost questions."""
    for at, row in zip(places, rows, strict=True):
        if row.get("lowest") is not None:
            along = [row["lowest"], row["highest"]]
            xy = (along, [at, at]) if horizontal else ([at, at], along)
            axes.plot(*xy, color=colour, linestyle=":", linewidth=3)


def line_panels(
    x: str,
    line: str,
    x_label: str,
    *,
    panel: str = "",
    scale: str = "words",
    order: Sequence[Any] = (),
    y_label: str = "accuracy",
    guess: float | None = 0.5,
    joined: bool = True,
    starred: bool = True,
    columns: int = 2,
    beside: str = "",
) -> Plot:
    """Return what draws a figure with panels of lines, by distance, length, epoch or book: by the column `x`.

    `line` is the name of the line that a row belongs to, with columns in braces, such as `{label}, {words:,} words`, and `panel`
    the title of its panel. The `scale` is `words`, logarithmic; `epochs`; or `names`, whose values stand beside one another, in
    the `order` given or all in rising order. A line is drawn at the value of a `guess`. A reported row is drawn where it agrees
    with a panel in the column `beside`, as a line at its value from `over` words on.
    """

    def draw(rows: Sequence[Row]) -> Figure:
        own = [row for row in rows if row["source"] != "reported" and (not order or row[x] in order)]
        drawn = [{**row, "line": line.format_map(row), "panel": panel.format_map(row)} for row in own]
        names = list(dict.fromkeys(row["line"] for row in drawn))
        places = list(order) or sorted({row[x] for row in drawn})
        step = 0.7 / len(names) if scale == "names" and not joined else 0.06

        def place(row: Row) -> float:
            at = places.index(row[x]) if scale == "names" else row[x]
            return float(at) if scale == "words" else at + (names.index(row["line"]) - (len(names) - 1) / 2) * step

        by_panel = grouped(drawn, "panel")
        width, height = (4.6, 3.6) if columns < 3 else (3.6, 3.0)
        figure, grid = panels(list(by_panel), columns=columns, width=width, height=height)
        for axes, inside in zip(grid, by_panel.values(), strict=True):
            dodge = 1.04 if scale == "words" else 1.0
            lines(axes, inside, place, "line", order=names, joined=joined, dodge=dodge, starred=starred)
            for row in rows if beside else ():
                if row["source"] == "reported" and row[beside] == inside[0][beside]:
                    _level(axes, row)
        for axes in grid:
            rates(axes, x_label, y_label=y_label, words=scale == "words", guess=guess)
            if scale == "names":
                axes.set_xticks(range(len(places)), [legible(name) for name in places])
            elif scale == "epochs":
                axes.set_xticks(places)
        legend(figure)
        return figure

    return draw


def _level(axes: Axes, row: Row) -> None:
    """A line at a reported value, from a distance on if it is about longer ones."""
    label = f"{row['label']} (reported)" + (f", over {row['over']:,} words" if row["over"] else "")
    low, high = axes.get_xlim()
    start = row["over"] or low
    look: dict[str, Any] = {"color": INK, "linewidth": 1.5, "linestyle": (0, (6, 2))}
    axes.plot([start, max(high, 1.3 * start)], [row["mean"]] * 2, label=legible(label), **look)


def points(rows: Sequence[Row], y: str, by: str, title: str, *, guess: float | None = None) -> Figure:
    """A forest plot: a row for each value of column `y`, from above, in it a point with its interval for each value of `by`.

    The scale is from 0 to 1, with a line at the value of a guess unless that is None.
    """
    of_row, of_name = list(grouped(rows, y)), grouped(rows, by)
    figure, axes = new_figure(7.0, 1.2 + len(of_row) * max(0.35, 0.13 * len(of_name)) + 0.2 * len(of_name))
    for number, (label, own) in enumerate(of_name.items()):
        colour, marker = colour_of(number), MARKERS[number % len(MARKERS)]
        places = [of_row.index(row[y]) + (number - (len(of_name) - 1) / 2) * 0.7 / len(of_name) for row in own]
        values = _means(own)
        error_bars(axes, places, values, [ends(row) for row in own], colour, horizontal=True)
        axes.plot(values, places, marker, color=colour, markeredgecolor=INK, label=legible(label))
        _ranges(axes, places, own, colour, horizontal=True)
    if guess is not None:
        axes.axvline(guess, color=INK, linewidth=0.8, linestyle=_GUESS)
    axes.set_yticks(range(len(of_row)), [printable(str(name)) for name in of_row])
    axes.set(ylim=(len(of_row) - 0.5, -0.5), xlim=(-0.02, 1.02), xlabel=printable(title))
    axes.grid(axis="x", color="#ddd", linewidth=0.6)
    axes.set_axisbelow(True)
    legend(figure)
    return figure


def bars(axes: Axes, rows: Sequence[Row], x: str, by: str, *, order: Sequence[Any] = ()) -> None:
    """Draw a group of bars with intervals for each value of column `x`, in it a bar for each value of `by` that has a mean.

    `order` has all values of `by` in the figure; by default those here.
    """
    rows = [row for row in rows if row["mean"] is not None]
    groups, names = list(grouped(rows, x)), list(order) or list(grouped(rows, by))
    for label, own in grouped(rows, by).items():
        number = names.index(label)
        places = [groups.index(row[x]) + (number - (len(names) - 1) / 2) * 0.8 / len(names) for row in own]
        values, hatch = [row["mean"] for row in own], HATCHES[number % len(HATCHES)]
        look: dict[str, Any] = {"color": colour_of(number), "hatch": hatch, "edgecolor": INK, "linewidth": 0.4}
        axes.bar(places, values, 0.8 / len(names), label=legible(label), **look)
        error_bars(axes, places, values, [ends(row) for row in own])
    axes.set_xticks(range(len(groups)), [printable(str(group)) for group in groups], fontsize=7)


def rates(
    axes: Axes, x_label: str, *, y_label: str = "accuracy", words: bool = False, guess: float | None = 0.5
) -> None:
    """Label the axes of a panel; where it shows accuracies beside a guess, leave room for stars; `words` are logarithmic."""
    axes.set(xlabel=printable(x_label), ylabel=y_label)
    if guess is not None:
        axes.axhline(guess, color=INK, linewidth=0.8, linestyle=_GUESS)
        if y_label == "accuracy":
            low, high = axes.get_ylim()
            axes.set_ylim(max(0.0, min(low, guess - 0.1)), min(1.08, high + 0.04))
    if words:
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        fine: dict[int, tuple[float, ...]] = {8: (1, 1.5, 2, 3, 5, 7), 30: (1, 2, 5), 200: (1, 3)}
        steps = next((each for most, each in fine.items() if high < most * low), (1,))
        ticks = [x for x in (int(step * 10**power) for power in range(1, 6) for step in steps) if low <= x <= high]
        axes.set_xticks(ticks, [f"{x:,}" for x in ticks])
        axes.minorticks_off()


def legend(figure: Figure, *, long: bool = False) -> None:
    """One legend for all panels, below them; each name stands there once.

    Where names may be `long`, as paths are, and many, long ones lose their middle, and the figure grows by the legend.
    """
    named: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    names = [f"{name[:24]}…{name[-23:]}" if long and len(name) > 48 else name for name in named]
    columns = max(1, min(len(names), int(figure.get_figwidth() * 7 / max(12, *map(len, names)))))
    if long:
        figure.set_figheight(figure.get_figheight() + _LEGEND_LINE * math.ceil(len(names) / columns))
    figure.legend(list(named.values()), names, loc="outside lower center", fontsize=8, frameon=False, ncols=columns)


def ends(row: Row) -> tuple[float, float] | None:
    """The ends of the interval of a row; None without one."""
    return None if row.get("low") is None or row.get("high") is None else (row["low"], row["high"])


def legible(label: object) -> str:
    """A label as matplotlib shows it: one with an underscore in front would be hidden."""
    text = printable(str(label))
    return f" {text}" if text.startswith("_") else text
