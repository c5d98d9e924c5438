"""Two runs on the same questions: how much they differ, and whether that may be chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.statistics.intervals import cluster_bootstrap, weighted_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIGITS = 12
"""Smaller differences of two runs come from rounding, and count as ties."""


@dataclass(frozen=True, slots=True)
class Paired:
    """How the values of two runs differ, question by question.

    Attributes:
        n: The number of questions.
        means: The means of the first and of the second run.
        difference: The mean of the first run minus the mean of the second.
        interval: The 95 % interval of the difference, drawing clusters with replacement; None with fewer than two.
        wins: The number of questions, or of units, on which the first run is better.
        ties: The number on which both are equal.
        losses: The number on which the first run is worse.
        p: The two-sided p-value: of Wilcoxon's signed-rank test (`paired`; ties are ranked and then dropped, after
            Pratt), or of McNemar's exact test (`paired_outcomes`). 1 if all questions are ties.
        p_corrected: The two-sided p-value of McNemar's test by chi-square with continuity correction, on the same units;
            None for `paired`. It is there to be set beside published values (Appendix F.2), which are not corrected for
            their number, so that Holm's correction is applied to p alone.
    """

    n: int
    means: tuple[float, float]
    difference: float
    interval: tuple[float, float] | None
    wins: int
    ties: int
    losses: int
    p: float
    p_corrected: float | None


def paired(first: Sequence[float], second: Sequence[float], clusters: Sequence[object]) -> Paired:
    """Compare two runs by values such as F1.

    Args:
        first: The first run's value for each question.
        second: The second run's values, in the same order.
        clusters: The cluster of each question.

    Raises:
        ValueError: There is no question, or the lengths differ.
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

    McNemar's test asks whether each run alone got about as many questions right as the other run alone. It treats its
    units as independent; the interval, which draws clusters, does not.

    With continuity correction the statistic is (|wins - losses| - 1)² / (wins + losses). Where wins and losses are equal,
    and not 0, the correction overshoots: the statistic is 1 / (wins + losses) instead of 0, so that p_corrected is a little
    below 1 (0.48 for one of each, 0.92 for fifty of each), where p is 1. It stays as it is, as published values have it too.

    Args:
        first: The first run's outcome for each question.
        second: The second run's outcomes, in the same order.
        clusters: The cluster of each question.
        units: The unit of each question. Questions of one unit, such as two askings of one pair, count once, by their
            sum. Each question is a unit of its own unless given.

    Raises:
        ValueError: There is no question, the lengths differ, or a value is neither 0 nor 1.
    """
    import numpy as np
    from statsmodels.stats.contingency_tables import mcnemar

    differences = _differences(first, second, clusters)
    if not set(first) | set(second) <= {0, 1}:
        raise ValueError("outcomes: expected 0 and 1 only, found another value")
    names = np.unique([str(unit) for unit in units], return_inverse=True)[1] if units else np.arange(len(first))
    by_unit = np.bincount(names, weights=differences)
    wins, losses = int((by_unit > 0).sum()), int((by_unit < 0).sum())
    p = p_corrected = 1.0
    if wins + losses:
        table = [[0, wins], [losses, 0]]
        p = float(mcnemar(table, exact=True).pvalue)
        p_corrected = float(mcnemar(table, exact=False, correction=True).pvalue)
    return _paired(first, second, clusters, (wins, len(by_unit) - wins - losses, losses), p, p_corrected)


def _differences(first: Sequence[float], second: Sequence[float], clusters: Sequence[object]) -> NDArray[np.float64]:
    import numpy as np

    if not len(first) == len(second) == len(clusters) or not first:
        raise ValueError(
            f"expected as many of each, found {len(first)} and {len(second)} values and {len(clusters)} clusters"
        )
    found: NDArray[np.float64] = np.round(np.array(first, float) - np.array(second, float), DIGITS)
    return found


def _paired(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[object],
    wins_ties_losses: tuple[int, int, int],
    p: float,
    p_corrected: float | None = None,
) -> Paired:
    differences = _differences(first, second, clusters)
    return Paired(
        len(first),
        (sum(first) / len(first), sum(second) / len(second)),
        float(differences.mean()),
        cluster_bootstrap(lambda weights: weighted_mean(weights, differences), clusters),
        *wins_ties_losses,
        p,
        p_corrected,
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number, by Holm.

    statsmodels has the same, but collects garbage on each call, which takes half a second beside large tables.
    """
    import numpy as np

    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return [float(value) for value in corrected]
