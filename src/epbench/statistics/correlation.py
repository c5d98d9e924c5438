"""The correlation of two measures of the same questions."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's correlation."""

    n: int  # the number of pairs of values, at least three
    r: float  # the correlation, -1 to 1
    p: float  # the two-sided p-value of no correlation
    interval: tuple[float, float]  # the 95 % interval of r by Fisher's transformation, which is (-1, 1) for three pairs


def pearson(x: Sequence[float], y: Sequence[float]) -> Correlation | None:
    """Correlate two measures, such as how surprising a text is to a model and how sure the model is of an answer about it.

    The test and the interval take the pairs of values for independent, and their distribution for about normal. None with
    fewer than three pairs, or if one measure is constant, up to rounding. All values are finite.
    """
    from scipy.stats import ConstantInputWarning, NearConstantInputWarning, pearsonr

    if len(x) < 3:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConstantInputWarning)
        warnings.simplefilter("error", NearConstantInputWarning)
        try:
            result = pearsonr(x, y)
        except (ConstantInputWarning, NearConstantInputWarning):
            return None
    # Three pairs leave Fisher's interval without a width; scipy says the same, but not without a warning if r is 1.
    low, high = result.confidence_interval(0.95) if len(x) > 3 else (-1.0, 1.0)
    return Correlation(len(x), float(result.statistic), float(result.pvalue), (float(low), float(high)))
