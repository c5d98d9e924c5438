"""What runs score and name by groups of questions.

F1 by any columns of the questions; F1 by bin when every item of an answer counts; and what is named in answer to questions
about events that never happened (paper: Appendix E.8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any, get_args

from epbench.errors import BadInput
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, exhibit, interval
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean, wilson
from epbench.statistics.smallest_difference import smallest_difference_of_means, smallest_difference_of_rates
from epbench.tulving.paper.inputs import EVENTS, Line, runs_among
from epbench.tulving.paper.rows import (
    INTERVALS,
    RUN,
    SPREAD,
    asked_for_all,
    f1_of,
    forest,
    judge_notes,
    lost_notes,
    reported,
    texts,
    value,
)
from epbench.tulving.questions.fake_events import Origin
from epbench.tulving.questions.generate import BINS
from epbench.tulving.questions.templates import CUES, Get, Trace
from epbench.tulving.scores.run_files import COLUMNS

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

_COUNTS = (Column("n", "n"), Column("failed", "n_failed"))
_F1, _HARSH_F1 = Column("F1", value("f1_")), Column("harsh F1", value("harsh_f1_"))

# F1 by any columns of the questions

GROUPABLE = tuple(column for column, type_ in COLUMNS.items() if type_ in ("string", "int64"))
"""The columns of questions.parquet that hold one value of a few, or of many, which questions can share."""

_ORDERS: Mapping[str, Sequence[str]] = {
    "bin": BINS,
    "cue": CUES,
    "trace": get_args(Trace),
    "get": get_args(Get),
    "origin": get_args(Origin),
    "outcome": ("right", "wrong", "failed"),
}
MOST_ROWS = 60  # more cannot be read in one figure


def grouped(lines: Sequence[Line], by: Sequence[str]) -> Exhibit:
    """Mean F1 of all questions that share their values of some columns, one or more of `GROUPABLE`, for each run."""
    _check(lines, by)
    rows: list[dict[str, Value]] = []
    for line in lines:
        for values, part in line.questions.groupby(list(by), dropna=False, sort=False):
            f1, harsh_f1 = f1_of(part), f1_of(part, "harsh_f1")
            smallest = smallest_difference_of_means([] if f1.n_failed else part["f1"].tolist(), paired=False)
            about = line.columns() | dict(zip(by, map(_plain, values), strict=True)) | f1.columns("n", "n_failed")
            means = f1.columns(*SPREAD, prefix="f1_") | harsh_f1.columns(*SPREAD, prefix="harsh_f1_")
            rows.append({**about, "smallest": smallest, **means})
    rows.sort(key=lambda row: [_place(column, row[column]) for column in by])
    keys = (Column(name, lambda row, name=name: _text(row[name]), text=True) for name in by)  # type: ignore[misc]
    spread = Column("sd", "f1_sd"), Column("95 % interval", interval("f1_low", "f1_high"))
    columns = [*keys, RUN, _F1, *spread, _HARSH_F1, *_COUNTS, Column("smallest difference", "smallest")]
    notes = [
        "F1: the mean over all questions of a group, whatever they ask for; add the column get to tell them apart.",
        "Harsh F1 counts every item of an answer for precision, F1 at most as many as are true.",
        INTERVALS,
        *lost_notes(rows),
        "Nothing is tested here. Smallest difference: between the means of two runs, each with so many questions and this "
        "deviation, that a two-sided t-test finds with power 0.8 at the level 0.05, without a correction for the number of "
        "groups; where questions share a cue, it takes a larger one.",
        *judge_notes(lines),
    ]

    def group(row: Row) -> str:
        return ", ".join(_text(row[name]) for name in by)

    plot = forest(rows, "f1_", group, "mean F1") if len(set(map(group, rows))) <= MOST_ROWS else None
    title, sections = f"Mean F1 by {' and '.join(by)}", by[0] if len(lines) > 1 else ""
    return Exhibit(f"F1 by {', '.join(by)}", title, framed(rows), columns, notes, plot, sections=sections)


def _check(lines: Sequence[Line], by: Sequence[str]) -> None:
    there_are = f"expected one or more of {', '.join(GROUPABLE)}"
    if not lines:
        raise BadInput("no run whose questions could be grouped")
    if not by:
        raise BadInput(f"questions are grouped by columns: {there_are}; found none")
    for column in by:
        if list(by).count(column) > 1:
            raise BadInput(f"questions are grouped by each column once; found {column!r} twice")
        if column not in GROUPABLE:
            type_ = COLUMNS.get(column)
            kind = ", which is what is averaged" if type_ == "double" else ", a list" if isinstance(type_, list) else ""
            raise BadInput(f"questions cannot be grouped by {column!r}{kind}; {there_are}")


def _plain(value: Any) -> Value:
    """A value of a data frame as a text, a number or None."""
    import pandas as pd

    plain: Value = None if pd.isna(value) else value.item() if hasattr(value, "item") else value
    return plain


def _place(column: str, value: Value) -> tuple[bool, float, str]:
    """Where a group stands: in the order of the benchmark, by number or by name; nulls last."""
    known = _ORDERS.get(column, ())
    number = value if isinstance(value, int | float) else known.index(value) if value in known else len(known)
    return value is None, float(number), str(value)


def _text(value: Value) -> str:
    return "not given" if value is None else str(value)


# F1 by bin when every item counts

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


def harsh(lines: Sequence[Line]) -> Exhibit | Missing:
    """Both F1 of each run by bin, and over all bins: how much a run owes to items that cost it nothing."""
    name, title = "Harsh F1", "F1 by bin when every item of an answer counts, beside the lenient F1"
    rows = []
    for line in lines:
        questions = line.questions.assign(loss=line.questions["f1"] - line.questions["harsh_f1"])
        parts: dict[Any, pd.DataFrame] = dict(list(questions[questions["get"] == "all"].groupby("bin")))
        for bin_ in (ALL_BINS, *(bin_ for bin_ in BINS if bin_ in parts)) if parts else ():
            f1, harsh_f1, less = (
                over_bins(questions, column) if bin_ == ALL_BINS else f1_of(parts[bin_], column)
                for column in ("f1", "harsh_f1", "loss")
            )
            both = f1.columns(*SPREAD, prefix="f1_") | harsh_f1.columns(*SPREAD, prefix="harsh_f1_")
            loss = less.columns("mean", "sd", "low", "high", prefix="loss_")
            rows.append({**line.columns(), "bin": bin_, **f1.columns("n", "n_failed"), **both, **loss})
    of_loss = Column("loss", "loss_mean"), Column("95 % interval of the loss", interval("loss_low", "loss_high"))
    columns = [RUN, *texts("bin"), _F1, _HARSH_F1, *of_loss, *_COUNTS]
    notes = [*_HARSH, INTERVALS, *lost_notes(rows), *judge_notes(lines)]
    drawn = sorted(rows, key=lambda row: (ALL_BINS, *BINS).index(str(row["bin"])))
    plot = forest(drawn, "loss_", "bin", "F1 less harsh F1")
    needs = "runs with questions that ask for all items (get = all)"
    return exhibit(name, title, rows, columns, notes, plot, needs=needs, sections="label")


def over_bins(questions: pd.DataFrame, column: str) -> Estimate:
    """The mean of the means of the bins of get = all, as the simple recall score is one, with its interval; no deviation."""
    of_bins = [estimate(part, column) for _, part in questions[questions["get"] == "all"].groupby("bin")]
    n, n_failed = sum(one.n or 0 for one in of_bins), sum(one.n_failed or 0 for one in of_bins)
    if n_failed:
        lowest, highest = (
            fmean(one.mean if one.mean is not None else getattr(one, end) for one in of_bins)
            for end in ("lowest", "highest")
        )
        return Estimate(n, n_failed, lowest=lowest, highest=highest)
    judged = questions[questions["outcome"] != "failed"]  # the cues of all of them are drawn, as in scores.json
    values, bins = judged[column].to_numpy(float), judged["bin"].where(judged["get"] == "all")
    chosen = [(bins == bin_).to_numpy() for bin_ in sorted(bins.dropna().unique())]

    def mean(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        total: NDArray[np.float64] = sum(weighted_mean(weights * of_bin, values) for of_bin in chosen)  # type: ignore[assignment]
        return total / len(chosen)

    seen = min((judged[EVENTS][of_bin].nunique() for of_bin in chosen), default=None)
    low, high = cluster_bootstrap(mean, judged[EVENTS].tolist(), bounds=(0.0, 1.0), seen=seen) or (None, None)
    return Estimate(n, 0, fmean(one.mean or 0.0 for one in of_bins), low=low, high=high)


# What is named where nothing matches

BOTH, INNER, OUTER = ORIGINS = ("both", "inner", "outer")
SCORE = "hallucinations"  # in reported rows; the share of one origin is `hallucinations.inner`

_NAMED = (
    "Questions of bin 0 that ask for all items (get = all): nothing matches, and the right answer names nothing. Inner ones "
    "are made of what happens in the book, but never together; outer ones name something that is nowhere in the book.",
    "An answer hallucinates if the judge found at least one item in it. Its F1 is 0 then, and 1 otherwise; items are the "
    "mean number of different items of all answers, abstentions included.",
    "Intervals of shares: Wilson's, 95 %, as if the questions were independent; several are made from one chapter. There are "
    "none where questions were asked several times. Nothing is tested here.",
)
_LOST = (
    "A range stands for a share that has lost questions: from none of the failed ones naming something to all of them."
)
_USED = ["id", "trace", "cue", "origin", "outcome", "answer", "items", "f1", EVENTS]  # wide frames are slow to divide
_LETTERS = "A cue gives time (t), space (s), entity (e) and content (c), or some of them."


def hallucinations(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """The shares by origin, and the same by the kind of item asked for and by what the cue gives."""
    name, title = "E.8", "Answers that name something although nothing in the book matches"
    empty = [(line, of.loc[of["bin"] == "0", _USED]) for line in runs_among(lines) for of in [asked_for_all(line)]]
    asked = [(line, questions) for line, questions in empty if len(questions)]
    if not asked:
        return [Missing(name, title, "runs with questions of bin 0 that ask for all items")]
    judges = judge_notes([line for line, _ in asked])
    papers = [row for line in lines for row in _reported_shares(line)]
    sources = dict.fromkeys(row["paper"] for row in papers)
    said = [f"Rows marked (reported) are from {one}, judged by people or by the paper's judge." for one in sources]
    share = Column("share", value("share_")), Column("95 % interval", interval("share_low", "share_high"))
    made: list[Exhibit | Missing] = []
    kinds: tuple[tuple[str, Sequence[str], Sequence[str]], ...] = (
        ("origin", (BOTH,), [*_smallest_differences(asked), *judges, *said]),
        ("trace", get_args(Trace), judges),
        ("cue", CUES, [_LETTERS, *judges]),
    )
    for by, values, more in kinds:
        rows = []
        for (line, questions), kind, origin in product(asked, values, ORIGINS):
            part = questions if by == "origin" else questions[questions[by] == kind]
            part = part if origin == BOTH else part[part["origin"] == origin]
            about = {**line.columns(), by: kind, "origin": origin}
            rows += [_named_row(about, *_named(part), f1_of(part))] if len(part) else []
        drawn = [row for row in rows if by == "origin" or row["origin"] == BOTH]
        drawn.sort(key=lambda row: 0 if by == "origin" else values.index(str(row[by])))
        plot = forest(drawn, "share_", by, "share of answers that name something")
        rows += papers if by == "origin" else []
        lost = [_LOST] if any(row["n_failed"] for row in rows) else []
        about_rows = [RUN, *texts(*dict.fromkeys(("memory", by, "origin")))]
        columns = [*about_rows, *share, Column("items", "items_mean"), _F1, *_COUNTS]
        names = (name, title) if by == "origin" else (f"{name}, {by}s", f"{title}, by {by}")
        made.append(Exhibit(*names, framed(rows), columns, [*_NAMED, *lost, *more], plot))
    return made


def _named_row(about: Mapping[str, Value], share: Estimate, items: Estimate, f1: Estimate) -> dict[str, Value]:
    shares = share.columns("mean", "low", "high", "lowest", "highest", prefix="share_")
    named = share.columns("n", "n_failed") | shares | items.columns("mean", prefix="items_")
    return {**about, **named, **f1.columns(*SPREAD, prefix="f1_")}


def _named(questions: pd.DataFrame) -> tuple[Estimate, Estimate]:
    """The share of the answers that name something, and the mean number of their items."""
    # Nothing is known of what a missing answer would have named, although it is wrong.
    known = (questions["outcome"] != "failed") & questions["answer"].notna()
    counts = questions["items"].map(lambda items: 0 if items is None else len(set(items))).astype(float).where(known)
    found = questions.assign(n_items=counts, named=(counts > 0).astype(float).where(known))
    once = not questions["id"].duplicated().any()
    share = estimate(found, "named", interval=(lambda of, _: wilson(round(sum(of)), len(of))) if once else None)
    return share, estimate(found, "n_items")


def _reported_shares(line: Line) -> Iterator[dict[str, Value]]:
    """The shares that a paper reports."""
    for origin in ORIGINS:
        share = reported(line, SCORE if origin == BOTH else f"{SCORE}.{origin}")
        if share.mean is not None:
            low, high = (wilson(round(share.mean * share.n), share.n) if share.n else None) or (None, None)
            about = {**line.columns(), "origin": origin}
            yield _named_row(about, replace(share, sd=None, low=low, high=high), Estimate(), Estimate())


def _smallest_differences(asked: Sequence[tuple[Line, pd.DataFrame]]) -> Iterator[str]:
    """For each book that several runs are about, how far two shares must be apart to be told apart."""
    of_books: dict[tuple[str, str], list[Estimate]] = {}
    for line, questions in asked:
        share, _ = _named(questions)
        if share.low is not None:
            of_books.setdefault((line.book, line.fingerprint), []).append(share)
    for (book, _), found in of_books.items():
        n, rate = found[0].n or 0, fmean(share.mean or 0.0 for share in found)
        difference = smallest_difference_of_rates(rate, n, paired=True)
        if len(found) > 1 and difference is not None:
            yield (
                f"Smallest difference: two runs on the same {n} questions about {book}, with shares around {rate:.3f}, must "
                f"differ by {difference:.3f} or more for a paired test to find it with power 0.8 at the level 0.05."
            )
