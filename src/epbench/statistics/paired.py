"""Two runs on the same questions: by how much they differ, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from epbench.statistics.intervals import cluster_bootstrap, weighted_mean

_DIGITS = 12  # differences below that are those of rounding, and a tie


@dataclass(frozen=True, slots=True)
class Paired:
    """Values of two runs, question by question.

    Attributes:
        n: number of questions.
        means: of the first and of the second.
        difference: mean of the first less that of the second.
        interval: 95 % interval of the difference, drawing clusters with replacement; None with fewer than two.
        wins, ties, losses: number of questions on which the first is better, equal, worse.
        p: Wilcoxon's signed-rank test, two-sided; ties are ranked and then dropped (Pratt), 1 where all are ties.
    """

    n: int
    means: tuple[float, float]
    difference: float
    interval: tuple[float, float] | None
    wins: int
    ties: int
    losses: int
    p: float


def paired(first: Sequence[float], second: Sequence[float], clusters: Sequence[object]) -> Paired:
    """Compare two runs.

    Args:
        first, second: one value per question, in the same order.
        clusters: the cluster of each question.

    Raises:
        ValueError: no question, or lengths that differ.
    """
    import numpy as np
    from scipy.stats import wilcoxon

    if not len(first) == len(second) == len(clusters) or not first:
        raise ValueError(f"{len(first)}, {len(second)} values and {len(clusters)} clusters, as many of each expected")
    differences = np.round(np.array(first, float) - np.array(second, float), _DIGITS)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    return Paired(
        n=len(first),
        means=(float(np.mean(first)), float(np.mean(second))),
        difference=float(differences.mean()),
        interval=cluster_bootstrap(lambda weights: weighted_mean(weights, differences), clusters),
        wins=wins,
        ties=len(first) - wins - losses,
        losses=losses,
        p=float(wilcoxon(differences, zero_method="pratt").pvalue) if wins + losses else 1.0,
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """The same p-values, corrected for their number (Holm)."""
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(p_values, method="holm")[1]] if p_values else []
