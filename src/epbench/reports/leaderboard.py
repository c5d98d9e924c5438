"""A leaderboard: who stands where on one dataset, between a floor and a ceiling, and how good the judge of each row is.

Whoever has a run makes a measured row from it (`epbench submit`): a small JSON file with its scores and identity, and without
answers. A repository keeps those of everybody in one folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct, to_builtins

from epbench.errors import BadInput
from epbench.files.json_files import read_json, read_typed
from epbench.files.typed import Whole
from epbench.journals.journal import JOURNALS
from epbench.reports.exhibit import Exhibit, Show, Shown, Source, columns_of, mean_interval, of_source
from epbench.reports.plots import grouped_by
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import Estimate, Value, framed

BELOW = "▼"  # marks a score below its floor

_NOTES = (
    f"{BELOW} marks a score below its floor: it says no more than an answer that needs no memory would.",
    "The floor and the ceiling in a row are those of its first score; the CSV has those of all.",
    "Rows with an incomplete score, shown as a range from all failed questions wrong to all of them right, have no rank.",
)
_FEWER = "A row that was asked fewer questions than another about the same ones has no rank, and follows those that have one."
_APART = "Rows about other questions are ranked apart: they show the order of magnitude, not a contest."

Names = tuple[str, Source, str, str, str, str]  # the first fields of a row, from its label to its judge
_SHOWN = ("label", "source", "origin", "model", "memory", "judge", "about", "n_asked")
"""The fields of a row that stand in the frame."""
_Run = TypeVar("_Run")

FORMAT = 1
_CHECKSUMS = "checksums.json"  # of each run, with the SHA-256 of its files
_BULKY = ("warnings", "distances", "lost_in_the_middle", "by_group", "possible", "stored", "unnoticed", "facts")
"""Fields of scores.json, and of its parts, that no row shows."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A row of a leaderboard."""

    label: str  # the name of the run; for a reported row, the model
    source: Source  # where the row comes from
    origin: str  # the run's folder, or the paper and its table
    model: str  # who answered
    memory: str  # with which memory, or which system
    judge: str  # who judged, and what the judge's passport says; in a sentence without a point
    scores: Mapping[str, Estimate]  # by name; one that was not measured has no mean
    floors: Mapping[str, float]  # what an answer without memory would score, by the name of the score
    ceilings: Mapping[str, float] = field(default_factory=dict)  # the highest to be expected; `bounded` sets them
    about: str = ""  # which questions were answered, such as `this book`; only rows about the same are ranked together
    # How many different questions were asked; None for a row that does not say. Of rows about the same questions, those
    # that were asked the most are ranked: a few questions, such as of a trial, may be easy ones.
    n_asked: int | None = None
    baseline: str = ""  # by which name `bounded` knows it, such as `none`
    alike: Mapping[str, object] = field(default_factory=dict)  # by score, what a baseline that bounds it has, too

    def mean(self, score: str) -> float | None:
        """The mean of a score; None if it was not measured or lost questions."""
        return self.scores[score].mean if score in self.scores else None

    def columns(self, score: str) -> dict[str, Value]:
        """The columns of a score in the frame."""
        one, floor = self.scores.get(score, Estimate()), self.floors.get(score)
        highest = one.mean if one.highest is None else one.highest
        below = int(highest is not None and floor is not None and highest < floor)
        beside = {"floor": floor, "ceiling": self.ceilings.get(score), "below_floor": below}
        known = one.columns("mean", "low", "high", "lowest", "highest") | beside
        return {f"{score}_{name}": value for name, value in known.items()}


def score_of(
    value: float | None, interval: Sequence[float] | None = None, bounds: Sequence[float] | None = None
) -> Estimate:
    """A score as scores.json and papers give it: with its interval, or with its bounds where questions failed."""
    low, high = interval or (None, None)
    lowest, highest = bounds or (None, None)
    return Estimate(None, None, None if bounds else value, low=low, high=high, lowest=lowest, highest=highest)


def reported_standing(row: ReportedRow, floors: Mapping[str, float], judge: str, about: str) -> Standing:
    """A row that a paper reports, with the scores that have floors."""
    scores = {name: score_of(row.scores.get(name), row.intervals.get(name)) for name in floors}
    names: Names = (row.model, "reported", f"{row.source}, {row.table}", row.model, row.memory, judge)
    return Standing(*names, scores, floors, about=about)


