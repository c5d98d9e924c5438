"""F1 of runs by any columns of their questions, and by bin when every item of an answer counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any, get_args

from epbench.errors import BadInput
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, Show, interval, of_source
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.statistics.smallest_difference import smallest_difference_of_means
from epbench.tulving.paper.inputs import EVENTS, Line
from epbench.tulving.paper.rows import INTERVALS, LOST, SPREAD, f1_of, forest, judge_notes, value
from epbench.tulving.questions.generate import BINS, Origin
from epbench.tulving.questions.templates import CUES, Get, Trace
from epbench.tulving.scores.question_files import COLUMNS

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

GROUPABLE = tuple(column for column, type_ in COLUMNS.items() if type_ in ("string", "int64"))
"""The columns of questions.parquet that hold one value of a few, or of many, which questions can share."""

_ORDERS: Mapping[str, Sequence[str]] = {
    "bin": BINS, "cue": CUES, "trace": get_args(Trace), "get": get_args(Get), "origin": get_args(Origin),
    "outcome": ("right", "wrong", "failed"),
}  # fmt: skip
MOST_ROWS = 60
"""More rows than this cannot be read in one figure."""

ALL_BINS = "all bins"
"""Stands for the simple recall score: the mean of the means of the bins."""

_HARSH = (
    "F1 is the paper's lenient one (Appendix B.3.2): precision counts at most as many items as there are true ones, so that "
    "naming more costs nothing, unless there is no true item. Harsh F1 counts every different item. Recall is the same in "
    "both, and so are answers that name no more items than are true, and all of bin 0.",
    "The loss is F1 less harsh F1 of the same questions; it cannot be negative, and no test is needed to see that it is more "
    "than nothing.",
    "Only questions that ask for all items count (get = all); bins count the matching chapters.",
)


def grouped(lines: Sequence[Line], by: Sequence[str]) -> Exhibit:
    """Mean F1 of all questions that share their values of some columns, for each run.

    Args:
        lines: The lines of runs, at least one.
        by: One or more of `GROUPABLE`, each once.

    Raises:
        BadInput: There is no run or no column, a column is named twice, or questions cannot be grouped by it.
    """
    _check(lines, by)
    rows: list[dict[str, Value]] = []
    for line in lines:
        for values, part in line.questions.groupby(list(by), dropna=False, sort=False):
            f1 = f1_of(part)
            known = [] if f1.n_failed else part["f1"].tolist()
            rows.append({
                **line.columns(), **dict(zip(by, map(_plain, values), strict=True)), **f1.columns("n", "n_failed"),
                "smallest": smallest_difference_of_means(known, paired=False), **f1.columns(*SPREAD, prefix="f1_"),
                **f1_of(part, "harsh_f1").columns(*SPREAD, prefix="harsh_f1_"),
            })  # fmt: skip
    rows.sort(key=lambda row: [_place(column, row[column]) for column in by])
    columns = [
        *(Column(name, _shown(name), text=True) for name in by),
        Column("run", of_source(), text=True), Column("F1", value("f1_")), Column("sd", "f1_sd"),
        Column("95 % interval", interval("f1_low", "f1_high")), Column("harsh F1", value("harsh_f1_")),
        Column("n", "n"), Column("failed", "n_failed"), Column("smallest difference", "smallest"),
    ]  # fmt: skip
    notes = [
        "F1: the mean over all questions of a group, whatever they ask for; add the column get to tell them apart.",
        "Harsh F1 counts every item of an answer for precision, F1 at most as many as are true.",
        INTERVALS,
        *([LOST] if any(row["n_failed"] for row in rows) else []),
        "Nothing is tested here. Smallest difference: between the means of two runs, each with so many questions and this "
        "deviation, that a two-sided t-test finds with power 0.8 at the level 0.05, without a correction for the number of "
        "groups; where questions share a cue, it takes a larger one.",
        *judge_notes(lines),
    ]

    def name_of(row: Row) -> str:
        return ", ".join(_text(row[name]) for name in by)

    plot = forest(rows, "f1_", name_of, of_source(), "mean F1") if len(set(map(name_of, rows))) <= MOST_ROWS else None
    sections = by[0] if len(lines) > 1 else ""
    title = f"Mean F1 by {' and '.join(by)}"
    return Exhibit(f"F1 by {', '.join(by)}", title, framed(rows), columns, notes, plot, sections=sections)


def _check(lines: Sequence[Line], by: Sequence[str]) -> None:
    there_are = f"expected one or more of {', '.join(GROUPABLE)}"
    if not lines:
        raise BadInput("no run whose questions could be grouped")
    if not by:
        raise BadInput(f"questions are grouped by columns: {there_are}; found none")
    for number, column in enumerate(by):
        if column in by[:number]:
            raise BadInput(f"questions are grouped by each column once; found {column!r} twice")
        if column not in GROUPABLE:
            kind = ", a list" if isinstance(COLUMNS.get(column), list) else ""
            kind = ", which is what is averaged" if COLUMNS.get(column) == "double" else kind
            raise BadInput(f"questions cannot be grouped by {column!r}{kind}; {there_are}")


def _plain(value: Any) -> Value:
    """A value of a data frame as a text, a number or None."""
    import pandas as pd

    if pd.isna(value):
        return None
    plain: Value = value.item() if hasattr(value, "item") else value
    return plain


def _place(column: str, value: Value) -> tuple[bool, float, str]:
    """Where a group stands: in the order of the benchmark, by number or by name; nulls last."""
    known = _ORDERS.get(column, ())
    number = value if isinstance(value, int | float) else known.index(value) if value in known else len(known)
    return value is None, float(number), str(value)


def _shown(name: str) -> Show:
    return lambda row: _text(row[name])


def _text(value: Value) -> str:
    return "not given" if value is None else str(value)


def harsh(lines: Sequence[Line]) -> Exhibit | Missing:
    """Both F1 of each run by bin, and over all bins: how much a run owes to items that cost it nothing."""
    name, title = "Harsh F1", "F1 by bin when every item of an answer counts, beside the lenient F1"
    rows = [row for line in lines for row in _harsh_rows(line)]
    if not rows:
        return Missing(name, title, "runs with questions that ask for all items (get = all)")
    columns = [
        Column("run", of_source(), text=True), Column("bin", "bin", text=True), Column("F1", value("f1_")),
        Column("harsh F1", value("harsh_f1_")), Column("loss", "loss_mean"),
        Column("95 % interval of the loss", interval("loss_low", "loss_high")), Column("n", "n"),
        Column("failed", "n_failed"),
    ]  # fmt: skip
    notes = [*_HARSH, INTERVALS, *([LOST] if any(row["n_failed"] for row in rows) else []), *judge_notes(lines)]
    order = (ALL_BINS, *BINS)
    drawn = sorted(rows, key=lambda row: order.index(str(row["bin"])))
    plot = forest(drawn, "loss_", "bin", of_source(), "F1 less harsh F1")
    return Exhibit(name, title, framed(rows), columns, notes, plot, sections="label")


def _harsh_rows(line: Line) -> list[dict[str, Value]]:
    questions = line.questions.assign(loss=line.questions["f1"] - line.questions["harsh_f1"])
    asked = questions[questions["get"] == "all"]
    parts: dict[str, pd.DataFrame] = {
        bin_: asked[asked["bin"] == bin_] for bin_ in BINS if (asked["bin"] == bin_).any()
    }
    rows: list[dict[str, Value]] = []
    for bin_ in (ALL_BINS, *parts) if parts else ():
        f1, harsh_f1, loss = (
            over_bins(questions, column) if bin_ == ALL_BINS else f1_of(parts[bin_], column)
            for column in ("f1", "harsh_f1", "loss")
        )
        rows.append({
            **line.columns(), "bin": bin_, **f1.columns("n", "n_failed"), **f1.columns(*SPREAD, prefix="f1_"),
            **harsh_f1.columns(*SPREAD, prefix="harsh_f1_"), **loss.columns("mean", "sd", "low", "high", prefix="loss_"),
        })  # fmt: skip
    return rows


def over_bins(questions: pd.DataFrame, column: str) -> Estimate:
    """The mean of the means of the bins, as the simple recall score is one, with its interval; it has no deviation.

    Args:
        questions: All questions of a run; only those with get = all count, of which there is one.
        column: A column of 0 to 1.
    """
    asked = questions[questions["get"] == "all"]
    of_bins = {bin_: estimate(part, column) for bin_, part in asked.groupby("bin")}
    n, n_failed = (sum(getattr(one, name) or 0 for one in of_bins.values()) for name in ("n", "n_failed"))
    if n_failed:
        lowest, highest = (
            fmean(one.mean if one.mean is not None else getattr(one, end) for one in of_bins.values())
            for end in ("lowest", "highest")
        )
        return Estimate(n, n_failed, lowest=lowest, highest=highest)
    judged = questions[questions["outcome"] != "failed"]  # the cues of all of them are drawn, as in scores.json
    values, counts = judged[column].to_numpy(float), (judged["get"] == "all").to_numpy()
    chosen = [counts & (judged["bin"] == bin_).to_numpy() for bin_ in of_bins]

    def mean(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        total: NDArray[np.float64] = sum(weighted_mean(weights * of_bin, values) for of_bin in chosen)  # type: ignore[assignment]
        return total / len(chosen)

    low, high = cluster_bootstrap(mean, judged[EVENTS].tolist()) or (None, None)
    return Estimate(n, 0, fmean(one.mean or 0.0 for one in of_bins.values()), low=low, high=high)
