"""What the tables share: rows of F1 by kinds of questions, the columns in front of them, and the notes below them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.reports.exhibit import Column, Exhibit, Missing, Row, Show, mean_sd, of_source
from epbench.reports.plots import points
from epbench.statistics.estimate import Estimate, estimate
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.tulving.paper.inputs import EVENTS, Line, grouped_by, runs_among, text_of
from epbench.tulving.questions.templates import CUE_LETTERS

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

POLICY = (
    "F1 is the paper's lenient one (Appendix B.3.2): repeats count once, and precision counts at most as many items as are "
    "true. Ours never exceeds 1; the paper's can where a judge gives more points than it found items."
)
ALL_ITEMS = "Only questions that ask for all items count (get = all); bins count the matching chapters."
ALL_ROWS = "All questions count, whatever they ask for (get = all, latest and chronological), as in the paper."
LOST = (
    "Some of these questions have no answer or no verdict, and are neither right nor wrong: a range goes from all of them "
    "wrong to all of them right."
)
INTERVALS = "Intervals: 95 %, cues drawn with replacement, because questions with the same cue share their chapters."

PLAIN = ("mean", "sd", "lowest", "highest", "n", "n_failed")  # the fields of an estimate without an interval
SPREAD = ("mean", "sd", "low", "high", "lowest", "highest")  # those of one of several estimates of the same questions
APART = ("source", "label", "fingerprint", "paper")  # the columns that tell lines apart

Group = TypeVar("Group")


def cue_text(cue: str, entity: str = "ent") -> str:
    """A cue as the paper writes it: `te` is `(t, *, ent, *)`."""
    letters = ({"e": entity}.get(letter, letter) if letter in cue else "*" for letter in CUE_LETTERS)
    return f"({', '.join(letters)})"


@dataclass(frozen=True)
class Side:
    """A kind of question by which F1 is shown."""

    name: str  # the column of the questions, and of the frame
    texts: Mapping[str, str]  # the text of each value, in the order of the tables
    title: str = ""  # what stands above a column of these texts; the name by default

    def show(self, row: Row) -> str:
        """The text of the value that a row has."""
        return self.texts[row[self.name]]


def asked_for_all(line: Line) -> pd.DataFrame:
    """The questions of a run that ask for all items."""
    return line.questions[line.questions["get"] == "all"]


def f1_rows(lines: Sequence[Line], *sides: Side) -> list[dict[str, Any]]:
    """A row of a frame with the F1 of each line for each combination of values that it has questions for, or reports."""
    found, names = [], [side.name for side in sides]
    for line in lines:
        parts = dict(list(asked_for_all(line)[[*names, "f1"]].groupby(names))) if not line.reported else {}
        for key in product(*(side.texts for side in sides)):
            if line.reported:  # such as `f1_by_bin.1`, `f1_by_bin.1.realistic` or `f1_by_cue_and_bin.te.1`
                of_bin = "bin" in names and names[0] in ("bin", "realism")
                score = ".".join(("f1_by_bin", *key[::-1]) if of_bin else (f"f1_by_{'_and_'.join(names)}", *key))
                one = reported(line, score)
            else:
                one = estimate(parts[key], "f1") if key in parts else Estimate()
            if one.n != 0 or one.n_failed:
                of = dict(zip(names, key, strict=True))
                found.append({**line.columns(), **of, "score": "f1", **one.columns(*PLAIN)})
    return found


def papers_on(lines: Iterable[Line], book: str, *sides: Side) -> list[Line]:
    """The reported rows about a published book that have F1 by these kinds of questions."""
    published = (line for line in lines if line.reported and line.book == book and not line.writer)
    return [line for line in published if f1_rows([line], *sides)]


def reported(line: Line, score: str) -> Estimate:
    """A score of a reported row; an empty estimate if the row has no such score."""
    row = line.reported
    if row is None or score not in row.scores:
        return Estimate()
    return Estimate(row.counts.get(score), 0, row.scores[score], row.deviations.get(score))


def f1_of(questions: pd.DataFrame, column: str = "f1") -> Estimate:
    """The mean of F1, or of another column, with its 95 % interval, drawing cues with replacement."""
    import numpy as np

    def bootstrap(values: Sequence[float], clusters: Sequence[Any]) -> tuple[float, float] | None:
        known = np.array(values, float)
        return cluster_bootstrap(lambda weights: weighted_mean(weights, known), clusters, bounds=(0.0, 1.0))

    return estimate(questions, column, cluster=EVENTS, interval=bootstrap)


def for_each(
    name: str, title: str, needs: str, found: Mapping[str, Group], make: Callable[[str, str, Group], Exhibit | Missing]
) -> list[Exhibit | Missing]:
    """An exhibit of what was `found` for each book or run, which its name and title tell; what it `needs` if nothing was."""
    if not found:
        return [Missing(name, title, needs)]
    return [make(name if len(found) == 1 else f"{name}, {of}", f"{title} ({of})", one) for of, one in found.items()]


# How rows are shown

RUN = Column("run", of_source(), text=True)
READER = Column("memory", "memory", text=True), Column("model", of_source("model"), text=True)


def texts(*names: str) -> list[Column]:
    """Columns of text with the titles that they have in the frame."""
    return [Column(name, name, text=True) for name in names]


def who_columns(rows: Sequence[Row]) -> list[Column]:
    """The first columns; the run and the book are left out where they tell nothing apart."""
    run = Column("run", lambda row: row["label"] if row["source"] == "own" else "", text=True)
    own, several = any(row["source"] == "own" for row in rows), len(set(map(text_of, rows))) > 1
    return [*READER, *([run] if own else []), *([Column("book", text_of, text=True)] if several else [])]


def with_n(show: Show) -> Show:
    """What another format shows, with the number of questions in parentheses."""
    return lambda row: f"{show(row)} ({row['n'] + row['n_failed']})" if row["n"] or row["n_failed"] else show(row)


def value(prefix: str = "") -> Show:
    """A mean alone, such as `0.830`, or the range in which it lies."""
    show = mean_sd(prefix, 3)
    return lambda row: show({**row, f"{prefix}sd": None}).rstrip("*")


def counted(rows: Sequence[Row], side: Side) -> dict[str, str]:
    """The titles of columns with the number of questions in each, such as `3-5 (12–18)`."""
    titles = {}
    for one, text in side.texts.items():
        known = sorted({row["n"] + row["n_failed"] for row in rows if row[side.name] == one and row["n"] is not None})
        shown = "–".join(map(str, known if len(known) < 2 else (known[0], known[-1])))
        titles[one] = f"{text} ({shown or 'n not reported'})"
    return titles


def forest(rows: Sequence[Row], prefix: str, y: str | Show, title: str, by: Show = RUN.cell) -> Callable[[], Figure]:
    """A figure of points with intervals: a row for each value of `y`, and a mark for each value of `by`, such as each run."""
    spread = [{name: row.get(f"{prefix}{name}") for name in SPREAD} for row in rows]
    marks = [of | {"y": Column("", y).cell(row), "by": by(row)} for row, of in zip(rows, spread, strict=True)]
    return partial(points, marks, "y", "by", title)


# What stands below


def notes_on(lines: Sequence[Line], rows: Sequence[Row], selection: str = ALL_ITEMS) -> list[str]:
    """What a reader of a table must know: which questions count, what was lost, who judged, and where rows come from."""
    notes = [selection, "Deviations are sample standard deviations over questions.", POLICY]
    notes += [f"* {note}" for note in lost_notes(rows)]
    if any(not line.reported and (line.questions["repeat"] > 0).any() for line in lines):
        notes.append("A question that was asked several times counts once for each answer.")
    texts = {line.text for line in lines if not line.reported}
    if len(texts) > len({line.book for line in lines}):
        notes.append("Books of one name are told apart by their writer or fingerprint: their questions differ.")
    return [*notes, *judge_notes(lines), *reported_notes(lines)]


def lost_notes(rows: Sequence[Row]) -> list[str]:
    """What a range means, if questions of these rows failed."""
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
