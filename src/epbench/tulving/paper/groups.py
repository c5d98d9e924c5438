"""Scores of runs by groups of questions, about the order in time (Table 4), and from book to book."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, variance
from typing import TYPE_CHECKING, Any, get_args

from epbench.errors import BadInput
from epbench.judges.protocol import noted_judge
from epbench.reports.exhibit import Column, Exhibit, Made, Missing, Row, Shown, columns_of, exhibit, interval, marked
from epbench.reports.plots import grouped_by
from epbench.reports.tables import cell, interval_cell
from epbench.runs.folder import read_run
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.statistics.intervals import cluster_bootstrap, spread_of_groups, weighted_mean
from epbench.statistics.smallest_difference import smallest_difference_of_means
from epbench.tulving.paper.inputs import EVENTS, Line
from epbench.tulving.paper.recall import AWARE, book_score
from epbench.tulving.paper.shared import INTERVALS, f1_of, forest, judge_notes, lost_notes, named, spreads, value
from epbench.tulving.questions.generate import BINS, Origin
from epbench.tulving.questions.templates import CUES, Get, Trace
from epbench.tulving.scores.run_files import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

# The columns of questions.parquet that hold one value of a few, or of many, which questions can share
GROUPABLE = tuple(column for column, type_ in COLUMNS.items() if type_ in ("string", "int64"))
_ORDERS: dict[str, Sequence[str]] = {"bin": BINS, "cue": CUES, "outcome": ("right", "wrong", "failed")}
_ORDERS |= {"trace": get_args(Trace), "get": get_args(Get), "origin": get_args(Origin)}
MOST_ROWS = 60  # more cannot be read in one figure


def grouped(lines: Sequence[Line], by: Sequence[str]) -> Exhibit:
    """Mean F1 of all questions that share their values of some columns, one or more of `GROUPABLE`, for each run."""
    for column in by:
        if list(by).count(column) > 1:
            raise BadInput(f"questions are grouped by each column once; found {column!r} twice")
        if column not in GROUPABLE:
            type_, there_are = COLUMNS.get(column), f"expected one or more of {', '.join(GROUPABLE)}"
            kind = ", which is what is averaged" if type_ == "double" else ", a list" if isinstance(type_, list) else ""
            raise BadInput(f"questions cannot be grouped by {column!r}{kind}; {there_are}")
    rows: list[dict[str, Any]] = []
    for line in lines:
        questions = line.questions.astype(dict.fromkeys(by, object))
        for values, part in questions.groupby(list(by), dropna=False, sort=False):
            f1 = f1_of(part)
            smallest = smallest_difference_of_means([] if f1.n_failed else part["f1"].tolist(), paired=False)
            known = {name: of if of == of else None for name, of in zip(by, values, strict=True)}  # NaN is no value
            counts = f1.columns("n", "n_failed") | {"smallest": smallest}
            rows.append(line.columns() | known | counts | spreads(f1=f1, harsh_f1=f1_of(part, "harsh_f1")))
    rows.sort(key=lambda row: [_place(column, row[column]) for column in by])

    def text(names: Sequence[str], row: Row) -> str:
        return ", ".join("not given" if row[name] is None else str(row[name]) for name in names)

    spread = columns_of({"sd": "f1_sd", "95 % interval": interval("f1_low", "f1_high")})
    columns = [*(Column(name, partial(text, [name]), text=True) for name in by), *named("run", "F1"), *spread]
    columns += [*named("harsh F1", "n", "failed"), Column("smallest difference", "smallest")]
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
    group = partial(text, by)
    plot = forest(rows, "f1_", group, "mean F1") if len(set(map(group, rows))) <= MOST_ROWS else None
    title, sections = f"Mean F1 by {' and '.join(by)}", by[0] if len(lines) > 1 else ""
    return Exhibit(f"F1 by {', '.join(by)}", title, framed(rows), columns, notes, plot, sections=sections)


def _place(column: str, value: Value) -> tuple[bool, float, str]:
    known = _ORDERS.get(column, ())
    number = value if isinstance(value, int | float) else known.index(value) if value in known else len(known)
    return value is None, float(number), str(value)


ALL_BINS = "all bins"  # the simple recall score, the mean of the means of the bins
_HARSH = (
    "F1 is the paper's lenient one (Appendix B.3.2): precision counts at most as many items as there are true ones, so that "
    "naming more costs nothing, unless there is no true item. Harsh F1 counts every different item. Recall is the same in "
    "both, and so are answers that name no more items than are true, and all of bin 0.",
    "The loss is F1 less harsh F1 of the same questions; it cannot be negative, and no test is needed to see that it is more "
    "than nothing.",
    "Only questions that ask for all items count (get = all); bins count the matching chapters.",
)


def harsh(lines: Sequence[Line]) -> Made:
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
            both, loss = spreads(f1=f1, harsh_f1=harsh_f1), less.columns("mean", "sd", "low", "high", prefix="loss_")
            rows.append({**line.columns(), "bin": bin_, **f1.columns("n", "n_failed"), **both, **loss})
    of_loss = columns_of({"loss": "loss_mean", "95 % interval of the loss": interval("loss_low", "loss_high")})
    columns = [*named("run", "bin", "F1", "harsh F1"), *of_loss, *named("n", "failed")]
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

    def mean(weights: Any) -> Any:
        return sum(weighted_mean(weights * of_bin, values) for of_bin in chosen) / len(chosen)

    seen = min((judged[EVENTS][of_bin].nunique() for of_bin in chosen), default=None)
    low, high = cluster_bootstrap(mean, judged[EVENTS].tolist(), bounds=(0.0, 1.0), seen=seen) or (None, None)
    return Estimate(n, 0, fmean(one.mean or 0.0 for one in of_bins), low=low, high=high)


ALL_BOOKS = "all books"
_BY_BIN = {f"f1_by_bin.{bin_}": f"bin {bin_}" for bin_ in BINS}
# By their names in scores.json
SCORES = {"simple_recall_score": "simple recall", **_BY_BIN, "latest": "latest", **AWARE}
_NOTES = (
    "Within a book: the standard error of a score, had other questions been asked about the same book. It is taken from the "
    "score's 95 % interval, for which cues are drawn with replacement: its width over 3.92. In the row of all books it is the "
    "root mean square over the books.",
    "Between books: the standard deviation of the scores that the books would have without that error, by the method of "
    "moments; it is 0 where the errors alone explain how much the books differ. In parentheses its 95 % interval, from the "
    "chi-square distribution of the observed variance, cut at 0.5, the largest deviation that scores of many books can have: "
    "from few books, an estimate of 0 does not show that books are alike.",
    "The value of all books is the mean of those of the books, each counted once. The 95 % interval beside it is where the "
    "score on another book like these is expected (Student's t over the books, cut at 0 and 1).",
    "Books that differ in length, universe or writer differ for that reason too; only books that differ in their seed alone "
    "show what the seed does.",
)
_LEFT_OUT = (
    "A book is not in the row of all books where its score has no interval: it has lost questions, and is shown as a range, or "
    "all questions have one cue."
)
_OF_BOOK = ("benchmark", "fingerprint", "chapters", "released", "run")  # what runs on two books always differ in
_WIDTH = 2 * 1.959964  # of a normal 95 % interval, in standard errors
_MOST = 0.5  # no numbers from 0 to 1 have a larger standard deviation, however many they are


def seeds(lines: Sequence[Line]) -> Made:
    """The spread of each score over the books of each reader that has run on two or more."""
    name = "Books of several seeds"
    title = "The same reader on several books: spread between books beside the error within one"

    def reader(line: Line) -> tuple[str, ...]:
        judge = line.scores.get("judge")
        return line.source, str(noted_judge(judge)) if judge else "", line.memory, line.model

    by_reader = grouped_by(lines, reader).values()
    readers = [runs for runs in by_reader if len({line.fingerprint for line in runs}) > 1]
    if not readers:
        return Missing(name, title, "runs of the same model and memory on books of other seeds")
    notes, rows = [*_NOTES], list[dict[str, Value]]()
    for runs in readers:
        books, left_out = _one_for_each_book(runs)
        identities = [read_run(line.folder)["identity"] for line in books.values()]
        names = dict.fromkeys(name for identity in identities for name in identity if name not in _OF_BOOK)
        differ = [name for name in names if len({str(identity.get(name)) for identity in identities}) > 1]
        said = f"differ in more than the book: {', '.join(differ)} (a default may follow from the book)."
        notes += [*left_out, *([f"The runs of {_who(runs[0].columns())} {said}"] if differ else [])]
        for score in SCORES:
            found = {book: one for book, line in books.items() if (one := book_score(line, score)).n or one.n_failed}
            if len(found) > 1:
                rows += [_row(books[book], score, book, one) for book, one in found.items()]
                rows.append(all_books(next(iter(books.values())), score, found))
                if rows[-1]["n_books"] != len(found) and _LEFT_OUT not in notes:
                    notes.append(_LEFT_OUT)

    def book(row: Row) -> str:
        return f"{row['book']} ({row['n_books']})" if row["book"] == ALL_BOOKS else str(row["book"])

    def between(row: Row) -> str:
        low, high = row["between_low"], row["between_high"]
        return cell(row["between"]) + ("" if low is None else f" ({interval_cell((low, high))})")

    shown: Shown = {"score": lambda row: SCORES[row["score"]], "book": book, "value": value()}
    shown |= {"95 % interval": interval(), "n": "n", "within": "within", "between": between}
    columns = [*named("memory", "model"), *columns_of(shown, 2)]
    drawn = [{**row, "mark": row["book"]} for row in rows if row["book"] != ALL_BOOKS]
    for row in (row for row in rows if row["book"] == ALL_BOOKS):
        if row["mean"] is not None:  # a bar of one deviation between books to each side
            mean, deviation = float(row["mean"]), float(row["between"] or 0.0)
            row = row | {"low": mean - deviation, "high": mean + deviation}
        drawn.append({**row, "mark": "mean ± deviation between books"})
    plot = forest(drawn, "", lambda row: f"{_who(row)}: {SCORES[row['score']]}", "score", lambda row: str(row["mark"]))
    notes += judge_notes([line for runs in readers for line in runs])
    return Exhibit(name, title, framed(rows), columns, notes, plot, sections="score")


def _one_for_each_book(runs: Sequence[Line]) -> tuple[dict[str, Line], list[str]]:
    first: dict[str, Line] = {}
    notes = []
    for line in runs:
        if (one := first.setdefault(line.fingerprint, line)) is not line:
            notes.append(f"{line.who} is left out: it is on the same book as {one.who}.")
    unique = len({line.book for line in first.values()}) == len(first)
    return {line.book if unique else f"{line.book}, {print_[:6]}": line for print_, line in first.items()}, notes


def _row(line: Line, score: str, book: str, one: Estimate, n_books: int = 1, **more: Value) -> dict[str, Value]:
    spread: dict[str, Value] = {"within": _error(one), "between": None, "between_low": None, "between_high": None}
    estimate = one.columns("mean", "low", "high", "lowest", "highest", "n", "n_failed")
    return {**line.columns(), "book": book, "score": score, "n_books": n_books, **estimate, **spread, **more}


def _error(one: Estimate) -> float | None:  # the standard one of a score
    return None if one.low is None or one.high is None else (one.high - one.low) / _WIDTH


def all_books(line: Line, score: str, found: Mapping[str, Estimate]) -> dict[str, Value]:
    """The row of all books on which a score, found on each, has an interval: their mean, and how much they differ."""
    from scipy.stats import chi2

    errors = {book: error for book, one in found.items() if one.mean is not None and (error := _error(one)) is not None}
    whole = Estimate(sum(found[book].n or 0 for book in errors), 0)
    if len(errors) < 2:
        return _row(line, score, ALL_BOOKS, whole, len(errors), label=ALL_BOOKS)
    spread = spread_of_groups([found[book].mean or 0.0 for book in errors], list(errors.values()))
    low, high = (
        (max(0.0, spread.interval[0]), min(1.0, spread.interval[1])) if len(set(spread.means)) > 1 else (None, None)
    )
    whole = replace(whole, mean=spread.mean, low=low, high=high)
    between = {"within": spread.within, "between": spread.between}
    if spread.within or spread.between:  # the deviations that the observed variance is compatible with, less the errors
        squares, freedom = (len(errors) - 1) * variance(spread.means), len(errors) - 1
        ends = (squares / float(chi2.ppf(share, freedom)) - spread.within**2 for share in (0.975, 0.025))
        low, high = (math.sqrt(max(0.0, end)) for end in ends)
        between |= {"between_low": low, "between_high": min(max(_MOST, spread.between), high)}
    return _row(line, score, ALL_BOOKS, whole, len(errors), label=ALL_BOOKS, **between)


def _who(row: Row) -> str:
    return marked(f"{row['memory']}, {row['model']}", row["source"])
