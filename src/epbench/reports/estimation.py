"""Paired estimation plots: the values of two runs joined question by question, and the distribution of their difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from epbench.reports.figures import INK, colour_of
from epbench.safe_text import printable
from epbench.statistics.estimation import PairedEstimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Group = tuple[str, Sequence[float], str, Sequence[float], PairedEstimate]
"""The name and the values of the first run, the same of the second, and what `paired_estimate` makes of both."""


def paired_estimation_plot(groups: Mapping[str, Group], score: str) -> Figure:
    """Draw a pair of plots for each group, after Gardner and Altman: the values above, their difference below.

    Args:
        groups: The comparisons by name, at least one.
        score: What the values are, such as `F1`, for the axes.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1 + 2.6 * len(groups), 5.2), layout="constrained")
    above, below = figure.subplots(2, len(groups), squeeze=False, sharey="row", height_ratios=(3, 2))
    for number, (title, (first, before, second, after, estimate)) in enumerate(groups.items()):
        top, bottom = above[number], below[number]
        pairs: dict[tuple[float, float], int] = {}
        for pair in zip(before, after, strict=True):
            pairs[pair] = pairs.get(pair, 0) + 1
        for (one, other), n in pairs.items():  # a line is as dark as there are questions on it
            top.plot(
                [0, 1], [one, other], color=colour_of(0), linewidth=0.8, alpha=min(1.0, 0.12 + 4 * n / len(before))
            )
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
