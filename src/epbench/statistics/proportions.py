"""Intervals of proportions over independent questions."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist


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
    # scipy's binomtest has it, too, but computes a test first, a hundred times as much work.
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle = (right + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * sqrt(right * (n - right) / n + z**2 / 4)
    return (0.0 if right == 0 else middle - half, 1.0 if right == n else middle + half)
