"""Rates of many runs and groups of questions, as the records of an exhibit and as the cells of its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.results.rates import QUESTION, Rate, rate_of, smallest_above_chance
from epbench.booksort.scores.scoring import LONG_EXCERPT
from epbench.exhibits.exhibit import Value
from epbench.exhibits.reported import ReportedRow
from epbench.statistics.paired import holm

if TYPE_CHECKING:
    import pandas as pd

SORT, EXTEND = "SORT", "SORT-extend"
"""The two parts of the paper: excerpts of up to 2,500 words, and longer ones."""

EDGES = (100, 200, 400, 1000, 1500, 4000, 10000, 16500, 25000, 40000)
"""Right edges, in words, of the bins of distance from 400 on that the paper's figures have, and finer ones below."""

MEAN = "mean of the runs"

Group = Mapping[str, Value]
Split = Callable[["pd.DataFrame"], Iterable[tuple[Group, "pd.DataFrame"]]]
"""Divides questions into groups; each comes with the columns that name it."""


@dataclass(frozen=True)
class Cell:
    """The rate of one run, or of the mean of several, on one group of questions.

    Attributes:
        run: What names the run: source, label, model and memory.
        group: What names the group, such as the book and the length of segments.
        rate: The rate.
        p_holm: Its p-value, by Holm for all groups of the run in the exhibit; None without a test.
    """

    run: Group
    group: Group
    rate: Rate
    p_holm: float | None = None

    def record(self) -> dict[str, Value]:
        """The record of this cell."""
        return {**self.run, **self.group, **self.rate.fields(), "p_holm": self.p_holm}

    @property
    def label(self) -> str:
        """The label of the run."""
        return str(self.run["label"])


def about(run: PaperRun) -> Group:
    """The columns that name a run."""
    return {"source": run.source, "label": run.label, "model": run.model, "memory": run.memory}


def shown(one: Cell) -> list[str]:
    """The first cells of a row about a run: its label and its model."""
    return [one.label, str(one.run["model"])]


def with_memory(inputs: Inputs, *memories: str) -> list[PaperRun]:
    """The runs with one of these memories, in the order given."""
    return [run for run in inputs.runs if run.memory in memories]


def cells(runs: Sequence[PaperRun], split: Split) -> list[Cell]:
    """The rate of each run on each group of its questions, with p-values by Holm for all groups of a run."""
    found = []
    for run in runs:
        of_run = [(group, rate_of(part)) for group, part in split(run.questions)]
        found += _corrected([Cell(about(run), group, rate) for group, rate in of_run if rate is not None])
    return found


def averaged(runs: Sequence[PaperRun]) -> tuple[list[PaperRun], list[str]]:
    """The runs that a mean can be over: all, or if they have no question in common those on the most frequent set.

    Returns:
        These runs, and notes that name those left out.
    """
    kept = list(runs)
    if len(runs) > 1 and common_questions(runs).empty:
        most = Counter(run.fingerprint for run in runs).most_common(1)[0][0]
        kept = [run for run in runs if run.fingerprint == most]
    left_out = [run.label for run in runs if all(run is not one for one in kept)]
    return kept, [f"Left out of the mean, as they are about other pairs: {', '.join(left_out)}."] if left_out else []


def mean_cells(runs: Sequence[PaperRun], split: Split) -> list[Cell]:
    """The same for the mean over runs, question by question; questions that not all runs were asked are left out.

    With one run, this is the run itself.

    Args:
        runs: Runs with common questions; see `averaged`.
        split: Divides the questions into groups.
    """
    if len(runs) < 2:
        return cells(runs, split)
    common = common_questions(runs)
    memories = list(dict.fromkeys(run.memory for run in runs))
    run: Group = {"source": "own", "label": MEAN, "model": f"{len(runs)} runs", "memory": ", ".join(memories)}
    found = [(group, rate_of(part, pooled=True)) for group, part in split(common)]
    return _corrected([Cell(run, group, rate) for group, rate in found if rate is not None])


