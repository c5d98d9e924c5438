"""Two sets of questions that are not paired, such as those of two books: is one answered better than the other?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from epbench.statistics.smallest_difference import ALPHA, POWER

Alternative = Literal["less", "greater", "two-sided"]


@dataclass(frozen=True, slots=True)
class TwoSamples:
    """How the values of two sets differ.

    Attributes:
        n: The number of values in each.
        means: The mean of each.
        u: The Mann–Whitney statistic of the first.
        p: Its p-value, with a correction for ties, for this alternative.
        effect: The probability that a value of the first set exceeds one of the second, ties counted half; 0.5 if neither
            is larger.
        alternative: What the test asks about the first set: that it is `less`, `greater`, or different (`two-sided`).
        smallest_difference: How far the effect must be from 0.5 for so many values to show it with a power of 80 % at the
            level of 5 %, by the normal approximation for values without ties; with ties a smaller one may do.
    """

    n: tuple[int, int]
    means: tuple[float, float]
    u: float
    p: float
    effect: float
    alternative: Alternative
    smallest_difference: float


def mann_whitney(first: Sequence[float], second: Sequence[float], alternative: Alternative = "two-sided") -> TwoSamples:
    """Compare two sets by the Mann–Whitney U test (paper on Tulving books: Tables 21, 23 and 25).

    Args:
        first: The values of the first set, such as F1 of each question.
        second: Those of the second.
        alternative: What is claimed about the first set.

    Raises:
        ValueError: A set has no value.
    """
    from scipy.stats import mannwhitneyu

    if not first or not second:
        raise ValueError(f"expected values in both sets, found {len(first)} and {len(second)}")
    n, m = len(first), len(second)
    if set(first) | set(second) == {first[0]}:  # all values are equal: the variance of the statistic is zero
        u, p = n * m / 2, 1.0
    else:
        found = mannwhitneyu(first, second, alternative=alternative, method="asymptotic")
        u, p = float(found.statistic), float(found.pvalue)
    means = sum(first) / n, sum(second) / m
    return TwoSamples((n, m), means, u, p, u / (n * m), alternative, _smallest(n, m, alternative))


def _smallest(n: int, m: int, alternative: Alternative) -> float:
    from scipy.stats import norm

    tail = ALPHA / 2 if alternative == "two-sided" else ALPHA
    deviation = math.sqrt((n + m + 1) / (12 * n * m))  # of u / (n * m) if both sets are alike
    return float((norm.ppf(1 - tail) + norm.ppf(POWER)) * deviation)
