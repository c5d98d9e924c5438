"""Confidence intervals: of proportions over independent questions, of statistics over questions that come in clusters, and of
groups such as books, whose results differ beside varying within each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean, variance
from typing import TYPE_CHECKING

from epbench.draws import UnitStream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


RESAMPLES = 2000
_LEVEL = 0.95  # its tails are computed: written out as 0.025 they would change the last digit of known intervals
_BLOCK = 1 << 18  # weights that exist at one time, 2 MiB: a run may have 100,000 questions
_KEPT = 1 << 22  # the most draws that are kept for the next comparison, 32 MiB


def cluster_bootstrap(
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    clusters: Sequence[object],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    bounds: tuple[float, float] | None = None,
    seen: int | None = None,
) -> tuple[float, float] | None:
    """95 % percentile interval of a statistic, by drawing whole clusters with replacement.

    Questions about the same cue share their chapters, and so their errors. Drawing single questions would give intervals
    that are too narrow.

    Args:
        statistic: Maps weights of shape (resamples, questions) to values of shape (resamples,), NaN where undefined.
        clusters: The cluster of each question.
        resamples: The number of draws.
        seed: The seed of the draws.
        bounds: The least and the greatest value that a mean can have, such as 0 and 1. Where every draw gives one of
            them, the draws do not show how far from it the true mean may be: three right answers of three are no proof
            of perfection. The other end is then that of Clopper and Pearson for as many clusters.
        seen: For that, the number of clusters that have a value; all of them unless given.

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
    if bounds:
        (least, most), unseen = bounds, 1 - ((1 - _LEVEL) / 2) ** (1 / (seen or len(set(clusters))))
        if np.allclose(values, least):
            return least, least + (most - least) * unseen
        if np.allclose(values, most):
            return most - (most - least) * unseen, most
    low, high = np.quantile(values, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)


def bootstrap_values(
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    clusters: Sequence[object],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> NDArray[np.float64]:
    """The values of a statistic in each resample, of shape (resamples,); see `cluster_bootstrap` for the arguments.

    The statistic is called with as many resamples at a time as have about `_BLOCK` weights.
    """
    import numpy as np

    names = {name: i for i, name in enumerate(dict.fromkeys(clusters))}
    of_question = np.array([names[name] for name in clusters])
    at_once = max(1, _BLOCK // len(of_question))
    draws = _draws(len(names), resamples, seed, at_once)
    return np.concatenate([statistic(np.take(times, of_question, axis=1)) for times in draws])


def _draws(k: int, resamples: int, seed: int, at_once: int) -> Iterator[NDArray[np.float64]]:
    """How often each of k clusters is drawn in each resample, in blocks of shape (up to `at_once`, k)."""
    kept = _kept_draws(k, resamples, seed) if k * resamples <= _KEPT else None
    stream = UnitStream("bootstrap", seed)
    for start in range(0, resamples, at_once):
        n = min(at_once, resamples - start)
        yield _times_drawn(stream, k, n) if kept is None else kept[start : start + n]


@lru_cache(maxsize=2)
def _kept_draws(k: int, resamples: int, seed: int) -> NDArray[np.float64]:
    """All draws at once, read-only: many comparisons on the same questions share them."""
    times = _times_drawn(UnitStream("bootstrap", seed), k, resamples)
    times.flags.writeable = False
    return times


def _times_drawn(stream: UnitStream, k: int, resamples: int) -> NDArray[np.float64]:
    import numpy as np

    unit = stream.take(resamples * k)
    unit *= k
    drawn = unit.astype(np.int64).reshape(resamples, k)
    drawn += k * np.arange(resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=k * resamples).reshape(resamples, k).astype(np.float64)


def weighted_mean(weights: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of values of shape (questions,) under weights of shape (resamples, questions); NaN where all weights are 0."""
    import numpy as np

    return ratio_of_sums(weights, values, np.ones(weights.shape[1]))


def ratio_of_sums(
    weights: NDArray[np.float64], sums: NDArray[np.float64], counts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The same means from the sum and the number of the values in each cluster, under weights of the clusters."""
    import numpy as np

    total = weights @ counts
    with np.errstate(invalid="ignore"):
        mean: NDArray[np.float64] = np.where(total > 0, weights @ sums / np.where(total > 0, total, 1), np.nan)
    return mean


def wilson(right: int, n: int, *, level: float = 0.95) -> tuple[float, float] | None:
    """Wilson's score interval of a proportion, within [0, 1], from `right` successes in `n` trials; None without a trial.

    `level` is the coverage, between 0 and 1.
    """
    if n == 0:
        return None
    # scipy's binomtest has it, too, but computes a test first, a hundred times as much work.
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (right + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * math.sqrt(right * (n - right) / n + z**2 / 4)
    return (0.0 if right == 0 else middle - half, 1.0 if right == n else middle + half)


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean of several groups and its two sources of variation."""

    mean: float  # the mean of the groups' means
    means: Sequence[float]  # the mean of each group
    # The standard error of one group's mean that comes from its own questions: the root of the mean of the squared
    # errors. It is what an interval about one book shows.
    within: float
    # The standard deviation of the groups' true means, after the errors within them are taken off; 0 if they differ by
    # no more than these errors explain.
    between: float
    interval: tuple[float, float]  # the 95 % one of the mean of another such group, by Student's t over the groups


def spread_of_groups(means: Sequence[float], errors: Sequence[float]) -> Spread:
    """Take apart the spread between groups and that within them, by the method of moments.

    A mean is such as the score on a book, with its standard error. ValueError with fewer than two groups.
    """
    from scipy.stats import t

    squared, observed, n, mean = fmean(error**2 for error in errors), variance(means), len(means), fmean(means)
    # Where the mean of a new group is expected: its own deviation and the error of this mean are both in it.
    half = float(t.ppf(0.975, n - 1)) * math.sqrt(observed * (1 + 1 / n))
    between = math.sqrt(max(0.0, observed - squared))
    return Spread(mean, means, math.sqrt(squared), between, (mean - half, mean + half))
