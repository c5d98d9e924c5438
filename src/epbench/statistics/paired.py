"""Two runs on the same questions: how much they differ, whether that may be chance, and several such comparisons at once.

At the end stands the correlation of two measures of the same questions.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.errors import RunFailed
from epbench.statistics.intervals import bootstrap_values, cluster_bootstrap, weighted_mean

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


DIGITS = 12  # smaller differences of two runs come from rounding, and count as ties


@dataclass(frozen=True, slots=True)
class Paired:
    """How the values of two runs differ, question by question."""

    n: int  # the number of questions
    means: tuple[float, float]  # the means of the first and of the second run
    difference: float  # the mean of the first run minus the mean of the second
    interval: tuple[float, float] | None  # its 95 % interval, drawing clusters; None with fewer than two of them
    wins: int  # the number of questions, or of units, on which the first run is better
    ties: int  # the number on which both are equal
    losses: int  # the number on which the first run is worse
    # The two-sided p-value: of Wilcoxon's signed-rank test (`paired`; ties are ranked and then dropped, after Pratt), or of
    # McNemar's exact test (`paired_outcomes`). 1 if all questions are ties.
    p: float
    # The two-sided p-value of McNemar's test by chi-square with continuity correction, on the same units; None for `paired`.
    # It is there to be set beside published values (Appendix F.2), which are not corrected for their number, so that Holm's
    # correction is applied to p alone.
    p_corrected: float | None


def paired(first: Sequence[float], second: Sequence[float], clusters: Sequence[object]) -> Paired:
    """Compare two runs by values such as F1; ValueError if there is no question, or the lengths differ."""
    from scipy.stats import wilcoxon

    def tested(differences: NDArray[np.float64], wins: int, losses: int) -> tuple[float, None]:
        return float(wilcoxon(differences, zero_method="pratt").pvalue) if wins + losses else 1.0, None

    return _paired(first, second, clusters, None, tested)


def paired_outcomes(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[object], units: Sequence[object] | None = None
) -> Paired:
    """Compare two runs by answers that are right (1) or wrong (0).

    McNemar's test asks whether each run alone got about as many questions right as the other run alone. It treats its
    units as independent; the interval, which draws clusters, does not.

    With continuity correction the statistic is (|wins - losses| - 1)² / (wins + losses). Where wins and losses are equal,
    and not 0, the correction overshoots: the statistic is 1 / (wins + losses) instead of 0, so that p_corrected is a little
    below 1 (0.48 for one of each, 0.92 for fifty of each), where p is 1. It stays as it is, as published values have it too.

    Outcomes, clusters and units are those of each question, in the same order. Questions of one unit, such as two askings of
    one pair, count once, by their sum; each is a unit of its own unless given. ValueError if there is no question, the
    lengths differ, or a value is neither 0 nor 1.
    """
    from scipy.stats import binomtest, chi2

    def tested(differences: NDArray[np.float64], wins: int, losses: int) -> tuple[float, float]:
        if not (n := wins + losses):
            return 1.0, 1.0
        return float(binomtest(wins, n).pvalue), float(chi2.sf((abs(wins - losses) - 1) ** 2 / n, 1))

    if not set(first) | set(second) <= {0, 1}:
        raise ValueError("outcomes: expected 0 and 1 only, found another value")
    return _paired(first, second, clusters, units, tested)


def _paired(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[object],
    units: Sequence[object] | None,
    tested: Callable[[NDArray[np.float64], int, int], tuple[float, float | None]],
) -> Paired:
    """Compare two runs by a test that takes the difference of each unit, and the numbers of wins and of losses."""
    import numpy as np

    if not len(first) == len(second) == len(clusters) or not first:
        raise ValueError(
            f"expected as many of each, found {len(first)} and {len(second)} values and {len(clusters)} clusters"
        )
    differences: NDArray[np.float64] = np.round(np.array(first, float) - np.array(second, float), DIGITS)
    by_unit = differences
    if units:
        names = np.unique(list(map(str, units)), return_inverse=True)[1]
        by_unit = np.bincount(names, weights=differences).astype(np.float64)
    wins, losses = int((by_unit > 0).sum()), int((by_unit < 0).sum())
    interval = cluster_bootstrap(lambda weights: weighted_mean(weights, differences), clusters)
    means, ties = (sum(first) / len(first), sum(second) / len(second)), len(by_unit) - wins - losses
    p, p_corrected = tested(by_unit, wins, losses)
    return Paired(len(first), means, float(differences.mean()), interval, wins, ties, losses, p, p_corrected)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number, by Holm."""
    import numpy as np

    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return [float(value) for value in corrected]


@dataclass(frozen=True, slots=True)
class PairedEstimate:
    """The paired mean difference of two runs."""

    n: int  # the number of questions
    differences: list[float]  # the second value minus the first, question by question
    mean: float  # their mean
    interval: tuple[float, float]  # the 95 % percentile interval of the mean, drawing clusters with replacement
    resampled: list[float]  # the mean of each resample