def by_board(runs: Iterable[_Run], dataset_of: Callable[[_Run], tuple[str, str]]) -> dict[str, list[_Run]]:
    """Runs by the name of their leaderboard, from the name and the fingerprint of the dataset of each.

    Datasets that share a name, such as books of different seeds, have a leaderboard each.
    """
    found = grouped_by(runs, dataset_of)
    names = [name for name, _ in found]
    return {
        f"Leaderboard, {name}" + (f", {text[:6]}" if names.count(name) > 1 else ""): of
        for (name, text), of in found.items()
    }


def bounded(standings: Sequence[Standing], ceilings: Sequence[str]) -> list[Standing]:
    """Return the rows with the floors and ceilings that baselines set, of which none lost questions; `none` raises floors.

    The first of the baselines `ceilings` that is there is the ceiling of what it shares `alike` with. Without one, and
    for these baselines themselves, the ceiling is 1.
    """

    def means(name: str, row: Standing, score: str) -> list[float]:
        known = (one for one in standings if one.baseline == name and score in row.alike and score in one.alike)
        found = (one.mean(score) for one in known if one.alike[score] == row.alike[score])
        return [mean for mean in found if mean is not None]

    def ceiling(row: Standing, score: str) -> float:
        found = (means(name, row, score) for name in ceilings if row.baseline not in ceilings)
        return next((max(of) for of in found if of), 1.0)

    return [
        replace(
            row,
            floors={score: max([least, *means("none", row, score)]) for score, least in row.floors.items()},
            ceilings={score: ceiling(row, score) for score in row.floors},
        )
        for row in standings
    ]