def common_questions(runs: Sequence[PaperRun]) -> pd.DataFrame:
    """The questions of the first run that all runs were asked, with the mean of `right`; NaN where one of them failed."""
    import pandas as pd

    asked = [run.questions.set_index(list(QUESTION), drop=False) for run in runs]
    right = pd.concat([one["right"] for one in asked], axis=1, join="inner").mean(axis=1, skipna=False)
    common = asked[0][asked[0].index.isin(right.index)]
    return common.assign(right=right.reindex(common.index)).reset_index(drop=True)


def by_columns(*names: str) -> Split:
    """Divide questions by columns, in rising order of their values."""

    def split(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
        for values, part in questions.groupby(list(names), sort=True):
            yield {name: _plain(value) for name, value in zip(names, values, strict=True)}, part

    return split


def by_words(questions: pd.DataFrame) -> Iterable[tuple[Group, pd.DataFrame]]:
    """Divide questions by the length of segments and the distance in words from start to start; see `EDGES`."""
    for length, part in questions.groupby("segment_length", sort=True):
        low = 0
        for high in EDGES:
            inside = part[(part["distance"] > low) & (part["distance"] <= high)]
            if not inside.empty:
                group = {"segment_length": _plain(length), "over": low, "up_to": high}
                yield {**group, "mean_distance": float(inside["distance"].mean())}, inside
            low = high


def part_of(excerpt_length: pd.Series) -> pd.Series:
    """The part of the paper that excerpts of these lengths belong to."""
    return (excerpt_length >= LONG_EXCERPT).map({False: SORT, True: EXTEND})


def reported_in(inputs: Inputs, *tables: str) -> list[ReportedRow]:
    """The reported rows of these tables or figures."""
    return [row for row in inputs.reported if row.table in tables]


def reported_record(row: ReportedRow, score: str, group: Group) -> dict[str, Value]:
    """The record of a reported number, with the columns that the records of cells have."""
    low, high = row.intervals.get(score, (None, None))
    run = {"source": "reported", "label": row.model, "model": row.model, "memory": row.memory}
    empty = Rate(0, 0, None, None, None, None, 0).fields()
    numbers: dict[str, Value] = {
        "accuracy": row.scores.get(score),
        "ci_low": low,
        "ci_high": high,
        "n": row.counts.get(score),
    }
    return {**run, **group, **empty, "n_failed": None, **numbers, "p_holm": None}


def reported_text(row: ReportedRow, score: str) -> str:
    """The text of a cell with a reported number, in its digits."""
    if score not in row.scores:
        return "–"
    if score not in row.intervals:
        return f"{row.scores[score]:.2f}"
    half = (row.intervals[score][1] - row.intervals[score][0]) / 2
    return f"{row.scores[score]:.2f} ± {half:.{2 if abs(half - round(half, 2)) < 1e-6 else 3}f}"


def reported_notes(rows: Sequence[ReportedRow]) -> list[str]:
    """A note that says where reported rows come from; none without rows."""
    sources = dict.fromkeys(f"{row.source}, {row.table}" for row in rows)
    return [f"Rows marked (reported): {'; '.join(sources)}."] if rows else []


def width_note(found: Sequence[Cell]) -> list[str]:
    """What an interval without width means, if there is one."""
    if not any(cell.rate.interval and cell.rate.interval[0] == cell.rate.interval[1] for cell in found):
        return []
    return [
        "± 0.000: all excerpts are alike, so that drawing them shows no spread; it does not mean that there is no error."
    ]


def power_note(found: Sequence[Cell]) -> str:
    """The sentence that says what so few questions could show against chance."""
    units = [cell.rate.units for cell in found if cell.rate.units]
    if not units:
        return "No group could be tested against chance, as questions failed."
    smallest = smallest_above_chance(min(units))
    least = f"an accuracy of {smallest:.3f}" if smallest else "no accuracy below 1"
    return (
        f"The smallest group that was tested has n = {min(units):,}, which shows {least} with 80 % power at .05 before the "
        f"correction; the largest has n = {max(units):,}."
    )


def _corrected(found: Sequence[Cell]) -> list[Cell]:
    known = [cell.rate.p for cell in found if cell.rate.p is not None]
    corrected = iter(holm(known))
    return [cell if cell.rate.p is None else replace(cell, p_holm=next(corrected)) for cell in found]


def _plain(value: object) -> Value:
    """A value of pandas as one of Python's."""
    return value.item() if hasattr(value, "item") else value  # type: ignore[return-value]
