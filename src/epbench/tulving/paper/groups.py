"""Scores of runs by groups of questions, about the order in time, and from book to book.

F1 by any columns of the questions; the latest state of an entity and its states in chronological order (Table 4); and how much
the scores of one reader differ from book to book, beside their error on one book.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import variance
from typing import TYPE_CHECKING, Any, get_args

from epbench.errors import BadInput
from epbench.judges.protocol import noted_judge
from epbench.reports.exhibit import Column, Exhibit, Made, Missing, Row, interval, marked
from epbench.reports.plots import grouped_by
from epbench.reports.tables import cell, interval_cell
from epbench.runs.folder import read_run
from epbench.statistics.estimate import Estimate, Value, estimate, framed
from epbench.statistics.intervals import Spread, spread_of_groups
from epbench.statistics.smallest_difference import smallest_difference_of_means
from epbench.tulving.paper.inputs import (
    INTERVALS,
    SPREAD,
    Line,
    by_book,
    f1_of,
    for_each,
    forest,
    judge_notes,
    lost_notes,
    named,
    value,
)
from epbench.tulving.paper.recall import APART, PLAIN, notes_on, who_columns, with_n
from epbench.tulving.questions.generate import BINS, Origin
from epbench.tulving.questions.templates import CUES, Get, Trace
from epbench.tulving.scores.run_files import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

# F1 by any columns of the questions

GROUPABLE = tuple(column for column, type_ in COLUMNS.items() if type_ in ("string", "int64"))
"""The columns of questions.parquet that hold one value of a few, or of many, which questions can share."""

_ORDERS: dict[str, Sequence[str]] = {"bin": BINS, "cue": CUES, "outcome": ("right", "wrong", "failed")}
_ORDERS |= {"trace": get_args(Trace), "get": get_args(Get), "origin": get_args(Origin)}
MOST_ROWS = 60  # more cannot be read in one figure


def grouped(lines: Sequence[Line], by: Sequence[str]) -> Exhibit:
    """Mean F1 of all questions that share their values of some columns, one or more of `GROUPABLE`, for each run."""
    _check(by)
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
    smallest_shown = Column("smallest difference", "smallest")
    columns = [*keys, *named("run", "F1"), *spread, *named("harsh F1", "n", "failed"), smallest_shown]
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


def _check(by: Sequence[str]) -> None:
    for column in by:
        if list(by).count(column) > 1:
            raise BadInput(f"questions are grouped by each column once; found {column!r} twice")
        if column not in GROUPABLE:
            type_ = COLUMNS.get(column)
            kind = ", which is what is averaged" if type_ == "double" else ", a list" if isinstance(type_, list) else ""
            there_are = f"expected one or more of {', '.join(GROUPABLE)}"
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


# Table 4: the latest state, and the order in time

AWARE = {"chronological_awareness": "chronological awareness"}
_ORDER_SCORES = {"latest": "latest", "all_matched": "all", "kendall_tau": "Kendall τ", **AWARE}
"""The scores by their names in scores.json, with the titles of their columns."""

_ORDER_COUNTED = (
    "Latest: mean F1 of the questions with get = latest about two or more chapters; so are the published numbers, which the "
    "paper calls the share of answers that match. All: of the questions with get = chronological and two or more different "
    "true items, the share whose true items were all found. τ: its mean over these alone, whose number is its n. "
    "Chronological awareness: the mean of latest and of all · τ, which is 0 where it would be negative. The number of "
    "questions is in parentheses."
)


def order_tables(lines: Sequence[Line]) -> list[Made]:
    """Table 4: a table for each book, the readers with the highest chronological awareness first."""
    scores = {line: _order_scores(line) for line in lines}
    found = {book: [(line, scores[line]) for line in of if scores[line]] for book, of in by_book(lines).items()}
    # A run that was limited to a few questions may have none of these.
    found = {book: rows for book, rows in found.items() if any(not line.reported for line, _ in rows)}
    title = "The latest state of an entity, and all its states in chronological order"
    needs = "runs that asked for the latest state and for the chronological order"
    return for_each("Table 4", title, needs, found, _order_table)


def _order_table(name: str, title: str, found: Sequence[tuple[Line, dict[str, Estimate]]]) -> Exhibit:
    def rank(one: tuple[Line, dict[str, Estimate]]) -> float:
        """Chronological awareness; -1 where it is a range, so that these rows come last."""
        latest, all_, tau = (one[1][name].mean for name in ("latest", "all_matched", "kendall_tau"))
        return -1.0 if latest is None or all_ is None else (latest + max(0.0, all_ * (tau or 0.0))) / 2

    ranked = sorted(found, key=rank, reverse=True)
    rows: list[dict[str, Value]] = [
        {**line.columns(), "score": score, **one.columns(*PLAIN)}
        for line, scores in ranked
        for score, one in scores.items()
        if one.n != 0 or one.n_failed or one.mean is not None
    ]
    columns = [*who_columns(rows), Column("{}", with_n(value()))]
    notes = notes_on([line for line, _ in ranked], rows, _ORDER_COUNTED)
    return Exhibit(name, title, framed(rows), columns, notes, across="score", names=_ORDER_SCORES, apart=APART)


def counted_for(questions: pd.DataFrame, score: str) -> pd.DataFrame:
    """The questions of a run that count for a score, by its name in scores.json; for a bin `f1_by_bin.` and the bin."""
    latest = (questions["get"] == "latest") & (questions["n_chapters"] >= 2)
    ordered = (questions["get"] == "chronological") & (questions["reference"].map(lambda items: len(set(items))) >= 2)
    named = {"latest": latest, "all_matched": ordered, "chronological_awareness": latest | ordered}
    found, bin_ = named.get(score, questions["get"] == "all"), score.removeprefix("f1_by_bin.")
    return questions[found if bin_ == score else found & (questions["bin"] == bin_)]


def book_score(line: Line, score: str) -> Estimate:
    """A score of a run, named as for `counted_for`, with the interval and the bounds that scores.json has."""
    scores, questions, bin_ = line.scores, counted_for(line.questions, score), score.removeprefix("f1_by_bin.")
    mean = scores[score] if bin_ == score else scores["f1_by_bin"].get(bin_)
    interval, bounds = (scores.get(name, {}).get(score) or (None, None) for name in ("intervals", "incomplete"))
    n_failed = int((questions["outcome"] == "failed").sum())
    return Estimate(len(questions) - n_failed, n_failed, mean, None, *interval, *bounds)


def _order_scores(line: Line) -> dict[str, Estimate]:
    """The scores of a line; empty if it has neither the latest state nor the order."""
    if line.reported is not None:
        found = {name: line.reported_score(name) for name in _ORDER_SCORES}
        return found if found["latest"].mean is not None or found["all_matched"].mean is not None else {}
    latest, ordered = (counted_for(line.questions, score) for score in ("latest", "all_matched"))
    if latest.empty and ordered.empty:
        return {}
    matches = ordered["tau"].notna().astype(float).where(ordered["outcome"] != "failed")
    matched = estimate(ordered.assign(matched=matches), "matched")
    tau, awareness = estimate(ordered[ordered["tau"].notna()], "tau"), book_score(line, "chronological_awareness")
    if matched.n_failed:  # the bounds of scores.json know what the failed questions may have been
        lowest, highest = line.scores.get("incomplete", {}).get("kendall_tau") or (None, None)
        tau = Estimate(tau.n, matched.n_failed, lowest=lowest, highest=highest)
    if awareness.mean is None and awareness.lowest is None:
        awareness = Estimate()
    # A share has no deviation of interest.
    return dict(zip(_ORDER_SCORES, (estimate(latest, "f1"), replace(matched, sd=None), tau, awareness), strict=True))


# Books of several seeds

NAME = "Books of several seeds"
ALL_BOOKS = "all books"
_BY_BIN = {f"f1_by_bin.{bin_}": f"bin {bin_}" for bin_ in BINS}
SCORES = {"simple_recall_score": "simple recall", **_BY_BIN, "latest": "latest", **AWARE}
"""The scores that are compared, by their names in scores.json, with their names in the table."""

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
    title = "The same reader on several books: spread between books beside the error within one"

    def reader(line: Line) -> tuple[str, ...]:
        judge = line.scores.get("judge")
        return line.source, str(noted_judge(judge)) if judge else "", line.memory, line.model

    by_reader = grouped_by(lines, reader).values()
    readers = [runs for runs in by_reader if len({line.fingerprint for line in runs}) > 1]
    if not readers:
        return Missing(NAME, title, "runs of the same model and memory on books of other seeds")
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

    about = Column("score", lambda row: SCORES[row["score"]], text=True), Column("book", book, text=True)
    found_here = Column("value", value()), Column("95 % interval", interval()), *named("n")
    columns = [*named("memory", "model"), *about, *found_here, Column("within", "within"), Column("between", between)]
    drawn = [{**row, "mark": row["book"]} for row in rows if row["book"] != ALL_BOOKS]
    for row in (row for row in rows if row["book"] == ALL_BOOKS):
        if row["mean"] is not None:  # a bar of one deviation between books to each side
            mean, deviation = float(row["mean"]), float(row["between"] or 0.0)
            row = row | {"low": mean - deviation, "high": mean + deviation}
        drawn.append({**row, "mark": "mean ± deviation between books"})
    plot = forest(drawn, "", lambda row: f"{_who(row)}: {SCORES[row['score']]}", "score", lambda row: str(row["mark"]))
    notes += judge_notes([line for runs in readers for line in runs])
    return Exhibit(NAME, title, framed(rows), columns, notes, plot, sections="score")


def _one_for_each_book(runs: Sequence[Line]) -> tuple[dict[str, Line], list[str]]:
    """The first run on each book, by the book's name, and a note on each other run."""
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