def leaderboard(
    name: str, title: str, standings: Sequence[Standing], columns: Mapping[str, str], notes: Sequence[str] = ()
) -> Exhibit:
    """Make a leaderboard. `columns` has the name of each score by the title of its column; the first one decides the rank.

    Groups of rows about the same questions keep the order in which they begin. Rows with the same first score share a
    rank.
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
        about: dict[str, Value] = {"rank": rank(row), **{name: getattr(row, name) for name in _SHOWN}}
        return about | {key: value for score in columns.values() for key, value in row.columns(score).items()}

    several, fewer = len(groups) > 1, not all(map(counts, standings))
    texts: Shown = {"rank": "rank", "model": of_source("model"), "memory": "memory"}
    texts |= {"about": "about"} if several else {}
    numbers: Shown = {"questions": "n_asked"} if fewer else {}
    numbers |= {title: _score(score) for title, score in columns.items()}
    numbers |= {"floor": f"{first}_floor", "ceiling": f"{first}_ceiling", "judge": "judge", "from": "origin"}
    more = [*([_APART] if several else []), *([_FEWER] if fewer else [])]
    frame, shown = framed(map(record, sorted(standings, key=place))), columns_of(texts | numbers, len(texts))
    return Exhibit(name, title, frame, shown, [*_NOTES, *more, *notes])


def _score(name: str) -> Show:
    """A score with its interval or its range, marked if it is below its floor."""
    show = mean_interval(f"{name}_", ends=3)
    return lambda row: show(row) + (f" {BELOW}" if row[f"{name}_below_floor"] else "")


class Result(Struct, frozen=True, kw_only=True):
    """What is kept of a run."""

    format: Whole  # the version of this form
    benchmark: str  # such as `tulving`
    dataset: str  # the name of the dataset, such as `short-l3`, and for Book-SORT its configs
    fingerprint: str  # of its rows; only rows with the same one are ranked together
    # Its rows: one, or for MemFail one for each k. Their origin is empty, and what bounds them (`alike`) is in texts.
    standings: list[Standing]
    # The content of scores.json without its largest parts, by config for a run of several, else by "".
    scores: dict[str, dict[str, Any]]
    identity: dict[str, dict[str, Any]]  # what run.json says of the run, by config likewise
    command: str  # the command of the run, with names in place of paths
    versions: dict[str, str]  # of the libraries at the time of the run
    journals: dict[str, str]  # the SHA-256 of each journal, by config and file name
    checks: dict[str, Whole]  # how many checks of `epbench verify` held, and how many could not be made; none failed
    by: str  # who measured it
    note: str = ""  # what else is to be known; empty for nothing

    @property
    def checksum(self) -> str:
        """The SHA-256 of the list of journals: it differs if any answer or verdict does."""
        return hashlib.sha256(json.dumps(self.journals, sort_keys=True).encode()).hexdigest()

    @property
    def name(self) -> str:
        """The name of its file, without its ending: what was measured, and the beginning of the checksum."""
        first = self.standings[0]
        words = [self.benchmark, self.dataset, first.model, first.memory if len(self.standings) == 1 else first.label]
        plain = [re.sub(r"[^a-z0-9.]+", "-", word.lower()).strip("-.") for word in words]
        return "-".join([*filter(None, plain), self.checksum[:8]])


def result_of(
    parts: Mapping[str, Path],
    standings: Sequence[Standing],
    dataset: str,
    fingerprint: str,
    *,
    checks: Mapping[str, int],
    by: str,
    note: str = "",
) -> Result:
    """Put together what is kept of a run, whose folders are given by config, or by "" for a run in a single folder.

    `checks` says how many held (`hold`), and how many could not be made (`not_made`). BadInput if a file is damaged.
    """
    runs = {name: read_json(folder / "run.json") for name, folder in parts.items()}
    first = next(iter(runs.values()))
    noted = {name: read_json(folder / _CHECKSUMS)["sha256"] for name, folder in parts.items()}
    journals = {
        f"{name}/{file}".lstrip("/"): hash_
        for name, of in noted.items()
        for file, hash_ in sorted(of.items())
        if file in JOURNALS
    }
    scores = {name: read_json(folder / "scores.json") for name, folder in parts.items()}
    return Result(
        format=FORMAT,
        benchmark=str(first["identity"]["benchmark"]),
        dataset=dataset,
        fingerprint=fingerprint,
        standings=[
            replace(row, origin="", ceilings={}, alike={name: str(of) for name, of in row.alike.items()})
            for row in standings
        ],
        scores=_small(scores),
        identity={name: {**run["identity"], "limit": run.get("limit")} for name, run in runs.items()},
        command=_without_paths(str(first.get("command", ""))),
        versions=first["versions"],
        journals=journals,
        checks=dict(checks),
        by=by,
        note=note,
    )


def _small(scores: Any) -> Any:
    if not isinstance(scores, dict):
        return scores
    return {name: _small(of) for name, of in scores.items() if name not in _BULKY}


def _without_paths(command: str) -> str:
    """A command with names in place of paths, and without what says only where and how long it ran."""
    kept = re.sub(r" --(out|max-time)[= ]\S+", "", command)
    return " ".join(Path(word).name if word.startswith("/") else word for word in kept.split(" "))


def result_text(result: Result) -> str:
    """The content of its file."""
    return json.dumps(_pruned(to_builtins(result)), ensure_ascii=False, indent=1) + "\n"


def _pruned(value: Any) -> Any:
    """The same without nulls, which stand for what was not measured; numbers of questions keep them."""
    if isinstance(value, dict):
        return {key: _pruned(of) for key, of in value.items() if of is not None or key in ("n", "n_failed")}
    return [_pruned(of) for of in value] if isinstance(value, list) else value


def read_results(folder: Path) -> list[Result]:
    """Read all measured rows of a folder, in the order of their names.

    BadInput if a file is no such row, is of a later form, or has a name that is not that of its content; or two are of
    one run.
    """
    found: dict[str, Path] = {}
    results = []
    for path in sorted(folder.glob("*.json")):
        result = read_typed(path, Result)
        if result.format != FORMAT or not result.standings:
            raise BadInput(f"{path}: expected a measured row of form {FORMAT}, found form {result.format}")
        if path.stem != result.name:
            raise BadInput(f"{path}: its content was changed, or it was renamed: its name should be {result.name}.json")
        if other := found.get(result.checksum):
            raise BadInput(f"{path}: the same run as {other.name}")
        found[result.checksum] = path
        results.append(result)
    return results


def rows_of(results: Iterable[Result]) -> list[Standing]:
    """The rows of some results, each with its file and who measured it as its origin."""
    return [replace(row, origin=f"{result.name}.json, {result.by}") for result in results for row in result.standings]
