"""The critical-difference diagram: average ranks on an axis, with bars over methods that do not differ (Demšar, 2006)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from epbench.reports.figures import INK
from epbench.safe_text import printable
from epbench.statistics.ranks import Ranking

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LINE = 0.28  # inches for a method, and for a bar


def critical_difference_diagram(ranking: Ranking) -> Figure:
    """Draw a ranking: the better half of the methods is named on the left, the others on the right.

    Args:
        ranking: What `rank_methods` found. The figure is drawn within `epbench.reports.figures.drawing`.
    """
    import pandas as pd
    from matplotlib.figure import Figure
    from scikit_posthocs import critical_difference_diagram as draw

    names = {method: printable(method) for method in ranking.ranks}
    p = pd.DataFrame(1.0, index=list(names), columns=list(names))
    for pair in ranking.pairs:  # the library draws a bar over methods whose p-value is not below the level
        p.loc[pair.first, pair.second] = p.loc[pair.second, pair.first] = 0.0 if pair.different else 1.0
    longest = max(map(len, names.values())) + 7
    lines = 2 + len(ranking.groups) + (len(names) + 1) // 2
    figure = Figure(figsize=(4 + 2 * longest * 0.085, 0.6 + _LINE * lines), layout="constrained")
    axes = figure.add_subplot()
    draw(
        ranking.ranks, p, alpha=0.5, ax=axes, label_fmt_left="{label} ({rank:.2f})", label_fmt_right="({rank:.2f}) {label}",
        marker_props={"color": INK, "s": 18}, elbow_props={"color": INK},
        crossbar_props={"color": INK, "linewidth": 3, "marker": ""},
    )  # fmt: skip
    axes.set_title("average rank (1 is best)", fontsize=10)
    return figure
