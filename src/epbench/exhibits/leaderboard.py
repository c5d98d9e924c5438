"""A leaderboard: who stands where on one dataset, between a floor and a ceiling, and how good the judge of each row is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from epbench.exhibits.exhibit import Exhibit, Source, Value, marked
from epbench.reports.tables import Table

BELOW = "▼"
"""Marks a score below its floor."""

_NOTES = (
    f"{BELOW} marks a score below its floor: it says no more than an answer that needs no memory would.",
    "The floor and the ceiling in a row are those of its first score; the CSV has those of all.",
    "Rows with an incomplete score, shown as a range from all failed questions wrong to all of them right, have no rank.",
)
_FEWER = "A row that was asked fewer questions than another about the same ones has no rank, and follows those that have one."
_APART = "Rows about other questions are ranked apart: they show the order of magnitude, not a contest."


@dataclass(frozen=True, slots=True)
class Standing:
    """A row of a leaderboard.

    Attributes:
        label: The name of the run; for a reported row, the model.
        source: Where the row comes from.
        origin: The run's folder, or the paper and its table.
        model: Who answered.
        memory: With which memory, or which system.
        scores: The scores by name; None for one that was not measured.
        ranges: [low, high] for each score that lost questions, whose value is then None.
        intervals: The 95 % interval of each score that has one.
        floors: What an answer without memory would score, by the name of the score.
        ceilings: The highest that can be expected, by the name of the score.
        judge: Who judged, and what the judge's passport says; in a sentence without a point.
        about: Which questions were answered, such as `this book` or `the published book`. Only rows about the same ones
            are ranked against one another.
        n_asked: How many different questions were asked; None for a row that does not say. Of rows about the same
            questions, those that were asked the most are ranked: a few questions, such as of a trial, may be easy ones.
    """

    label: str
    source: Source
    origin: str
    model: str
    memory: str
    scores: Mapping[str, float | None]
    floors: Mapping[str, float]
    ceilings: Mapping[str, float]
    judge: str
    about: str = ""
    n_asked: int | None = None
    ranges: Mapping[str, Sequence[float]] = field(default_factory=dict)
    intervals: Mapping[str, Sequence[float]] = field(default_factory=dict)

    def is_below(self, score: str) -> bool:
        """Whether the score, or all that a range leaves possible, is below its floor."""
        highest = self.ranges[score][1] if score in self.ranges else self.scores.get(score)
        return highest is not None and score in self.floors and highest < self.floors[score]


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
    most = {about: max((r.n_asked or 0 for r in standings if r.about == about), default=0) for about in groups}
    whole = {id(row): row.n_asked is None or row.n_asked == most[row.about] for row in standings}
    ranked = sorted(standings, key=lambda row: (groups.index(row.about), not whole[id(row)], *_place(row, first)))
    several, fewer = len(groups) > 1, not all(whole.values())
    rows = []
    for row in ranked:
        of_group = [other.scores.get(first) for other in ranked if other.about == row.about and whole[id(other)]]
        about = [row.about] if several else []
        about += [f"{row.n_asked or '–'}"] if fewer else []
        rank = _rank(row.scores.get(first) if whole[id(row)] else None, of_group)
        rows.append([rank, marked(row.model, row.source), row.memory, *about,
                     *(_cell(row, score) for score in columns.values()), _bound(row.floors, first),
                     _bound(row.ceilings, first), row.judge, row.origin])  # fmt: skip
    between = [*(["about"] if several else []), *(["questions"] if fewer else [])]
    head = ["rank", "model", "memory", *between, *columns, "floor", "ceiling", "judge", "from"]
    more = [*([_APART] if several else []), *([_FEWER] if fewer else [])]
    table = Table(head, rows, notes=[*_NOTES, *more, *notes], text_columns=3 + several)
    return Exhibit(name, title, [_record(row, columns) for row in ranked], table)


def _place(row: Standing, score: str) -> tuple[bool, float, str]:
    """Where a row stands in its group: high scores first, those without one last."""
    value = row.scores.get(score)
    return value is None, -(value or 0.0), row.label


def _rank(value: float | None, of_group: Sequence[float | None]) -> str:
    return "–" if value is None else str(1 + sum(other is not None and other > value for other in of_group))


def _cell(row: Standing, score: str) -> str:
    mark = f" {BELOW}" if row.is_below(score) else ""
    if score in row.ranges:
        low, high = row.ranges[score]
        return f"{low:.3f}–{high:.3f}{mark}"
    value = row.scores.get(score)
    if value is None:
        return "–"
    interval = row.intervals.get(score)
    return f"{value:.3f}" + (f" ({interval[0]:.3f}–{interval[1]:.3f})" if interval else "") + mark


def _bound(bounds: Mapping[str, float], score: str) -> str:
    return f"{bounds[score]:.2f}" if score in bounds else "–"


def _record(row: Standing, columns: Mapping[str, str]) -> dict[str, Value]:
    found: dict[str, Value] = {
        "label": row.label, "source": row.source, "origin": row.origin, "model": row.model, "memory": row.memory,
        "judge": row.judge, "about": row.about, "n_asked": row.n_asked,
    }  # fmt: skip
    for score in columns.values():
        interval, bounds = row.intervals.get(score), row.ranges.get(score)
        found |= {
            score: row.scores.get(score), f"{score}_low": interval[0] if interval else None,
            f"{score}_high": interval[1] if interval else None, f"{score}_if_failed_wrong": bounds[0] if bounds else None,
            f"{score}_if_failed_right": bounds[1] if bounds else None, f"{score}_floor": row.floors.get(score),
            f"{score}_ceiling": row.ceilings.get(score), f"{score}_below_floor": int(row.is_below(score)),
        }  # fmt: skip
    return found
