"""The p-values of any two of several runs as a heat map (Figures 18 and 19)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.reports.figures import INK, drawing, figure_html, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PMatrix = Sequence[Sequence[float | None]]
"""A p-value for each row and column; None where there is none, as on the diagonal."""

_CELL = (0.62, 0.38)  # inches: a cell holds `0.0012*`
_CHARACTER = 0.075  # inches: about the width of a character of a run's name
_SMALLEST = 0.001  # smaller p-values are shown as "<0.001", and have the darkest colour


def p_matrix(names: Sequence[str], p: PMatrix, title: str, threshold: float = 0.05) -> str:
    """A heat map of p-values as an HTML figure with its SVG.

    Each cell shows its p with two significant digits. Cells below the threshold are bold and have an asterisk, so that they
    are seen without colour too; the darker a cell, the smaller its p.

    Args:
        names: The names of the runs, from top to bottom and from left to right; readable up to about fourteen.
        p: Square, with a row and a column for each name. A cell without a value is grey, and has a dash where it is not on
            the diagonal.
        title: What the p-values are, with a full stop. It stands below the figure, before the explanation of the marks.
        threshold: Where p begins to be marked, 0 to 1.

    Raises:
        ValueError: The matrix is not as long and as wide as there are names.
    """
    with drawing():
        return figure_html(p_matrix_figure(names, p, threshold), f"{title} Bold with an asterisk: p < {threshold:g}.")


def p_matrix_figure(
    names: Sequence[str], p: PMatrix, threshold: float = 0.05, corrected: PMatrix | None = None
) -> Figure:
    """The heat map itself, to be called within `epbench.reports.figures.drawing`.

    Args:
        names: See `p_matrix`.
        p: See `p_matrix`.
        threshold: See `p_matrix`.
        corrected: The same p-values, corrected for their number; they decide which cells are marked. None for p itself.

    Raises:
        ValueError: A matrix is not as long and as wide as there are names.
    """
    judged = p if corrected is None else corrected
    for matrix in (p, judged):
        if any(len(row) != len(names) for row in matrix) or len(matrix) != len(names):
            raise ValueError(f"expected {len(names)} rows and columns, found rows of {[len(row) for row in matrix]}")
    beside = 0.3 + _CHARACTER * max(map(len, names))
    slanted = 0.75 * beside  # how far the names of the columns go upwards, and the last one to the right
    figure, axes = new_figure(beside + _CELL[0] * len(names) + slanted, slanted + _CELL[1] * len(names))
    _colours(axes, p)
    for y, row in enumerate(p):
        for x, value in enumerate(row):
            found = judged[y][x]
            below = found is not None and found < threshold
            text = "" if x == y and value is None else f"{_digits(value)}{'*' if below else ''}"
            weight = "bold" if below else "normal"
            axes.text(x, y, text, ha="center", va="center", fontsize=8, color=INK, weight=weight)
    _names(axes, names)
    return figure


def _digits(p: float | None) -> str:
    return "–" if p is None else f"<{_SMALLEST:g}" if p < _SMALLEST else f"{p:#.2g}"


def _colours(axes: Axes, p: PMatrix) -> None:
    """Fill the cells: white for 1, darker towards 0 on a logarithmic scale, but never too dark for the text."""
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap, LogNorm

    values = np.array([[np.nan if value is None else max(value, _SMALLEST) for value in row] for row in p], dtype=float)
    shades = ListedColormap(colormaps["Blues"](np.linspace(0.55, 0.0, 64))).with_extremes(bad="#e8e8e8")
    edges = np.arange(len(p) + 1) - 0.5  # the middle of a cell is at a whole number
    axes.pcolormesh(
        edges, edges, np.ma.masked_invalid(values), cmap=shades, norm=LogNorm(_SMALLEST, 1.0), edgecolors="white"
    )


def _names(axes: Axes, names: Sequence[str]) -> None:
    """Name the columns above the matrix and the rows on its left; the first row is at the top."""
    axes.set_xticks(range(len(names)), names, rotation=45, ha="left", rotation_mode="anchor", fontsize=9)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.xaxis.tick_top()
    axes.invert_yaxis()
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
