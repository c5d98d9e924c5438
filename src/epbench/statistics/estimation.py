"""The mean difference of two runs on the same questions, with its bootstrap distribution, for estimation plots.

Such plots show the size of a difference and how well it is known, instead of a p-value alone (paper on Tulving books:
Figure 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from epbench.statistics.intervals import bootstrap_values, weighted_mean


@dataclass(frozen=True, slots=True)
class PairedEstimate:
    """The paired mean difference of two runs.

    Attributes:
        n: The number of questions.
        differences: The second value minus the first, question by question.
        mean: Their mean.
        interval: The 95 % percentile interval of the mean, drawing clusters with replacement.
        resampled: The mean of each resample.
    """

    n: int
    differences: list[float]
    mean: float
    interval: tuple[float, float]
    resampled: list[float]


def paired_estimate(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[object] | None = None,
    *,
    resamples: int = 5000,
    seed: int = 0,
) -> PairedEstimate:
    """Estimate how much higher the second of two runs is.

    Args:
        first: The values of the first run.
        second: The values of the second run, for the same questions in the same order.
        clusters: The cluster of each question; each is its own cluster by default.
        resamples: The number of draws.
        seed: The seed of the draws; the same seed gives the same distribution.

    Raises:
        ValueError: The lengths differ, or there are fewer than two clusters.
    """
    import numpy as np

    clusters = list(range(len(first))) if clusters is None else clusters
    if not len(first) == len(second) == len(clusters) or len(set(clusters)) < 2:
        raise ValueError(
            f"expected as many values as clusters, at least two of them: found {len(first)} and {len(second)} values and "
            f"{len(set(clusters))} clusters"
        )
    differences = np.array(second, float) - np.array(first, float)
    found = bootstrap_values(
        lambda weights: weighted_mean(weights, differences), clusters, resamples=resamples, seed=seed
    )
    low, high = np.quantile(found, [0.025, 0.975])
    return PairedEstimate(
        len(differences), differences.tolist(), float(differences.mean()), (float(low), float(high)), found.tolist()
    )
