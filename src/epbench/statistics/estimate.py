"""An estimate with all that has to stand beside it, made from a table of questions in one way for every benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.statistics.paired import holm

if TYPE_CHECKING:
    import pandas as pd

Value = str | int | float | None
"""A value in the data of an exhibit. None is what was not measured; there is no NaN."""

IntervalOf = Callable[[Sequence[float], Sequence[Any]], tuple[float, float] | None]
"""From the values of the answered questions, and the cluster of each, to a 95 % interval."""

TestOf = Callable[["pd.DataFrame"], tuple[float, int]]
"""From the answered questions to a p-value, and to the number of questions, pairs or clusters that the test counts."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share, a mean or a difference. Its fields are the columns of every CSV, with the same names.

    Attributes:
        n: The number of questions with an outcome; None where a paper does not say.
        n_failed: The number of questions without an answer or a verdict; None where a paper does not say.
        mean: The value; None without questions, and if a question failed.
        sd: The sample standard deviation over questions; None without a mean, and for a single question.
        low: The lower end of the 95 % interval; None without one.
        high: The upper end.
        lowest: The mean if all failed questions were wrong; None if none failed.
        highest: The mean if all failed questions were right; None if none failed.
        p: The two-sided p-value of the test that the exhibit's notes name; None without a test.
        p_holm: The same, by Holm for all tests of its family.
        units: The number of questions, pairs or clusters that the test counts.
        smallest: The smallest effect that so many units show with 80 % power; None without a test.
    """

    n: int | None = 0
    n_failed: int | None = 0
    mean: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    lowest: float | None = None
    highest: float | None = None
    p: float | None = None
    p_holm: float | None = None
    units: int | None = None
    smallest: float | None = None

    def columns(self, *names: str, prefix: str = "") -> dict[str, Value]:
        """Return the fields of these names, by default `COLUMNS`, as columns of a frame; a prefix stands before each name."""
        return {f"{prefix}{name}": getattr(self, name) for name in names or COLUMNS}


COLUMNS = ("mean", "sd", "low", "high", "lowest", "highest", "n", "n_failed")
TESTED = (*COLUMNS, "p", "p_holm")


def estimate(
    questions: pd.DataFrame,
    column: str,
    *,
    cluster: str | None = None,
    interval: IntervalOf | None = None,
    test: TestOf | None = None,
    smallest: Callable[[int], float | None] | None = None,
) -> Estimate:
    """Estimate the mean of a column over some questions, a row for each; with failed ones only the range in which it lies.

    The column has values of 0 to 1, and NaN or None where a question failed. `interval` and `test` make the interval, which
    draws the values of the column `cluster`, such as the excerpt, or else questions, and the test; None makes none.
    `smallest` gives the smallest effect that so many units of the test show.
    """
    values = questions[column].astype("float64")
    known = values.dropna()
    n, n_failed = len(known), len(questions) - len(known)
    if n_failed:
        return range_of(float(known.sum()), n, n_failed)
    if not n:
        return Estimate()
    clusters = list(range(n)) if cluster is None else questions[cluster].tolist()
    low, high = (interval(known.tolist(), clusters) if interval else None) or (None, None)
    p, units = test(questions) if test else (None, None)
    least = smallest(units) if smallest and units else None
    sd = float(known.std(ddof=1)) if n > 1 else None
    return Estimate(n, 0, float(known.mean()), sd, low, high, p=p, units=units, smallest=least)


def range_of(right: float, n: int, n_failed: int) -> Estimate:
    """The range of a mean that lost questions, from the sum of its n values."""
    return Estimate(n, n_failed, lowest=right / (n + n_failed), highest=(right + n_failed) / (n + n_failed))


def drawing_clusters(values: Sequence[float], clusters: Sequence[Any]) -> tuple[float, float] | None:
    """The interval of a mean of values from 0 to 1 by `cluster_bootstrap`."""
    import numpy as np

    known = np.array(values, float)
    return cluster_bootstrap(lambda weights: weighted_mean(weights, known), clusters, bounds=(0.0, 1.0))


def corrected(found: Sequence[Estimate]) -> list[Estimate]:
    """Return the estimates with `p_holm`, by Holm for all of them that have a p-value."""
    known = iter(holm([test.p for test in found if test.p is not None]))
    return [test if test.p is None else replace(test, p_holm=next(known)) for test in found]


def p_text(p: float | None) -> str:
    """A p-value as the text of a cell, with its stars, such as `0.021*` or `< 0.001**`; a dash for None."""
    return "–" if p is None else f"< 0.001{stars(p)}" if p < 0.001 else f"{p:.3f}{stars(p)}"


def stars(p: float | None) -> str:
    """`**` for p < .01, `*` for p < .05, and nothing for more or None."""
    return "" if p is None else "**" if p < 0.01 else "*" if p < 0.05 else ""


def framed(records: Iterable[Mapping[str, Value]]) -> pd.DataFrame:
    """Return records as a frame whose columns keep whole numbers whole, and None for what was not measured."""
    import pandas as pd

    return pd.DataFrame(list(records), dtype=object)