def _error(one: Estimate) -> float | None:
    """The standard error of a score, from its interval."""
    return None if one.low is None or one.high is None else (one.high - one.low) / _WIDTH


def all_books(line: Line, score: str, found: Mapping[str, Estimate]) -> dict[str, Value]:
    """The row of all books on which a score, found on each, has an interval: their mean, and how much they differ."""
    errors = {book: error for book, one in found.items() if one.mean is not None and (error := _error(one)) is not None}
    whole = Estimate(sum(found[book].n or 0 for book in errors), 0)
    if len(errors) < 2:
        return _row(line, score, ALL_BOOKS, whole, len(errors), label=ALL_BOOKS)
    spread = spread_of_groups([found[book].mean or 0.0 for book in errors], list(errors.values()))
    whole = replace(whole, mean=spread.mean)
    if len(set(spread.means)) > 1:
        whole = replace(whole, low=max(0.0, spread.interval[0]), high=min(1.0, spread.interval[1]))
    low, high = _interval_between(spread) if spread.within or spread.between else (None, None)
    between = {"within": spread.within, "between": spread.between, "between_low": low, "between_high": high}
    return _row(line, score, ALL_BOOKS, whole, len(errors), label=ALL_BOOKS, **between)


def _interval_between(spread: Spread) -> tuple[float, float]:
    """The deviations between books that the observed variance is compatible with, the errors within taken off."""
    from scipy.stats import chi2

    freedom = len(spread.means) - 1
    squares = freedom * variance(spread.means)
    low, high = (squares / float(chi2.ppf(share, freedom)) - spread.within**2 for share in (0.975, 0.025))
    return math.sqrt(max(0.0, low)), min(max(_MOST, spread.between), math.sqrt(max(0.0, high)))


def _who(row: Row) -> str:
    return marked(f"{row['memory']}, {row['model']}", row["source"])
