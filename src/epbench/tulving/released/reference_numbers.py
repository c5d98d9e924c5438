"""The scores of a run as the code of the paper prints them, to compare with its tables.

They differ from ours in three ways: F1 is not clipped to [0, 1], bin means are rounded to two decimals before they are
averaged, and the order is judged by the numbers that the published judge gave to the items. As in ours, repeats are
removed from the true items and from the items of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from epbench.metric_folders import metric_module
from epbench.tulving.judging.protocol import ScoredAnswer
from epbench.tulving.questions.generate import BINS
from epbench.tulving.scores.scoring import is_latest

Indexes = tuple[Sequence[int], Sequence[int]]


def reference_numbers(rows: Sequence[ScoredAnswer], indexes: Sequence[Indexes]) -> dict[str, Any]:
    """Compute the numbers of one run.

    Args:
        rows: The questions with the published verdicts; their scores are not clipped.
        indexes: For each row, the judge's numbers for the true items and for the items found, in their orders. They
            are only read where get is chronological.

    Returns:
        `simple_recall` and `chronological_awareness` with three decimals, `latest` and `all` as text such as `63.4%`,
        and `kendall_tau` with two decimals. A number is None if no question counts for it.
    """
    import numpy as np

    f1 = [unclipped_f1(row) for row in rows]
    recall = _bin_means(rows, f1, lambda row: row.get == "all")
    latest = _latest(_bin_means(rows, f1, is_latest))
    all_found, tau = _order([both for row, both in zip(rows, indexes, strict=True) if row.get == "chronological"])
    awareness = None
    if latest is not None and all_found is not None:  # both in percent
        awareness = _rounded(np.mean([latest / 100, max(0.0, all_found / 100 * (tau or 0.0))]), 3)
    return {
        "simple_recall": _rounded(np.mean([mean for mean, _ in recall]), 3) if recall else None,
        "chronological_awareness": awareness,
        "latest": None if latest is None else f"{latest:g}%",
        "all": None if all_found is None else f"{all_found:g}%",
        "kendall_tau": tau,
    }


def unclipped_f1(row: ScoredAnswer) -> float:
    """F1 of one question; the first score of a repeated true item counts, and a repeated item of the answer counts once."""
    first = dict(reversed(list(zip(row.reference, row.scores, strict=True))))
    f1: float = metric_module("episodic_f1").lenient_f1(len(set(row.items)), len(first), sum(first.values()))[2]
    return f1


def _bin_means(
    rows: Sequence[ScoredAnswer], f1: Sequence[float], counted: Callable[[ScoredAnswer], bool]
) -> list[tuple[float, int]]:
    """The rounded mean and the number of questions of every bin that has any."""
    import numpy as np

    means = []
    for bin_ in BINS:
        values = [value for row, value in zip(rows, f1, strict=True) if row.bin == bin_ and counted(row)]
        if values:
            means.append((float(np.round(np.mean(values), 2)), len(values)))
    return means


def _latest(means: Sequence[tuple[float, int]]) -> float | None:
    """The mean over the questions, in percent."""
    n = sum(count for _, count in means)
    return _rounded(100 * sum(mean * count for mean, count in means) / n, 2) if n else None


def _order(indexes: Sequence[Indexes]) -> tuple[float | None, float | None]:
    """How often all items were found, in percent, and the mean tau of those questions."""
    import numpy as np

    tau_of = metric_module("episodic_kendall_tau").tau_if_all_found
    # If the judge repeats a number, an answer cannot have all of its numbers.
    taus = [tau_of(found, true) if len(set(true)) == len(true) else None for true, found in indexes if len(true) > 1]
    all_found = [tau for tau in taus if tau is not None]
    share = _rounded(len(all_found) / len(taus) * 100, 2) if taus else None
    return share, _rounded(np.mean(all_found), 2) if all_found else None


def _rounded(value: Any, digits: int) -> float:
    import numpy as np

    return float(np.round(value, digits))
