"""The smallest difference that so many questions can show, as a power analysis gives it; and two sets that are not paired."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

POWER = 0.8
ALPHA = 0.05


def smallest_difference_of_means(values: Sequence[float], n: int | None = None, *, paired: bool) -> float | None:
    """The smallest difference of two means that a two-sided t-test at `ALPHA` finds with the power `POWER`.

    The values are those of one run, or for a `paired` test, of two runs on the same questions, their differences. `n` is the
    number of questions of each run, by default that of the values. None with fewer than three values, or if all are equal.
    """
    from statistics import stdev

    n = len(values) if n is None else n
    deviation = stdev(values) if len(values) > 2 else 0.0
    return deviation * _effect(n, paired) if n > 2 and deviation else None


def smallest_difference_of_rates(rate: float, n: int, *, paired: bool = False, alpha: float = ALPHA) -> float | None:
    """The same for two shares of right answers, which both are about `rate`, 0 to 1, in n questions of each run.

    In a `paired` test, of the same questions, outcomes are taken as independent, which is the worst case, as runs that are
    right on the same questions differ on fewer. `alpha` is the level of the test, between 0 and 1. A rate of 0 or 1 counts as
    half a question from it, as a share that was never seen to vary still has an error. None with fewer than three questions.
    """
    if n < 3:
        return None
    rate = min(max(rate, 0.5 / n), 1 - 0.5 / n)
    deviation = math.sqrt(rate * (1 - rate))
    return min(1.0, deviation * (math.sqrt(2) if paired else 1.0) * _effect(n, paired, alpha))


def _effect(n: int, paired: bool, alpha: float = ALPHA) -> float:
    """The smallest difference in standard deviations, with Student's t in place of the normal distribution."""
    from scipy.stats import t

    freedom = n - 1 if paired else 2 * n - 2
    error = math.sqrt(1 / n if paired else 2 / n)
    return float(t.ppf(1 - alpha / 2, freedom) + t.ppf(POWER, freedom)) * error


@dataclass(frozen=True, slots=True)
class TwoSamples:
    """How much higher the values of one set are than those of another."""

    n: tuple[int, int]  # the number of values in each
    means: tuple[float, float]  # the mean of each
    u: float  # the Mann–Whitney statistic of the first
    p: float  # its one-sided p-value, with a correction for ties
    effect: float  # the probability that a value of the first set exceeds one of the second, ties counted half
    # How far the effect must be above 0.5 for so many values to show it with a power of 80 % at the level of 5 %, by the
    # normal approximation for values without ties; with ties a smaller one may do.
    smallest_difference: float


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> TwoSamples:
    """Test whether the first of two sets, each with a value, is higher, by the Mann–Whitney U test.

    The paper on Tulving books does so in Tables 21, 23 and 25.
    """
    from scipy.stats import mannwhitneyu, norm

    n, m = len(first), len(second)
    if set(first) | set(second) == {first[0]}:  # all values are equal: the variance of the statistic is zero
        u, p = n * m / 2, 1.0
    else:
        u, p = map(float, mannwhitneyu(first, second, alternative="greater", method="asymptotic"))
    deviation = math.sqrt((n + m + 1) / (12 * n * m))  # of u / (n * m) if both sets are alike
    smallest = float((norm.ppf(1 - ALPHA) + norm.ppf(POWER)) * deviation)
    return TwoSamples((n, m), (sum(first) / n, sum(second) / m), u, p, u / (n * m), smallest)
