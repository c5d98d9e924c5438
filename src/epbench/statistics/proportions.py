"""Intervals for shares of independent questions."""

from __future__ import annotations


def wilson(right: int, n: int, *, level: float = 0.95) -> tuple[float, float] | None:
    """Wilson's score interval of a share.

    Args:
        right: number of successes, 0..n.
        n: number of trials.
        level: coverage in (0, 1).

    Returns:
        (low, high) within [0, 1], or None without a trial.
    """
    if n == 0:
        return None
    from scipy.stats import binomtest

    interval = binomtest(right, n).proportion_ci(confidence_level=level, method="wilson")
    return float(interval.low), float(interval.high)
