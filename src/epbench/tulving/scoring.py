"""From judged answers to the scores of a run (paper: Section 4.3, Appendix B.3; Tables 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from epbench.errors import RunFailed
from epbench.metric_folders import metric_module
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.tulving.questions import BINS
from epbench.tulving.templates import Get

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Judged:
    """One question with the verdict on its answer.

    Attributes:
        id: of the question.
        get, bin, n_chapters: of the question.
        cue: its given values; questions of one cue are one cluster.
        truth: true items, repeats included.
        items: found in the answer.
        scores: one per true item, in [0, 1].
        order: the true items found, as the answer orders them; only used where get is chronological.
    """

    id: str
    get: Get
    bin: str
    n_chapters: int
    cue: tuple[str | None, ...]
    truth: Sequence[str]
    items: Sequence[str]
    scores: Sequence[float]
    order: Sequence[str]


def score_run(rows: Sequence[Judged], *, n_failed: int = 0) -> dict[str, Any]:
    """The content of scores.json.

    Args:
        rows: the judged answers; failed questions are not among them.
        n_failed: number of questions without an answer or a verdict: neither right nor wrong.

    Returns:
        simple_recall_score and f1_by_bin (get = all), latest (get = latest, two or more chapters), all_matched and
        kendall_tau (get = chronological, two or more true items), chronological_awareness, n_questions, n_failed,
        n_by_bin, intervals. A score without a question is None.

    Raises:
        RunFailed: no row at all.
    """
    if not rows:
        raise RunFailed(f"nothing to score: all {n_failed} questions failed; start the run again to retry them")
    f1 = question_f1(rows)
    recall = f1_by_bin(rows, f1)
    latest = [value for row, value in zip(rows, f1, strict=True) if is_latest(row)]
    taus = [_tau(row) for row in rows if has_order(row)]
    found = [tau for tau in taus if tau is not None]
    scores: dict[str, Any] = {
        "simple_recall_score": mean(list(recall.values())),
        "f1_by_bin": recall,
        "latest": mean(latest),
        "all_matched": len(found) / len(taus) if taus else None,
        "kendall_tau": mean(found),
    }
    scores["chronological_awareness"] = chronological_awareness(
        scores["latest"], scores["all_matched"], scores["kendall_tau"]
    )
    scores["n_questions"] = len(rows) + n_failed
    scores["n_failed"] = n_failed
    scores["n_by_bin"] = {bin_: sum(row.get == "all" and row.bin == bin_ for row in rows) for bin_ in recall}
    scores["intervals"] = _intervals(rows, f1)
    return scores


def question_f1(rows: Sequence[Judged]) -> list[float]:
    """F1 of each question, by the metric `episodic_f1`."""
    metric = metric_module("episodic_f1").EpisodicF1(keep_in_memory=True)
    result = metric.compute(
        predictions=[list(row.items) for row in rows],
        references=[list(row.truth) for row in rows],
        matching_scores=[list(row.scores) for row in rows],
    )
    return [question["f1"] for question in result["per_question"]]


def is_latest(row: Judged) -> bool:
    """Whether the question counts for `latest`: with one chapter there is nothing to keep apart."""
    return row.get == "latest" and row.n_chapters >= 2


def has_order(row: Judged) -> bool:
    """Whether the question counts for Kendall's tau."""
    return row.get == "chronological" and len(set(row.truth)) >= 2


def chronological_awareness(latest: float | None, all_matched: float | None, tau: float | None) -> float | None:
    """Mean of the latest state and of the order, where a negative order counts as none."""
    if latest is None or all_matched is None:
        return None
    return (latest + max(0.0, all_matched * (tau or 0.0))) / 2


def _tau(row: Judged) -> float | None:
    tau: float | None = metric_module("episodic_kendall_tau").tau_if_all_found(row.order, row.truth)
    return tau


def f1_by_bin(rows: Sequence[Judged], f1: Sequence[float]) -> dict[str, float]:
    """Mean F1 of the questions with get = all, by bin; bins without a question are left out."""
    by_bin: dict[str, list[float]] = {bin_: [] for bin_ in BINS}
    for row, value in zip(rows, f1, strict=True):
        if row.get == "all":
            by_bin[row.bin].append(value)
    return {bin_: math.fsum(values) / len(values) for bin_, values in by_bin.items() if values}


def mean(values: Sequence[float]) -> float | None:
    """None of nothing."""
    return math.fsum(values) / len(values) if values else None


def _intervals(rows: Sequence[Judged], f1: Sequence[float]) -> dict[str, list[float]]:
    """95 % intervals by drawing cues with replacement, for every score that has one."""
    import numpy as np

    def mean_of(chosen: Sequence[bool], values: Sequence[float]) -> tuple[list[tuple[str | None, ...]], Any]:
        where = np.array(chosen)
        picked = np.array(values)[where]
        clusters = [row.cue for row, yes in zip(rows, chosen, strict=True) if yes]
        return clusters, lambda weights: weighted_mean(weights, picked)

    taus = [_tau(row) if has_order(row) else None for row in rows]
    of_bin = {bin_: [row.get == "all" and row.bin == bin_ for row in rows] for bin_ in BINS}
    questions = {f"f1_by_bin.{bin_}": mean_of(chosen, f1) for bin_, chosen in of_bin.items() if any(chosen)}
    questions["latest"] = mean_of([is_latest(row) for row in rows], f1)
    questions["all_matched"] = mean_of([has_order(row) for row in rows], [float(tau is not None) for tau in taus])
    questions["kendall_tau"] = mean_of([tau is not None for tau in taus], [tau or 0.0 for tau in taus])
    questions["simple_recall_score"] = (
        [row.cue for row in rows],
        lambda weights: _recall_under(weights, [chosen for chosen in of_bin.values() if any(chosen)], f1),
    )
    questions["chronological_awareness"] = (
        [row.cue for row in rows],
        lambda weights: _awareness_under(weights, rows, f1, taus),
    )
    found = {name: cluster_bootstrap(statistic, clusters) for name, (clusters, statistic) in questions.items()}
    return {name: list(interval) for name, interval in found.items() if interval is not None}


def _recall_under(
    weights: NDArray[np.float64], bins: Sequence[Sequence[bool]], f1: Sequence[float]
) -> NDArray[np.float64]:
    """Mean over the bins of the weighted mean F1."""
    import numpy as np

    means = [weighted_mean(weights * np.array(chosen), np.array(f1)) for chosen in bins]
    total: NDArray[np.float64] = np.mean(means, axis=0) if means else np.full(len(weights), np.nan)
    return total


def _awareness_under(
    weights: NDArray[np.float64], rows: Sequence[Judged], f1: Sequence[float], taus: Sequence[float | None]
) -> NDArray[np.float64]:
    """Chronological awareness under weights; all_matched·tau is the mean of tau over all ordered questions."""
    import numpy as np

    latest = weighted_mean(weights * np.array([is_latest(row) for row in rows]), np.array(f1))
    ordered = weights * np.array([has_order(row) for row in rows])
    order = weighted_mean(ordered, np.array([tau or 0.0 for tau in taus]))
    total: NDArray[np.float64] = (latest + np.maximum(0, order)) / 2
    return total
