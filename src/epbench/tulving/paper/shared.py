"""What the tables about answers share: estimates, columns, notes, and a figure of points with intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from epbench.reports.exhibit import Column, Made, Missing, Row, Show, mean_sd, of_source
from epbench.reports.plots import grouped_by, points
from epbench.statistics.estimate import Estimate, Value, drawing_clusters, estimate
from epbench.tulving.paper.inputs import EVENTS, Line, runs_among

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

POLICY = (
    "F1 is the paper's lenient one (Appendix B.3.2): repeats count once, and precision counts at most as many items as are "
    "true. Ours never exceeds 1; the paper's can where a judge gives more points than it found items."
)
LOST = (
    "Some of these questions have no answer or no verdict, and are neither right nor wrong: a range goes from all of them "
    "wrong to all of them right."
)
INTERVALS = "Intervals: 95 %, cues drawn with replacement, because questions with the same cue share their chapters."

_SPREAD = ("mean", "sd", "low", "high", "lowest", "highest")


def f1_of(questions: pd.DataFrame, column: str = "f1") -> Estimate:
    """The mean of F1, or of another column, with its 95 % interval, drawing cues with replacement."""
    return estimate(questions, column, cluster=EVENTS, interval=drawing_clusters)


def spreads(**found: Estimate) -> dict[str, Value]:
    """The columns of several estimates of the same questions, by the prefix of their names, without the counts."""
    return {f"{of}_{name}": getattr(one, name) for of, one in found.items() for name in _SPREAD}


def for_each(name: str, title: str, needs: str, found: Mapping[str, Any], make: Callable[..., Made]) -> list[Made]:
    """An exhibit of what was `found` for each book or run, which its name and title tell; what it `needs` if nothing was."""
    if not found:
        return [Missing(name, title, needs)]
    return [make(name if len(found) == 1 else f"{name}, {of}", f"{title} ({of})", one) for of, one in found.items()]


def value(prefix: str = "") -> Show:
    """A mean alone, such as `0.830`, or the range in which it lies."""
    show = mean_sd(prefix, 3)
    return lambda row: show({**row, f"{prefix}sd": None}).rstrip("*")


_label = of_source()
_NUMBERS: dict[str, Show | str] = {"F1": value("f1_"), "harsh F1": value("harsh_f1_"), "n": "n", "failed": "n_failed"}


def named(*titles: str) -> list[Column]:
    """Columns that several tables have, and columns of text whose titles are their names in the frame."""
    shown = _NUMBERS | {"run": _label, "model": of_source("model")}
    return [Column(title, shown.get(title, title), text=title not in _NUMBERS) for title in titles]


def forest(rows: Sequence[Row], prefix: str, y: str | Show, title: str, by: Show = _label) -> Callable[[], Figure]:
    """A figure of points with intervals: a row for each value of `y`, and a mark for each value of `by`, such as each run."""
    spread = [{name: row.get(f"{prefix}{name}") for name in _SPREAD} for row in rows]
    marks = [of | {"y": Column("", y).cell(row), "by": by(row)} for row, of in zip(rows, spread, strict=True)]
    return partial(points, marks, "y", "by", title)


def lost_notes(rows: Sequence[Row]) -> list[str]:
    return [LOST] if any(row["n_failed"] for row in rows) else []


def judge_notes(lines: Sequence[Line]) -> list[str]:
    """Who judged the runs, and a warning where judges differ."""
    judged = grouped_by(runs_among(lines), lambda line: line.judge)
    if len(judged) < 2:
        return [f"Judge: {judge}." for judge in judged]
    named = "; ".join(f"{judge}: {', '.join(dict.fromkeys(one.who for one in of))}" for judge, of in judged.items())
    return [f"Judges differ, and scores from different judges are not comparable. {named}."]


def reported_notes(lines: Sequence[Line]) -> list[str]:
    """Where reported rows come from, and what is said about each of them."""
    rows = [line.reported for line in lines if line.reported is not None]
    if not rows:
        return []
    tables = {row.source: dict.fromkeys(one.table for one in rows if one.source == row.source) for row in rows}
    named = "; ".join(f"{source}: {', '.join(of)}" for source, of in tables.items())
    notes = dict.fromkeys(f"{row.model}, {row.memory}: {row.note}" for row in rows if row.note)
    about = f"Rows marked (reported) are numbers of a paper, judged by its judge. {named}."
    if any(line.source == "own" for line in lines):
        about += (
            " They are about the published books: an own book of the same name has another text, and other questions, so that "
            "they show the order of magnitude, not a contest."
        )
    return [about, *notes]
