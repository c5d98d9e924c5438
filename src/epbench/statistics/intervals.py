"""Confidence intervals of statistics over questions that come in clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from epbench.draws import UnitStream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 2000


def cluster_bootstrap(
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    clusters: Sequence[object],
    *,
    level: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[float, float] | None:
    """Percentile interval of a statistic, by drawing whole clusters with replacement.

    Questions about the same cue share their chapters, and so their errors. Drawing single questions would give intervals
    that are too narrow.

    Args:
        statistic: Maps weights of shape (resamples, questions) to values of shape (resamples,), NaN where undefined.
        clusters: The cluster of each question.
        level: The coverage, between 0 and 1.
        resamples: The number of draws.
        seed: The seed of the draws; the same seed gives the same interval.

    Returns:
        (low, high), or None if there are fewer than two clusters or the statistic is undefined in most draws.
    """
    import numpy as np

    if len(set(clusters)) < 2:
        return None
    values = bootstrap_values(statistic, clusters, resamples=resamples, seed=seed)
    values = values[~np.isnan(values)]
    if len(values) < resamples / 2:
        return None
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bootstrap_values(
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    clusters: Sequence[object],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> NDArray[np.float64]:
    """The values of a statistic in each resample, of shape (resamples,); see `cluster_bootstrap` for the arguments."""
    import numpy as np

    names = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    of_question = np.array([names[name] for name in clusters])
    return statistic(_times_drawn(len(names), resamples, seed)[of_question].T)


@lru_cache(maxsize=2)
def _times_drawn(k: int, resamples: int, seed: int) -> NDArray[np.float64]:
    """How often each of k clusters is drawn in each resample, of shape (k, resamples); read-only.

    The draws depend on nothing but these numbers, so that many comparisons on the same questions share them.
    """
    import numpy as np

    drawn = (UnitStream("bootstrap", seed).take(resamples * k) * k).astype(np.int64).reshape(resamples, k)
    places = drawn * resamples + np.arange(resamples)[:, None]
    times = np.bincount(places.ravel(), minlength=k * resamples).reshape(k, resamples).astype(np.float64)
    times.flags.writeable = False
    return times


def weighted_mean(weights: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of values of shape (questions,) under weights of shape (resamples, questions); NaN where all weights are 0."""
    import numpy as np

    total = weights.sum(axis=1)
    with np.errstate(invalid="ignore"):
        mean: NDArray[np.float64] = np.where(total > 0, weights @ values / np.where(total > 0, total, 1), np.nan)
    return mean
