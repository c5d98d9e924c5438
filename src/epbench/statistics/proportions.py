"""Intervals of proportions over independent questions."""

from __future__ import annotations


def wilson(right: int, n: int, *, level: float = 0.95) -> tuple[float, float] | None:
    """Wilson's score interval of a proportion.

    Args:
        right: The number of successes, 0 to n.
        n: The number of trials.
        level: The coverage, between 0 and 1.

    Returns:
        (low, high) within [0, 1], or None without a trial.
    """
    if n == 0:
        return None
    from scipy.stats import binomtest

    interval = binomtest(right, n).proportion_ci(confidence_level=level, method="wilson")
    return float(interval.low), float(interval.high)
