"""The smallest difference that so many questions can show, as a power analysis gives it."""

from __future__ import annotations

import math
from collections.abc import Sequence

POWER = 0.8
ALPHA = 0.05


def smallest_difference_of_means(
    values: Sequence[float], n: int | None = None, *, paired: bool, power: float = POWER, alpha: float = ALPHA
) -> float | None:
    """The smallest difference of two means that a two-sided t-test finds with this power.

    Args:
        values: Values whose standard deviation is that of what is tested: for a paired test, the differences of two runs
            on the same questions; otherwise the values of one run.
        n: The number of questions (in each run, if they are not paired); that of the values by default.
        paired: Whether both runs answer the same questions.
        power: How often the difference would be found, between 0 and 1.
        alpha: The level of the test, between 0 and 1.

    Returns:
        A difference on the scale of the values; None with fewer than three values, or if all of them are equal.
    """
    from statistics import stdev

    n = len(values) if n is None else n
    deviation = stdev(values) if len(values) > 2 else 0.0
    if n < 3 or not deviation:
        return None
    return deviation * _effect(n, paired, power, alpha)


def smallest_difference_of_rates(
    rate: float, n: int, *, paired: bool = False, power: float = POWER, alpha: float = ALPHA
) -> float | None:
    """The smallest difference of two shares of right answers that a two-sided test finds with this power.

    Args:
        rate: The share of right answers that both runs have about, 0 to 1.
        n: The number of questions of each run.
        paired: Whether both runs answer the same questions; their outcomes are then taken as independent, which is the
            worst case, as runs that are right on the same questions differ on fewer.
        power: How often the difference would be found, between 0 and 1.
        alpha: The level of the test, between 0 and 1.

    Returns:
        A difference of shares, at most 1; None with fewer than three questions. A rate of 0 or 1 counts as half a question
        from it, as a share that was never seen to vary still has an error.
    """
    if n < 3:
        return None
    rate = min(max(rate, 0.5 / n), 1 - 0.5 / n)
    deviation = math.sqrt(rate * (1 - rate))
    if paired:
        return min(1.0, deviation * math.sqrt(2) * _effect(n, True, power, alpha))
    return min(1.0, deviation * _effect(n, False, power, alpha))


def _effect(n: int, paired: bool, power: float, alpha: float) -> float:
    """The smallest difference in standard deviations, with Student's t in place of the normal distribution."""
    from scipy.stats import t

    freedom = n - 1 if paired else 2 * n - 2
    error = math.sqrt(1 / n if paired else 2 / n)
    return float(t.ppf(1 - alpha / 2, freedom) + t.ppf(power, freedom)) * error
