"""Figures of lines by distance, length, epoch or book, with a panel for each run or length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from epbench.reports.exhibit import Row
from epbench.reports.figures import INK
from epbench.reports.plots import grouped, legend, legible, lines, panels, rates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHANCE = 0.5
Plot = Callable[[Sequence[Row]], "Figure"]


def lined(
    x: str, line: Callable[[Row], str], x_label: str, *, panel: Callable[[Row], str] = lambda _: "", scale: str = "words",
    order: Sequence[Any] = (), y_label: str = "accuracy", guess: float | None = CHANCE, joined: bool = True,
    starred: bool = True, columns: int = 2, beside: str = "",
) -> Plot:  # fmt: skip
    """A figure with panels of lines, for rows with the columns of an estimate.

    Args:
        x: The column of the place on the x axis.
        line: The name of the line that a row belongs to.
        x_label: What the x axis shows.
        panel: The title of the panel that a row belongs to.
        scale: `words`, logarithmic; `epochs`; or `names`, whose values stand beside one another.
        order: The values of `names`; by default those that there are, in rising order.
        y_label: What the y axis shows.
        guess: The value of a guess, where a line is drawn; None for none.
        joined: Whether points are joined.
        starred: Whether points are marked by their corrected p-value.
        columns: The most panels in a row.
        beside: The column in which a reported row agrees with the panel in which it is drawn, as a line at its value from
            `over` words on; without it no reported row is drawn.
    """

    def draw(rows: Sequence[Row]) -> Figure:
        drawn = [{**row, "line": line(row), "panel": panel(row)} for row in rows if row["source"] != "reported"]
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
            rates(axes, x_label, words=scale == "words", guess=guess if y_label == "accuracy" else None)
            axes.set_ylabel(y_label)
            if y_label != "accuracy" and guess is not None:
                axes.axhline(guess, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
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
    axes.plot(
        [start, max(high, 1.3 * start)], [row["mean"]] * 2, color=INK, linewidth=1.5, linestyle=(0, (6, 2)),
        label=legible(label),
    )  # fmt: skip
