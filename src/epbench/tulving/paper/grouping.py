"""Mean F1 of runs by any columns of their questions, and what a strict count of items changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from epbench.errors import BadInput
from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.reports.tables import Table, cell, interval_cell
from epbench.statistics.smallest_difference import smallest_difference_of_means
from epbench.tulving.paper.dots import MOST_ROWS, Series, dots
from epbench.tulving.paper.harsh import harsh
from epbench.tulving.paper.inputs import PaperRun
from epbench.tulving.paper.means import INTERVALS, LOST, Mean, about, as_named, judge_notes, mean_of, shown
from epbench.tulving.questions.generate import BINS, Origin
from epbench.tulving.questions.templates import CUES, Get, Trace
from epbench.tulving.scores.question_files import COLUMNS

if TYPE_CHECKING:
    import pandas as pd

_LISTS = ("reference", "chapters", "items", "scores", "order")
_MEASURES = ("f1", "precision", "recall", "harsh_f1", "tau")
GROUPABLE = tuple(column for column in COLUMNS if column not in (*_LISTS, *_MEASURES))
"""The columns of questions.parquet that hold one value of a few, or of many, which questions can share."""

Group = tuple[Value, ...]
"""The values of the columns that some questions share; None for a null."""

_ORDERS: Mapping[str, Sequence[str]] = {
    "bin": BINS, "cue": CUES, "trace": get_args(Trace), "get": get_args(Get), "origin": get_args(Origin),
    "outcome": ("right", "wrong", "failed"),
}  # fmt: skip


def exhibits(runs: Sequence[PaperRun], by: Sequence[str] = ()) -> list[Exhibit | Missing]:
    """F1 by the columns that were asked for, if any, and harsh F1 by bin.

    Args:
        runs: The runs.
        by: Columns of questions.parquet; see `GROUPABLE`.

    Raises:
        BadInput: Questions cannot be grouped by a column.
    """
    runs = as_named(runs)
    return [*([grouped(runs, by)] if by else []), harsh(runs)]


def grouped(runs: Sequence[PaperRun], columns: Sequence[str]) -> Exhibit:
    """Mean F1 of all questions that share their values of some columns, for each run.

    Args:
        runs: The runs, at least one.
        columns: One or more of `GROUPABLE`, each once.

    Raises:
        BadInput: There is no run or no column, a column is named twice, or questions cannot be grouped by it.
    """
    _check(runs, columns)
    found = {(group, number): part for number, run in enumerate(runs) for group, part in _parts(run, columns)}
    groups = sorted({group for group, _ in found}, key=lambda group: _place(columns, group))
    cells = {key: _cell(part) for key, part in found.items()}
    keys = [(group, number) for group in groups for number in range(len(runs)) if (group, number) in cells]
    records = [_record(runs[number], columns, group, *cells[group, number]) for group, number in keys]
    rows = [[*map(_text, group), shown(runs[number]), *_row(*cells[group, number])] for group, number in keys]
    notes = [
        "F1: the mean over all questions of a group, whatever they ask for; add the column get to tell them apart.",
        "Harsh F1 counts every item of an answer for precision, F1 at most as many as are true.",
        INTERVALS,
        *([LOST] if any(mean.n_failed for mean, _, _ in cells.values()) else []),
        "Nothing is tested here. Smallest difference: between the means of two runs, each with so many questions and this "
        "deviation, that a two-sided t-test finds with power 0.8 at the level 0.05, without a correction for the number of "
        "groups; where questions share a cue, it takes a larger one.",
        *judge_notes(runs),
    ]
    sections = [i for i in range(len(keys) - 1) if keys[i][0] != keys[i + 1][0]] if len(runs) > 1 else []
    head = [*columns, "run", "F1", "sd", "95 % interval", "harsh F1", "n", "failed", "smallest difference"]
    table = Table(head, rows, notes=notes, text_columns=len(columns) + 1, sections=sections)
    names = [", ".join(map(_text, group)) for group in groups]
    points = {key: f1.point() for key, (f1, _, _) in cells.items()}
    series = [Series(shown(run), [points.get((group, i)) for group in groups]) for i, run in enumerate(runs)]
    draw = partial(dots, names, series, "mean F1") if len(groups) <= MOST_ROWS else None
    title = f"Mean F1 by {' and '.join(columns)}"
    return Exhibit(f"F1 by {', '.join(columns)}", title, records, table, draw)


def _check(runs: Sequence[PaperRun], columns: Sequence[str]) -> None:
    there_are = f"expected one or more of {', '.join(GROUPABLE)}"
    if not runs:
        raise BadInput("no run whose questions could be grouped")
    if not columns:
        raise BadInput(f"questions are grouped by columns: {there_are}; found none")
    for number, column in enumerate(columns):
        if column in columns[:number]:
            raise BadInput(f"questions are grouped by each column once; found {column!r} twice")
        if column not in GROUPABLE:
            kind = ", a list" if column in _LISTS else ", which is what is averaged" if column in _MEASURES else ""
            raise BadInput(f"questions cannot be grouped by {column!r}{kind}; {there_are}")


def _parts(run: PaperRun, columns: Sequence[str]) -> Iterator[tuple[Group, pd.DataFrame]]:
    for values, part in run.questions.groupby(list(columns), dropna=False, sort=False):
        yield tuple(map(_plain, values)), part


def _plain(value: Any) -> Value:
    """A value of a data frame as a text, a number or None."""
    import pandas as pd

    if pd.isna(value):
        return None
    plain: Value = value.item() if hasattr(value, "item") else value
    return plain


def _place(columns: Sequence[str], group: Group) -> tuple[tuple[bool, float, str], ...]:
    """Where a group stands: in the order of the benchmark, by number or by name; nulls last."""
    places = []
    for column, value in zip(columns, group, strict=True):
        known = _ORDERS.get(column, ())
        number = value if isinstance(value, int | float) else known.index(value) if value in known else len(known)
        places.append((value is None, float(number), str(value)))
    return tuple(places)


def _text(value: Value) -> str:
    return "not given" if value is None else str(value)


_Cell = tuple[Mean, Mean, float | None]
"""F1, harsh F1, and the smallest difference of F1 that so many questions show."""


def _cell(questions: pd.DataFrame) -> _Cell:
    f1 = mean_of(questions, "f1")
    values = [] if f1.n_failed else [float(value) for value in questions["f1"]]
    return f1, mean_of(questions, "harsh_f1"), smallest_difference_of_means(values, paired=False)


def _row(f1: Mean, harsh_f1: Mean, smallest: float | None) -> list[str]:
    counts = [str(f1.n), str(f1.n_failed)]
    return [f1.text(), cell(f1.deviation), interval_cell(f1.interval), harsh_f1.text(), *counts, cell(smallest)]


def _record(
    run: PaperRun, columns: Sequence[str], group: Group, f1: Mean, harsh_f1: Mean, smallest: float | None
) -> dict[str, Value]:
    values = dict(zip(columns, group, strict=True))
    counts: dict[str, Value] = {"n": f1.n, "n_failed": f1.n_failed, "smallest_difference": smallest}
    return about(run) | values | counts | f1.fields("f1") | harsh_f1.fields("harsh_f1")
