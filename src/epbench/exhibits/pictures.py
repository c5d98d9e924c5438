"""A table as a picture, for slides and papers that take no HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from epbench.reports.tables import Table
from epbench.safe_text import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_ROWS = 60
_CHARACTER, _LINE = 0.085, 0.24
"""Inches that a character of a cell takes in width, and a row in height."""


def table_picture(table: Table) -> Figure:
    """Draw a table; of a long one the first rows, with a line that says how many there are.

    Args:
        table: With at least one column. It is drawn within `epbench.reports.figures.drawing`.
    """
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    rows = [list(map(printable, row)) for row in table.rows[:_MOST_ROWS]]
    head = list(map(printable, table.head))
    if len(table.rows) > _MOST_ROWS:
        rows.append([f"… {len(table.rows)} rows in all", *[""] * (len(head) - 1)])
    widths = [max(len(row[column]) for row in [head, *rows]) + 2 for column in range(len(head))]
    figure = Figure(figsize=(max(3.0, sum(widths) * _CHARACTER), max(1.0, (len(rows) + 1.5) * _LINE)))
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
