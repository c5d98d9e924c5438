"""The cells of the paper's tables: a mean with its deviation, or a range where questions were lost; and what is said below."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Value, with_deviation
from epbench.reports.tables import Table
from epbench.tulving.paper.lines import Line
from epbench.tulving.questions.generate import BINS

if TYPE_CHECKING:
    import pandas as pd

POLICY = (
    "F1 is the paper's lenient one (Appendix B.3.2): repeats count once, and precision counts at most as many items as are "
    "true. Ours never exceeds 1; the paper's can where a judge gives more points than it found items."
)
ALL_ITEMS = "Only questions that ask for all items count (get = all); bins count the matching chapters."
LOST = (
    "* Some of these questions have no answer or no verdict, and are neither right nor wrong: the range goes from all of "
    "them wrong to all of them right."
)


@dataclass(frozen=True)
class Cell:
    """The F1, or another value, of some questions.

    Attributes:
        n: The number of questions, lost ones included; None if a paper does not say.
        lost: How many of them have no answer or no verdict.
        mean: None without questions, and where some were lost.
        deviation: The sample standard deviation; None without a mean, and for a single question.
        low: The mean if all lost questions were answered wrong; None if none was lost.
        high: The mean if all lost questions were answered right; None if none was lost.
    """

    n: int | None = 0
    lost: int = 0
    mean: float | None = None
    deviation: float | None = None
    low: float | None = None
    high: float | None = None

    def text(self, *, with_n: bool = False) -> str:
        """The cell for people: `0.84 ± 0.37`, `0.52–0.61*` where questions were lost, or a dash; n in parentheses."""
        shown = with_deviation(self.mean, self.deviation)
        if self.low is not None and self.high is not None:
            shown = f"{self.low:.2f}–{self.high:.2f}*"
        return f"{shown} ({self.n})" if with_n and self.n else shown

    def columns(self) -> dict[str, Value]:
        """The columns of a record."""
        return {
            "mean": self.mean, "sd": self.deviation, "n": self.n, "n_lost": self.lost, "low": self.low, "high": self.high
        }  # fmt: skip


def cell_of(questions: pd.DataFrame, column: str = "f1") -> Cell:
    """The cell of some questions of a run.

    Args:
        questions: Rows of questions.parquet.
        column: A value of 0 to 1 that every question with an outcome has.
    """
    answered = [float(value) for value in questions.loc[questions["outcome"] != "failed", column]]
    n, lost = len(questions), len(questions) - len(answered)
    if n == 0:
        return Cell()
    if lost:
        low = math.fsum(answered) / n
        return Cell(n, lost, low=low, high=low + lost / n)
    return Cell(n, 0, math.fsum(answered) / n, statistics.stdev(answered) if n > 1 else None)


def reported_cell(line: Line, score: str) -> Cell:
    """The cell of a score of a reported row; an empty one if the row has no such score."""
    row = line.reported
    if row is None or score not in row.scores:
        return Cell()
    return Cell(row.counts.get(score), 0, row.scores[score], row.deviations.get(score))


def bin_cells(line: Line) -> dict[str, Cell]:
    """F1 by bin of the questions with get = all, of a run or of a reported row."""
    if line.run is None:
        return {bin_: reported_cell(line, f"f1_by_bin.{bin_}") for bin_ in BINS}
    questions = line.questions[line.questions["get"] == "all"]
    return {bin_: cell_of(questions[questions["bin"] == bin_]) for bin_ in BINS}


Leading = Mapping[str, Callable[[Line], str]]
"""The first columns of a table: the title, and the text for a line."""

LEADING: Leading = {
    "memory": lambda line: line.memory,
    "model": lambda line: f"{line.model} ({line.source})" if line.source != "own" else line.model,
    "run": lambda line: line.label if line.source == "own" else "",
    "book": lambda line: line.text,
}


def leading_columns(lines: Sequence[Line], leading: Leading = LEADING) -> tuple[list[str], list[list[str]]]:
    """The titles and the texts of the first columns; the run and the book are left out where they tell nothing apart."""
    columns = {title: [show(line) for line in lines] for title, show in leading.items()}
    if not any(columns.get("run", [])):
        columns.pop("run", None)
    if len({line.text for line in lines}) < 2:
        columns.pop("book", None)
    return list(columns), [list(row) for row in zip(*columns.values(), strict=True)]


def bin_table(name: str, title: str, lines: Sequence[Line], notes: Sequence[str] = ()) -> Exhibit:
    """A table with a row for each line and a column for each bin: mean ± sample standard deviation of F1.

    Args:
        name: The name of the exhibit.
        title: Its title.
        lines: The rows.
        notes: Sentences that come first among the notes.
    """
    cells = [bin_cells(line) for line in lines]
    bins = [bin_ for bin_ in BINS if any(row[bin_].n != 0 for row in cells)]
    head, leading = leading_columns(lines)
    titles = [*head, *(f"{bin_} ({_counts(row[bin_] for row in cells)})" for bin_ in bins)]
    rows = [[*who, *(row[bin_].text() for bin_ in bins)] for who, row in zip(leading, cells, strict=True)]
    records = [
        {**line.columns(), "bin": bin_, "score": "f1", **row[bin_].columns()}
        for line, row in zip(lines, cells, strict=True)
        for bin_ in bins
        if row[bin_].n != 0
    ]
    used = [row[bin_] for row in cells for bin_ in bins]
    return Exhibit(name, title, records, Table(titles, rows, "", [*notes, *notes_on(lines, used)], len(head)))


def _counts(cells: Iterable[Cell]) -> str:
    known = sorted({cell.n for cell in cells if cell.n})
    return "–".join(map(str, known if len(known) < 2 else (known[0], known[-1]))) or "n not reported"


def notes_on(lines: Sequence[Line], cells: Iterable[Cell] = (), selection: str = ALL_ITEMS) -> list[str]:
    """What a reader of a table must know: which questions count, what was lost, who judged, and where rows come from.

    Args:
        lines: The rows of the table.
        cells: Its cells.
        selection: Which questions count, in full sentences.
    """
    notes = [selection, "Deviations are sample standard deviations over questions.", POLICY]
    if any(cell.lost for cell in cells):
        notes.append(LOST)
    if any(line.run is not None and (line.questions["repeat"] > 0).any() for line in lines):
        notes.append("A question that was asked several times counts once for each answer.")
    texts = {line.text for line in lines if line.run is not None}
    if len(texts) > len({line.book for line in lines}):
        notes.append("Books of one name are told apart by their writer or fingerprint: their questions differ.")
    return [*notes, *judge_notes(lines), *reported_notes(lines)]


def judge_notes(lines: Sequence[Line]) -> list[str]:
    """Who judged the runs, and a warning where judges differ."""
    judged: dict[str, list[str]] = {}
    for line in lines:
        if line.run is not None:
            judged.setdefault(line.judge, []).append(line.who)
    if len(judged) < 2:
        return [f"Judge: {judge}." for judge in judged]
    named = "; ".join(f"{judge}: {', '.join(dict.fromkeys(who))}" for judge, who in judged.items())
    return [f"Judges differ, and scores from different judges are not comparable. {named}."]


def reported_notes(lines: Sequence[Line]) -> list[str]:
    """Where reported rows come from, and what is said about each of them."""
    rows = [line.reported for line in lines if line.reported is not None]
    if not rows:
        return []
    sources: dict[str, dict[str, None]] = {}
    for row in rows:
        sources.setdefault(row.source, {})[row.table] = None
    named = "; ".join(f"{source}: {', '.join(tables)}" for source, tables in sources.items())
    notes = dict.fromkeys(f"{row.model}, {row.memory}: {row.note}" for row in rows if row.note)
    about = f"Rows marked (reported) are numbers of a paper, judged by its judge. {named}."
    if any(line.source == "own" for line in lines):
        about += (
            " They are about the published books: an own book of the same name has another text, and other questions, so that "
            "they show the order of magnitude, not a contest."
        )
    return [about, *notes]
