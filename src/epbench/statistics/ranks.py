"""Several methods on the same questions, compared by their ranks: Friedman, then Wilcoxon of every two with Holm.

This is the procedure of Demšar (2006) and Benavoli et al. (2016), which the paper about Tulving books follows (Figures 3
and 7). Ranks do not say by how much one method is better than another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from epbench.statistics.paired import DIGITS, holm

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALPHA = 0.05  # the level of Friedman's test and of the corrected tests of pairs


@dataclass(frozen=True, slots=True)
class RankPair:
    """Two of several methods."""

    first: str  # the name of the method with the better average rank
    second: str  # the name of the other
    statistic: float  # the smaller sum of signed ranks; 0 if all questions are ties
    # The two-sided p-value of Wilcoxon's signed-rank test by the normal approximation; ties are ranked and then
    # dropped, after Pratt.
    p: float
    p_holm: float  # the same after Holm's correction over all pairs
    different: bool  # whether the two differ: Friedman's test rejects, and p_holm is below `ALPHA`


@dataclass(frozen=True, slots=True)
class Ranking:
    """How several methods rank."""

    ranks: dict[str, float]  # the average rank of each method, 1 for the best, from the best to the worst
    n: int  # the number of questions
    friedman_statistic: float | None  # Friedman's chi-square; None for two methods, for which the test is not defined
    friedman_p: float | None  # its p-value
    pairs: list[RankPair]  # every two methods
    # The largest sets of methods, consecutive in rank, of which no two differ. One that differs from its neighbours is in none.
    groups: list[tuple[str, ...]]


def rank_methods(values: Mapping[str, Sequence[float]]) -> Ranking:
    """Compare methods by the ranks of their values of the questions, higher values being better.

    A method that is the best on every question has the average rank 1. Ties share the mean of their ranks. ValueError with
    fewer than two methods, without a question, or if methods have different numbers of values.
    """
    from scipy.stats import friedmanchisquare, rankdata

    matrix = _matrix(values)
    averages = zip(values, map(float, rankdata(-matrix, axis=0).mean(axis=1)), strict=True)
    ranks = dict(sorted(averages, key=lambda ranked: (ranked[1], ranked[0])))
    statistic = friedman = None
    if len(values) > 2:
        # Where all methods are equal on every question, the test divides by zero; then nothing speaks against equality.
        same = bool((matrix == matrix[0]).all())
        statistic, friedman = (0.0, 1.0) if same else map(float, friedmanchisquare(*matrix))
    tested = [(first, second, *_wilcoxon(values[first], values[second])) for first, second in combinations(ranks, 2)]
    rejected = friedman is None or friedman < ALPHA
    pairs = [
        RankPair(first, second, of_ranks, p, p_holm, rejected and p_holm < ALPHA)
        for (first, second, of_ranks, p), p_holm in zip(tested, holm([p for *_, p in tested]), strict=True)
    ]
    return Ranking(ranks, matrix.shape[1], statistic, friedman, pairs, _groups(list(ranks), pairs))


def _matrix(values: Mapping[str, Sequence[float]]) -> NDArray[np.float64]:
    """The values as an array of shape (methods, questions), rounded so that ties are ties."""
    import numpy as np

    lengths = {name: len(of_method) for name, of_method in values.items()}
    if len(lengths) < 2 or not min(lengths.values()) or len(set(lengths.values())) > 1:
        raise ValueError(f"expected two methods or more with a value for each question, found these numbers: {lengths}")
    matrix: NDArray[np.float64] = np.round(np.array(list(values.values()), float), DIGITS)
    if np.isnan(matrix).any():
        raise ValueError("expected numbers, found NaN")
    return matrix


def _wilcoxon(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    import numpy as np
    from scipy.stats import wilcoxon

    differences = np.round(np.subtract(first, second), DIGITS)  # 1 - 2/3 and 2/3 - 1/3 are ties
    if not differences.any():
        return 0.0, 1.0
    # The exact test takes long, and allows no ties.
    result = wilcoxon(differences, zero_method="pratt", method="approx")
    return float(result.statistic), float(result.pvalue)


def _groups(ranked: Sequence[str], pairs: Sequence[RankPair]) -> list[tuple[str, ...]]:
    """The longest runs of consecutive methods without two that differ; one inside another is left out."""
    differ = {frozenset((pair.first, pair.second)) for pair in pairs if pair.different}
    spans: list[tuple[int, int]] = []
    for start in range(len(ranked)):
        end = start + 1
        while end < len(ranked) and not any(frozenset((method, ranked[end])) in differ for method in ranked[start:end]):
            end += 1
        if end - start > 1 and not (spans and spans[-1][1] >= end):
            spans.append((start, end))
    return [tuple(ranked[start:end]) for start, end in spans]
