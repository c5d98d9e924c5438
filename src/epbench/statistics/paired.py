"""Two runs on the same questions: by how much they differ, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.statistics.intervals import cluster_bootstrap, weighted_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DIGITS = 12  # differences below that are those of rounding, and a tie


@dataclass(frozen=True, slots=True)
class Paired:
    """Values of two runs, question by question.

    Attributes:
        n: number of questions.
        means: of the first and of the second.
        difference: mean of the first less that of the second.
        interval: 95 % interval of the difference, drawing clusters with replacement; None with fewer than two.
        wins, ties, losses: number of questions, or of units, on which the first is better, equal, worse.
        p: two-sided. Of `paired`: Wilcoxon's signed-rank test; ties are ranked and then dropped (Pratt). Of
            `paired_outcomes`: McNemar's exact test. 1 where all are ties.
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
    """Compare two runs by values such as F1.

    Args:
        first, second: one value per question, in the same order.
        clusters: the cluster of each question.

    Raises:
        ValueError: no question, or lengths that differ.
    """
    from scipy.stats import wilcoxon

    differences = _differences(first, second, clusters)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    p = float(wilcoxon(differences, zero_method="pratt").pvalue) if wins + losses else 1.0
    return _paired(first, second, clusters, (wins, len(differences) - wins - losses, losses), p)


def paired_outcomes(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[object], units: Sequence[object] | None = None
) -> Paired:
    """Compare two runs by answers that are right (1) or wrong (0).

    McNemar's test asks whether the questions that only one run got right are about as many for each of them. It takes
    its units as independent; the interval, which draws clusters, does not.

    Args:
        first, second: one outcome per question, in the same order.
        clusters: the cluster of each question.
        units: what is won or lost: questions of one unit, such as two askings of one pair, count once, by their sum.
            By default each question is its own unit.

    Raises:
        ValueError: no question, lengths that differ, or a value that is neither 0 nor 1.
    """
    import numpy as np
    from statsmodels.stats.contingency_tables import mcnemar

    differences = _differences(first, second, clusters)
    if not set(first) | set(second) <= {0, 1}:
        raise ValueError("outcomes: a value other than 0 and 1 found")
    names = np.unique([str(unit) for unit in units], return_inverse=True)[1] if units else np.arange(len(first))
    by_unit = np.bincount(names, weights=differences)
    wins, losses = int((by_unit > 0).sum()), int((by_unit < 0).sum())
    p = float(mcnemar([[0, wins], [losses, 0]], exact=True).pvalue) if wins + losses else 1.0
    return _paired(first, second, clusters, (wins, len(by_unit) - wins - losses, losses), p)


def _differences(first: Sequence[float], second: Sequence[float], clusters: Sequence[object]) -> NDArray[np.float64]:
    import numpy as np

    if not len(first) == len(second) == len(clusters) or not first:
        raise ValueError(f"{len(first)}, {len(second)} values and {len(clusters)} clusters, as many of each expected")
    found: NDArray[np.float64] = np.round(np.array(first, float) - np.array(second, float), _DIGITS)
    return found


def _paired(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[object],
    wins_ties_losses: tuple[int, int, int],
    p: float,
) -> Paired:
    differences = _differences(first, second, clusters)
    return Paired(
        len(first),
        (sum(first) / len(first), sum(second) / len(second)),
        float(differences.mean()),
        cluster_bootstrap(lambda weights: weighted_mean(weights, differences), clusters),
        *wins_ties_losses,
        p,
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """The same p-values, corrected for their number (Holm)."""
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(p_values, method="holm")[1]] if p_values else []