def paired_estimate(
    first: Sequence[float], second: Sequence[float], clusters: Sequence[object], *, resamples: int = 5000
) -> PairedEstimate:
    """Estimate how much higher the second of two runs is on the same questions, drawing clusters, at least two."""
    import numpy as np

    differences = np.array(second, float) - np.array(first, float)
    means = bootstrap_values(lambda weights: weighted_mean(weights, differences), clusters, resamples=resamples)
    low, high = map(float, np.quantile(means, [0.025, 0.975]))
    mean = float(differences.mean())
    return PairedEstimate(len(differences), differences.tolist(), mean, (low, high), means.tolist())


Question = TypeVar("Question")

Progress = Callable[[Sequence[tuple[str, str]]], Iterable[tuple[str, str]]]
"""Wraps the names of any two runs that are to be compared, to show a progress bar; `iter` shows none."""


@dataclass(frozen=True)
class Comparison:
    """All comparisons of any two of several runs."""

    score: str  # the score that is compared, such as "accuracy"
    # What `compare_two` returns for each comparison, with p_holm, and `beside` where other numbers of both runs stand
    # beside the score, by their names.
    pairs: list[dict[str, Any]]
    about: dict[str, Any] = field(default_factory=dict)  # what all runs have in common, such as their judge
    left_out: list[str] = field(default_factory=list)  # what was not compared and what else readers must know


def compare_two(
    names: tuple[str, str],
    values: Sequence[Mapping[Question, float]],
    *,
    cluster_of: Callable[[Question], object],
    unit_of: Callable[[Question], object] | None = None,
    outcomes: bool = False,
) -> dict[str, Any]:
    """Compare the values of two runs by the questions that each has answered; the interval draws whole clusters.

    With `outcomes`, the values are 0 (wrong) or 1 (right), and McNemar's test counts a unit once, for example the pair
    that two questions ask about; each question is a unit of its own unless given. RunFailed if no question was answered
    by both. Beside the fields of `Paired`, `runs` has the names; `alone` for each run n and mean (None without questions) over
    the questions that only this run has answered; and `n_one_sided` the sum of these n.
    """
    first, second = values
    shared = [question for question in first if question in second]
    if not shared:
        raise RunFailed(f"{names[0]} and {names[1]} have no answered question in common")
    first_values, second_values = [first[question] for question in shared], [second[question] for question in shared]
    clusters = [cluster_of(question) for question in shared]
    if outcomes:
        units = [unit_of(question) for question in shared] if unit_of else None
        result = paired_outcomes(first_values, second_values, clusters, units)
    else:
        result = paired(first_values, second_values, clusters)
    alone = [_alone(first, second), _alone(second, first)]
    return {"runs": list(names), "n_one_sided": alone[0]["n"] + alone[1]["n"], "alone": alone, **asdict(result)}


def compare_outcomes(
    names: tuple[str, str],
    tables: Sequence[pd.DataFrame],
    *,
    cluster: str,
    unit_of: Callable[[str], object] | None = None,
) -> dict[str, Any]:
    """Compare how much of the same questions two runs got right; n_failed of each are left out. See `compare_two`.

    The tables have a row for each question: id, outcome (`right`, `wrong` or `failed`), and the column of its cluster.
    """
    answered = [table[table["outcome"] != "failed"] for table in tables]
    values = [dict(zip(table["id"], map(float, table["outcome"] == "right"), strict=True)) for table in answered]
    clusters = dict(zip(answered[0]["id"], answered[0][cluster], strict=True))
    pair = compare_two(names, values, cluster_of=clusters.__getitem__, unit_of=unit_of, outcomes=True)
    return pair | {"n_failed": [len(table) - len(rest) for table, rest in zip(tables, answered, strict=True)]}


def with_holm(found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add p_holm to each comparison: its p, corrected by Holm for the number of comparisons."""
    corrected = holm([pair["p"] for pair in found])
    return [pair | {"p_holm": p} for pair, p in zip(found, corrected, strict=True)]


def notes_on(comparison: Comparison) -> list[str]:
    """What the comparisons leave out and what else readers must know, in full sentences."""
    return [*(note for pair in comparison.pairs for note in _notes_on(pair)), *comparison.left_out]


def _notes_on(pair: Mapping[str, Any]) -> list[str]:
    names = " / ".join(pair["runs"])
    notes = []
    if any(failed := pair.get("n_failed", [0, 0])):
        notes.append(f"{names}: {failed[0]} and {failed[1]} failed questions are left out")
    if pair["n_one_sided"]:
        parts = [
            f"{name} alone answered {alone['n']} (mean {alone['mean']:.3f} on these, {mean:.3f} on the shared ones)"
            for name, alone, mean in zip(pair["runs"], pair["alone"], pair["means"], strict=True)
            if alone["n"]
        ]
        notes.append(
            f"{names}: {pair['n_one_sided']} questions answered by only one are left out; the {pair['n']} that remain "
            f"may be easier than the whole: {', '.join(parts)}"
        )
    return notes


def _alone(values: Mapping[Question, float], other: Mapping[Question, float]) -> dict[str, Any]:
    alone = [value for question, value in values.items() if question not in other]
    return {"n": len(alone), "mean": sum(alone) / len(alone) if alone else None}


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
