"""A leaderboard: who stands where on one dataset, between a floor and a ceiling, and how good the judge of each row is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from epbench.reports.exhibit import Column, Exhibit, Show, Source, mean_interval, of_source
from epbench.statistics.estimate import Estimate, Value, framed

BELOW = "▼"
"""Marks a score below its floor."""

_NOTES = (
    f"{BELOW} marks a score below its floor: it says no more than an answer that needs no memory would.",
    "The floor and the ceiling in a row are those of its first score; the CSV has those of all.",
    "Rows with an incomplete score, shown as a range from all failed questions wrong to all of them right, have no rank.",
)
_FEWER = "A row that was asked fewer questions than another about the same ones has no rank, and follows those that have one."
_APART = "Rows about other questions are ranked apart: they show the order of magnitude, not a contest."

_Run = TypeVar("_Run")


@dataclass(frozen=True, slots=True)
class Standing:
    """A row of a leaderboard.

    Attributes:
        label: The name of the run; for a reported row, the model.
        source: Where the row comes from.
        origin: The run's folder, or the paper and its table.
        model: Who answered.
        memory: With which memory, or which system.
        judge: Who judged, and what the judge's passport says; in a sentence without a point.
        scores: By name; one that was not measured has no mean.
        floors: What an answer without memory would score, by the name of the score.
        ceilings: The highest that can be expected, by the name of the score; `bounded` sets them.
        about: Which questions were answered, such as `this book` or `the published book`. Only rows about the same ones
            are ranked against one another.
        n_asked: How many different questions were asked; None for a row that does not say. Of rows about the same
            questions, those that were asked the most are ranked: a few questions, such as of a trial, may be easy ones.
        baseline: By which name `bounded` knows it, such as `none`.
        alike: By the name of the score, what a baseline must share with this row to bound it, such as the model.
    """

    label: str
    source: Source
    origin: str
    model: str
    memory: str
    judge: str
    scores: Mapping[str, Estimate]
    floors: Mapping[str, float]
    ceilings: Mapping[str, float] = field(default_factory=dict)
    about: str = ""
    n_asked: int | None = None
    baseline: str = ""
    alike: Mapping[str, object] = field(default_factory=dict)

    def mean(self, score: str) -> float | None:
        """The mean of a score; None if it was not measured or lost questions."""
        return self.scores[score].mean if score in self.scores else None

    def columns(self, score: str) -> dict[str, Value]:
        """The columns of a score in the frame."""
        one, floor = self.scores.get(score, Estimate()), self.floors.get(score)
        highest = one.mean if one.highest is None else one.highest
        return {
            **one.columns("mean", "low", "high", "lowest", "highest", prefix=f"{score}_"),
            f"{score}_floor": floor, f"{score}_ceiling": self.ceilings.get(score),
            f"{score}_below_floor": int(highest is not None and floor is not None and highest < floor),
        }  # fmt: skip


def score_of(
    value: float | None, interval: Sequence[float] | None = None, bounds: Sequence[float] | None = None
) -> Estimate:
    """A score as scores.json and papers give it: with its interval, or with its bounds where questions failed."""
    low, high = interval or (None, None)
    lowest, highest = bounds or (None, None)
    return Estimate(None, None, None if bounds else value, low=low, high=high, lowest=lowest, highest=highest)


def by_board(runs: Iterable[_Run], dataset_of: Callable[[_Run], tuple[str, str]]) -> dict[str, list[_Run]]:
    """Runs by the name of their leaderboard.

    Args:
        runs: In the order in which leaderboards begin.
        dataset_of: The name and the fingerprint of the dataset of a run. Datasets that share a name, such as books of
            different seeds, have a leaderboard each.
    """
    found: dict[tuple[str, str], list[_Run]] = {}
    for run in runs:
        found.setdefault(dataset_of(run), []).append(run)
    names = [name for name, _ in found]
    return {
        f"Leaderboard, {name}" + (f", {text[:6]}" if names.count(name) > 1 else ""): of
        for (name, text), of in found.items()
    }


def bounded(standings: Sequence[Standing], ceilings: Sequence[str], floor: str = "none") -> list[Standing]:
    """Return the rows with the floors and ceilings that baselines set, of which none lost questions.

    Args:
        standings: Rows with the floors that need no run.
        ceilings: Names of baselines; the first that is there is the ceiling of what it shares `alike` with. Without one,
            and for these baselines themselves, the ceiling is 1.
        floor: The name of the baseline that raises floors.
    """

    def means(name: str, row: Standing, score: str) -> list[float]:
        known = [one.mean(score) for one in standings if one.baseline == name and _share(row, one, score)]
        return [mean for mean in known if mean is not None]

    def ceiling(row: Standing, score: str) -> float:
        found = (means(name, row, score) for name in ceilings if row.baseline not in ceilings)
        return next((max(of) for of in found if of), 1.0)

    return [
        replace(
            row,
            floors={score: max([least, *means(floor, row, score)]) for score, least in row.floors.items()},
            ceilings={score: ceiling(row, score) for score in row.floors},
        )
        for row in standings
    ]


def _share(row: Standing, other: Standing, score: str) -> bool:
    return score in row.alike and score in other.alike and row.alike[score] == other.alike[score]


def leaderboard(
    name: str, title: str, standings: Sequence[Standing], columns: Mapping[str, str], notes: Sequence[str] = ()
) -> Exhibit:
    """Make a leaderboard.

    Args:
        name: The name of the exhibit, such as `Leaderboard, long`.
        title: What it shows.
        standings: The rows; groups of rows about the same questions keep the order in which they begin.
        columns: The name of each score by the title of its column; the first one decides the rank. Rows with the same
            first score share a rank.
        notes: What is said below the table, after what marks and ranges mean.
    """
    first = next(iter(columns.values()))
    groups = list(dict.fromkeys(row.about for row in standings))
    most = {about: max(row.n_asked or 0 for row in standings if row.about == about) for about in groups}

    def counts(row: Standing) -> bool:
        return row.n_asked is None or row.n_asked == most[row.about]

    def place(row: Standing) -> tuple[int, bool, bool, float, str]:
        mean = row.mean(first)
        return groups.index(row.about), not counts(row), mean is None, -(mean or 0.0), row.label

    def rank(row: Standing) -> int | None:
        mean = row.mean(first)
        if mean is None or not counts(row):
            return None
        return 1 + sum((one.mean(first) or 0.0) > mean for one in standings if one.about == row.about and counts(one))

    def record(row: Standing) -> dict[str, Value]:
        about: dict[str, Value] = {
            "rank": rank(row), "label": row.label, "source": row.source, "origin": row.origin, "model": row.model,
            "memory": row.memory, "judge": row.judge, "about": row.about, "n_asked": row.n_asked,
        }  # fmt: skip
        return about | {key: value for score in columns.values() for key, value in row.columns(score).items()}

    several, fewer = len(groups) > 1, not all(map(counts, standings))
    shown = [
        Column("rank", "rank", text=True), Column("model", of_source("model"), text=True), Column("memory", "memory", text=True),
        *([Column("about", "about", text=True)] if several else []), *([Column("questions", "n_asked")] if fewer else []),
        *(Column(title, _score(score)) for title, score in columns.items()), Column("floor", f"{first}_floor"),
        Column("ceiling", f"{first}_ceiling"), Column("judge", "judge"), Column("from", "origin"),
    ]  # fmt: skip
    more = [*([_APART] if several else []), *([_FEWER] if fewer else [])]
    return Exhibit(name, title, framed(map(record, sorted(standings, key=place))), shown, [*_NOTES, *more, *notes])


def _score(name: str) -> Show:
    """A score with its interval or its range, marked if it is below its floor."""
    show = mean_interval(f"{name}_", ends=3)
    return lambda row: show(row) + (f" {BELOW}" if row[f"{name}_below_floor"] else "")
