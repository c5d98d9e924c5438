"""What runs name in answer to questions about events that never happened (paper: Appendix E.8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, get_args

from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.exhibits.reported import ReportedRow
from epbench.reports.tables import Table, cell, interval_cell
from epbench.statistics.intervals import wilson
from epbench.statistics.smallest_difference import smallest_difference_of_rates
from epbench.tulving.paper.dots import Point, Series, dots
from epbench.tulving.paper.inputs import Inputs, PaperRun
from epbench.tulving.paper.means import Interval, Mean, about, as_named, judge_notes, mean_of, shown
from epbench.tulving.questions.templates import CUES, Trace

if TYPE_CHECKING:
    import pandas as pd

NAME = "E.8"
SCORE = "hallucinations"
"""The name of the share in reported rows: of all questions, and of one origin as `hallucinations.inner`."""

_TITLE = "Answers that name something although nothing in the book matches"
_NEEDS = "runs with questions of bin 0 that ask for all items"
BOTH, INNER, OUTER = ORIGINS = ("both", "inner", "outer")

_NOTES = (
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


@dataclass(frozen=True)
class Named:
    """How often answers name something.

    Attributes:
        n: The number of questions; None if a paper does not say.
        n_failed: How many of them have no answer or no verdict.
        share: The share of answers that name something; None if questions failed.
        interval: Wilson's 95 % interval of the share; None without one, and if questions were asked several times.
        bounds: The share if none of the failed ones names something, and if all do; None if none has failed.
        items: The mean number of different items; None if questions failed, or it is not reported.
        f1: The mean F1; None if it is not reported.
    """

    n: int | None
    n_failed: int
    share: float | None
    interval: Interval | None
    bounds: Interval | None
    items: float | None
    f1: Mean | None

    def cells(self) -> list[str]:
        """The cells of a row: share, interval, items, F1, n and failed."""
        share = interval_cell(self.bounds) if self.share is None else cell(self.share)
        f1 = "–" if self.f1 is None else self.f1.text()
        n = "–" if self.n is None else str(self.n)
        return [share, interval_cell(self.interval), cell(self.items), f1, n, str(self.n_failed)]

    def point(self) -> Point:
        """The share as a point of a figure."""
        return self.share, self.interval

    def fields(self) -> dict[str, Value]:
        """The columns of a record."""
        low, high = self.interval or (None, None)
        least, most = self.bounds or (None, None)
        f1 = self.f1 or Mean(0, 0, None, None, None, None)
        return {
            "n": self.n, "n_failed": self.n_failed, "share": self.share, "share_low": low, "share_high": high,
            "share_if_failed_name_nothing": least, "share_if_failed_name_something": most, "items": self.items,
        } | f1.fields("f1")  # fmt: skip


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """The shares by origin, and the same by the kind of item asked for and by what the cue gives."""
    runs = [run for run in as_named(inputs.runs) if len(_empty(run))]
    if not runs:
        return [Missing(NAME, _TITLE, _NEEDS)]
    return [_by_origin(runs, inputs.reported), _by(runs, "trace", get_args(Trace)), _by(runs, "cue", CUES)]


def _empty(run: PaperRun) -> pd.DataFrame:
    """The questions of a run that nothing matches, and that ask for all items."""
    questions = run.questions
    return questions[(questions["bin"] == "0") & (questions["get"] == "all")]


def _of_origin(questions: pd.DataFrame, origin: str) -> pd.DataFrame:
    return questions if origin == BOTH else questions[questions["origin"] == origin]


def _named(questions: pd.DataFrame) -> Named:
    """How often the answers to these questions name something."""
    # Nothing is known of what a missing answer would have named, although it is wrong.
    judged = questions[(questions["outcome"] != "failed") & questions["answer"].notna()]
    counts = [len(set(items)) for items in judged["items"]]
    n, n_failed, named = len(questions), len(questions) - len(judged), sum(count > 0 for count in counts)
    f1 = mean_of(questions, "f1")
    if n_failed:
        return Named(n, n_failed, None, None, (named / n, (named + n_failed) / n), None, f1)
    interval = None if questions["id"].duplicated().any() else wilson(named, n)
    return Named(n, 0, named / n, interval, None, sum(counts) / n, f1)


def _by_origin(runs: Sequence[PaperRun], reported: Sequence[ReportedRow]) -> Exhibit:
    of_runs = [(run, origin, named) for run in runs for origin, named in _origins(_empty(run))]
    of_papers = [(row, origin, named) for row in reported for origin, named in _reported(row)]
    records = [about(run) | {"origin": origin} | named.fields() for run, origin, named in of_runs]
    records += [_about_reported(row) | {"origin": origin} | named.fields() for row, origin, named in of_papers]
    rows = [[shown(run), run.memory, origin, *named.cells()] for run, origin, named in of_runs]
    rows += [[marked(row.model, "reported"), row.memory, origin, *named.cells()] for row, origin, named in of_papers]
    notes = [*_NOTES, *_lost(named for _, _, named in of_runs), *_smallest_differences(runs), *judge_notes(runs)]
    sources = dict.fromkeys(f"{row.source}, {row.table}" for row, _, _ in of_papers)
    notes += [
        f"Rows marked (reported) are from {source}, judged by people or by the paper's judge." for source in sources
    ]
    head = ["run", "memory", "origin", "share", "95 % interval", "items", "F1", "n", "failed"]
    points = {(run.folder, origin): named.point() for run, origin, named in of_runs}
    series = [Series(shown(run), [points.get((run.folder, origin)) for origin in ORIGINS]) for run in runs]
    draw = partial(dots, ORIGINS, series, "share of answers that name something")
    return Exhibit(NAME, _TITLE, records, Table(head, rows, notes=notes, text_columns=3), draw)


def _smallest_differences(runs: Sequence[PaperRun]) -> Iterator[str]:
    """For each book that several runs are about, how far two shares must be apart to be told apart."""
    of_books: dict[tuple[str, str], list[Named]] = {}
    for run in runs:
        named = _named(_empty(run))
        if named.interval is not None:
            of_books.setdefault((run.book, run.fingerprint), []).append(named)
    for (book, _), found in of_books.items():
        n, rate = found[0].n or 0, sum(named.share or 0.0 for named in found) / len(found)
        difference = smallest_difference_of_rates(rate, n, paired=True)
        if len(found) > 1 and difference is not None:
            yield (
                f"Smallest difference: two runs on the same {n} questions about {book}, with shares around {rate:.3f}, must "
                f"differ by {difference:.3f} or more for a paired test to find it with power 0.8 at the level 0.05."
            )


def _origins(questions: pd.DataFrame) -> Iterator[tuple[str, Named]]:
    for origin in ORIGINS:
        part = _of_origin(questions, origin)
        if len(part):
            yield origin, _named(part)


def _by(runs: Sequence[PaperRun], column: str, values: Sequence[str]) -> Exhibit:
    """The same by the values of a column, each also by origin."""
    found = [
        (run, value, origin, named)
        for run in runs
        for value in values
        for origin, named in _origins(_empty(run)[_empty(run)[column] == value])
    ]
    records = [about(run) | {column: value, "origin": origin} | named.fields() for run, value, origin, named in found]
    rows = [[shown(run), value, origin, *named.cells()] for run, value, origin, named in found]
    letters = (
        ["A cue gives time (t), space (s), entity (e) and content (c), or some of them."] if column == "cue" else []
    )
    notes = [*_NOTES, *letters, *_lost(named for *_, named in found), *judge_notes(runs)]
    head = ["run", column, "origin", "share", "95 % interval", "items", "F1", "n", "failed"]
    points = {(run.folder, value): named.point() for run, value, origin, named in found if origin == BOTH}
    there = [value for value in values if any((run.folder, value) in points for run in runs)]
    series = [Series(shown(run), [points.get((run.folder, value)) for value in there]) for run in runs]
    draw = partial(dots, there, series, "share of answers that name something")
    return Exhibit(
        f"{NAME}, {column}s", f"{_TITLE}, by {column}", records, Table(head, rows, notes=notes, text_columns=3), draw
    )


def _reported(row: ReportedRow) -> Iterator[tuple[str, Named]]:
    """The shares that a paper reports."""
    for origin in ORIGINS:
        score = SCORE if origin == BOTH else f"{SCORE}.{origin}"
        if score in row.scores:
            share, n = row.scores[score], row.counts.get(score)
            interval = wilson(round(share * n), n) if n else None
            yield origin, Named(n, 0, share, interval, None, None, None)


def _about_reported(row: ReportedRow) -> dict[str, Value]:
    label = f"{row.source}, {row.table}"
    return {"label": label, "source": "reported", "model": row.model, "memory": row.memory, "book": row.dataset}


def _lost(found: Iterator[Named]) -> list[str]:
    return [_LOST] if any(named.n_failed for named in found) else []
