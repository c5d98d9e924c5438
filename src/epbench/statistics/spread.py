"""How much results differ between groups, such as books of different seeds, beside how much they vary within one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean of several groups and its two sources of variation.

    Attributes:
        n_groups: The number of groups.
        mean: The mean of the groups' means.
        means: The mean of each group.
        within: The standard error of one group's mean that comes from its own questions: the root of the mean of the
            squared errors. It is what an interval about one book shows.
        between: The standard deviation of the groups' true means, after the errors within them are taken off; 0 if they
            differ by no more than these errors explain, None for one group.
        interval: The 95 % interval of the mean for another group of the same kind, by Student's t over the groups; None
            for one group.
    """

    n_groups: int
    mean: float
    means: dict[str, float]
    within: float
    between: float | None
    interval: tuple[float, float] | None


def spread_of_groups(values: Mapping[str, Sequence[float]], errors: Mapping[str, float] | None = None) -> Spread:
    """Take apart the spread between groups and that within them, by the method of moments.

    Args:
        values: The values of each group, such as the F1 of each question about a book; with `errors`, its score alone.
        errors: The standard error of each group's mean, where its values are not independent, as with questions that share
            a cue; by default it is that of independent values.

    Raises:
        ValueError: There is no group, a group has no value, or one value and no error.
    """
    from statistics import fmean, stdev, variance

    if not values or not all(values.values()):
        raise ValueError("expected values in every group")
    if errors is None:
        if any(len(of_group) < 2 for of_group in values.values()):
            raise ValueError("expected two values or more in every group, or its error")
        errors = {name: stdev(of_group) / math.sqrt(len(of_group)) for name, of_group in values.items()}
    means = {name: fmean(of_group) for name, of_group in values.items()}
    squared = fmean(errors[name] ** 2 for name in means)
    n, mean = len(means), fmean(means.values())
    if n == 1:
        return Spread(1, mean, means, math.sqrt(squared), None, None)
    observed = variance(means.values())
    return Spread(
        n, mean, means, math.sqrt(squared), math.sqrt(max(0.0, observed - squared)), _interval(mean, observed, n)
    )


def _interval(mean: float, observed: float, n: int) -> tuple[float, float]:
    """Where the mean of a new group is expected: its own deviation and the error of this mean are both in it."""
    from scipy.stats import t

    half = float(t.ppf(0.975, n - 1)) * math.sqrt(observed * (1 + 1 / n))
    return mean - half, mean + half
