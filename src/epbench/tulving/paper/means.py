"""The mean of a value over some questions of a run, with its interval; a range in its place where questions were lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Value, marked
from epbench.models.protocol import name_of
from epbench.reports.tables import interval_cell
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.tulving.paper.dots import Point
from epbench.tulving.paper.inputs import Inputs, PaperRun
from epbench.tulving.paper.lines import lines_of
from epbench.tulving.scores.tables import judge_names

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

Interval = tuple[float, float]

CUE = ("time", "space", "entity", "content")
"""The columns that a cue fills; questions that share all of them are about the same chapters."""

INTERVALS = "Intervals: 95 %, cues drawn with replacement, because questions with the same cue share their chapters."
LOST = "A range stands for a mean that has lost questions: from all of the failed ones wrong to all of them right."


@dataclass(frozen=True)
class Mean:
    """The mean of a value over some questions.

    Attributes:
        n: How many there are; a question that was asked several times counts each time.
        n_failed: How many of them have no answer or no verdict.
        value: The mean; None without questions, and if some of them failed.
        deviation: The sample standard deviation; None without a mean, and for a single question.
        interval: The 95 % interval of the mean; None without a mean, and for questions with a single cue.
        bounds: The mean if all failed questions are wrong (0) and if all are right (1); None if none has failed.
    """

    n: int
    n_failed: int
    value: float | None
    deviation: float | None
    interval: Interval | None
    bounds: Interval | None

    def text(self) -> str:
        """The mean as the text of a cell: `0.830`, a range such as `0.700–0.900`, or a dash without questions."""
        return interval_cell(self.bounds) if self.value is None else f"{self.value:.3f}"

    def point(self) -> Point:
        """The mean as a point of a figure."""
        return self.value, self.interval

    def fields(self, name: str) -> dict[str, Value]:
        """The columns of a record, their names beginning with `name`."""
        low, high = self.interval or (None, None)
        worst, best = self.bounds or (None, None)
        return {
            name: self.value, f"{name}_sd": self.deviation, f"{name}_low": low, f"{name}_high": high,
            f"{name}_if_failed_wrong": worst, f"{name}_if_failed_right": best,
        }  # fmt: skip


def mean_of(questions: pd.DataFrame, column: str) -> Mean:
    """The mean of a column of 0 to 1 over rows of questions.parquet."""
    judged = questions[questions["outcome"] != "failed"]
    values, n = judged[column].to_numpy(float), len(questions)
    n_failed = n - len(judged)
    if not n:
        return Mean(0, 0, None, None, None, None)
    if n_failed:
        low = float(values.sum()) / n
        return Mean(n, n_failed, None, None, None, (low, low + n_failed / n))
    deviation = float(values.std(ddof=1)) if n > 1 else None
    interval = cluster_bootstrap(lambda weights: weighted_mean(weights, values), cues_of(judged))
    return Mean(n, 0, float(values.mean()), deviation, interval, None)


def mean_over_bins(questions: pd.DataFrame, column: str, bins: Sequence[str]) -> Mean:
    """The mean of the means of the bins, as the simple recall score is one, with its interval; it has no deviation.

    Args:
        questions: All rows of questions.parquet; only those with get = all count.
        column: A column of 0 to 1.
        bins: The bins, each with a question that counts.
    """
    asked = questions[questions["get"] == "all"]
    means = [mean_of(asked[asked["bin"] == bin_], column) for bin_ in bins]
    n, n_failed = sum(mean.n for mean in means), sum(mean.n_failed for mean in means)
    if n_failed:
        low, high = zip(*(mean.bounds or (mean.value or 0.0, mean.value or 0.0) for mean in means), strict=True)
        return Mean(n, n_failed, None, None, None, (sum(low) / len(bins), sum(high) / len(bins)))
    judged = questions[questions["outcome"] != "failed"]  # the cues of all of them are drawn, as in scores.json
    values, counts = judged[column].to_numpy(float), (judged["get"] == "all").to_numpy()
    chosen = [counts & (judged["bin"] == bin_).to_numpy() for bin_ in bins]

    def over_bins(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        total: NDArray[np.float64] = sum(weighted_mean(weights * of_bin, values) for of_bin in chosen)  # type: ignore[assignment]
        return total / len(bins)

    value = sum(mean.value or 0.0 for mean in means) / len(bins)
    return Mean(n, 0, value, None, cluster_bootstrap(over_bins, cues_of(judged)), None)


def cues_of(questions: pd.DataFrame) -> list[tuple[str, ...]]:
    """The cue of each question; what is not given is empty."""
    return list(questions[list(CUE)].fillna("").itertuples(index=False, name=None))


def as_named(runs: Sequence[PaperRun]) -> list[PaperRun]:
    """The runs with the label, the memory and the model that all tables give them, and in their order."""
    lines = lines_of(Inputs(runs))
    return [
        replace(line.run, label=line.label, memory=line.memory, model=line.model)
        for line in lines
        if line.run is not None
    ]


def about(run: PaperRun) -> dict[str, Value]:
    """The columns of a record that say which run it is about."""
    return {
        "label": run.label, "source": run.source, "model": name_of(run.model), "memory": run.memory, "book": run.book
    }  # fmt: skip


def shown(run: PaperRun) -> str:
    """The run in the first column of a table."""
    return marked(run.label, run.source)


def judge_notes(runs: Sequence[PaperRun]) -> list[str]:
    """Who judged, and a warning if it was not one judge."""
    judges = dict.fromkeys(judge_names({str(run.folder): run.scores for run in runs}).values())
    if len(judges) < 2:
        return [f"Judge: {judge}." for judge in judges]
    return [f"The judges differ ({', '.join(judges)}), and scores from different judges are not comparable."]
