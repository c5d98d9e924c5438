"""The dimensions of a profile: what each is, where it is measured, and its score between a floor and a ceiling.

Every score is a mean over questions of questions.parquet, 0 to 1, or the area under the curve of Book-SORT. What was not
measured is absent. Sources: Huet et al., Section 4 (recall by number of events, latest state, order); Pink et al., Section 4
(order of segments); Garg et al., Section 3 (stages).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.booksort.scores import run_files as booksort
from epbench.runs.benchmark import read_questions
from epbench.runs.folder import dataset_of, read_run
from epbench.statistics.estimate import Estimate, drawing_clusters, estimate
from epbench.tulving.dataset.load import load_book

if TYPE_CHECKING:
    import pandas as pd

VALUE, CLUSTER, HALF = "value", "cluster", "half"
Select = Callable[["pd.DataFrame"], "pd.DataFrame"]
"""From the questions of a part to those of a dimension, with the columns `VALUE` (NaN where one failed) and `CLUSTER`; and
`HALF`, where the score is the mean of the means of two kinds of questions, so that neither outweighs the other."""


@dataclass(frozen=True)
class Dimension:
    """A dimension."""

    name: str  # what people call it
    about: str  # what its score is, in a sentence
    part: str  # in which part of a profile it is measured; for MemFail all configs of the part
    select: Select | None  # its questions; None for Book-SORT's area under the curve
    floor: float = 0.0  # what an answer that needs no memory scores


@dataclass(frozen=True)
class Measured:
    """The score of a dimension in a profile, with the run that it was read from, relative to the profile's folder."""

    dimension: Dimension
    estimate: Estimate
    run: str


def _column(rows: pd.DataFrame, values: Any, cluster: Any) -> pd.DataFrame:
    return rows.assign(**{VALUE: values.where(rows["outcome"] != "failed"), CLUSTER: cluster})


def _by_cue(rows: pd.DataFrame, values: Any) -> pd.DataFrame:
    """Questions that share what the cue gives are about the same chapters, and intervals draw them together."""
    cues = rows[["time", "space", "entity", "content"]].fillna("").itertuples(index=False, name=None)
    return _column(rows, values, list(cues))


def _f1(rows: pd.DataFrame, *, bins: tuple[str, ...] = ("1", "2", "3-5", "6+"), cue: str = "") -> pd.DataFrame:
    """Harsh F1 of the questions that ask for all matches; surplus items count, so that naming everything is no way out."""
    rows = rows[(rows["get"] == "all") & rows["bin"].isin(bins)]
    rows = rows[rows["cue"] == cue] if cue else rows
    return _by_cue(rows, rows["harsh_f1"])


def _late(rows: pd.DataFrame) -> pd.DataFrame:
    """Harsh F1 of questions whose one chapter lies in the last third of the book."""
    rows = _f1(rows, bins=("1",))
    return rows[rows["place"] > 2 / 3]


def _never(rows: pd.DataFrame) -> pd.DataFrame:
    """Whether an answer names nothing where nothing happened, and something where something did."""
    rows = rows[rows["get"] == "all"]
    named = rows["items"].map(lambda items: items is not None and len(items) > 0)
    empty = rows["bin"] == "0"
    return _by_cue(rows, (named != empty).astype(float)).assign(**{HALF: empty})


def _latest(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[(rows["get"] == "latest") & (rows["n_chapters"] >= 2)]
    return _by_cue(rows, rows["harsh_f1"])


def _order(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[(rows["get"] == "chronological") & (rows["n_chapters"] >= 2)]
    return _by_cue(rows, rows["tau"].fillna(0.0).clip(lower=0.0))


def _links(rows: pd.DataFrame, *, least: int, most: int) -> pd.DataFrame:
    """Harsh F1 of questions with an answer that follows over so many links from chapter to chapter."""
    rows = rows[(rows["get"] == "all") & (rows["bin"] != "0") & rows["links"].between(least, most)]
    return _by_cue(rows, rows["harsh_f1"])


def _stage(rows: pd.DataFrame, *, after: tuple[str, ...], fails: str) -> pd.DataFrame:
    """Of the questions that no earlier stage failed, whether this one passed."""
    rows = rows[~rows["label"].isin(after)]
    return _column(rows, (rows["label"] != fails).astype(float), rows["row"])


_CUES = {"t": "time", "s": "place", "e": "person", "c": "content"}
_STAGES = {
    "storage_error": "storing",
    "summary_error": "summarising",
    "retrieval_error": "finding",
    "reasoning_error": "using",
}

DIMENSIONS: tuple[Dimension, ...] = (
    Dimension("single events", "Harsh F1 of questions that one chapter answers", "tulving-1", partial(_f1, bins=("1",))),
    Dimension(
        "several events", "Harsh F1 of questions that several chapters answer", "tulving-1",
        partial(_f1, bins=("2", "3-5", "6+")),
    ),
    Dimension(
        "late events", "Harsh F1 of questions that one chapter answers, in the last third of the book", "tulving-1", _late
    ),
    Dimension(
        "what never happened", "Nothing is named where nothing happened, and something where something did, half each",
        "tulving-1", _never, 0.5,
    ),
    Dimension("latest state", "Harsh F1 of questions for the latest of several events", "tulving-1", _latest),
    Dimension("order over a book", "Kendall's τ where all events were found, else 0", "tulving-1", _order),
    Dimension("order within an excerpt", "Area under the curve of Book-SORT", "booksort", None, 0.5),
    *(
        Dimension(f"cue: {name}", f"Harsh F1 of questions that give the {name} alone", "tulving-1", partial(_f1, cue=cue))
        for cue, name in _CUES.items()
    ),
    Dimension(
        "distraction", "Harsh F1 at level 3 where the chapter itself says the answer, beside what is not so", "tulving-3",
        partial(_links, least=0, most=0),
    ),
    Dimension(
        "inference", "Harsh F1 at level 3 where the answer follows from other chapters", "tulving-3",
        partial(_links, least=1, most=9),
    ),
    Dimension(
        "updating", "Harsh F1 at level 5 where corrections, withdrawals and outcomes decide", "tulving-5",
        partial(_links, least=1, most=9),
    ),
    *(
        Dimension(
            name, f"Share of MemFail questions that pass this stage, of those that reach it: {name}", "memfail",
            partial(_stage, after=tuple(_STAGES)[:number], fails=stage),
        )
        for number, (stage, name) in enumerate(_STAGES.items())
    ),
)  # fmt: skip
"""All dimensions, in the order in which they are shown."""


def measured(parts: Mapping[str, Path], root: Path) -> Iterator[Measured]:
    """The dimensions that the runs of a profile, by part, measure; BadInput if one did not end, or is damaged."""
    tables = {name: _questions(folder) for name, folder in parts.items() if name != "booksort"}
    for dimension in DIMENSIONS:
        folder = parts.get(dimension.part)
        if folder is None:
            continue
        found = _area(folder) if dimension.select is None else _mean(dimension.select(tables[dimension.part]))
        if found.n:
            yield Measured(dimension, found, folder.relative_to(root).as_posix())


def scored_runs(folder: Path) -> list[Path]:
    """The runs of a part: its folder, or those of its configs, without one that a budget ended before it had scores."""
    return [folder] if (folder / "run.json").is_file() else sorted(path.parent for path in folder.glob("*/scores.json"))


def _questions(folder: Path) -> pd.DataFrame:
    """The questions of a run, or of the runs of several configs; of a book with their links, and where in it they end."""
    import pandas as pd

    runs = scored_runs(folder)
    rows = pd.concat([read_questions(run, ("id", "outcome")) for run in runs], ignore_index=True)
    if "trace" in rows:
        dataset = dataset_of(read_run(runs[0])) or ""
        book = load_book(dataset)
        links = {row["id"]: row.get("links") for row in book.rows}
        rows["links"] = rows["id"].map(links).astype("float64")
        last = {row["id"]: max(row["chapters"], default=0) / len(book.book.chapters) for row in book.rows}
        rows["place"] = rows["id"].map(last)
    return rows


def _mean(rows: pd.DataFrame) -> Estimate:
    """The mean with an interval that draws clusters; of two halves, the mean of theirs."""
    if HALF in rows:
        halves = [_mean(half.drop(columns=HALF)) for _, half in rows.groupby(HALF)]
        return _mean_of(*halves) if len(halves) == 2 else Estimate()
    return estimate(rows, VALUE, cluster=CLUSTER, interval=drawing_clusters)


def _mean_of(one: Estimate, other: Estimate) -> Estimate:
    """The mean of two independent estimates; its interval is made of theirs (MOVER: Zou and Donner, 2008)."""
    n, failed = (one.n or 0) + (other.n or 0), (one.n_failed or 0) + (other.n_failed or 0)
    if one.mean is None or other.mean is None:
        ends = [
            sum(half.mean if half.mean is not None else getattr(half, end) or 0.0 for half in (one, other)) / 2
            for end in ("lowest", "highest")
        ]
        return Estimate(n, failed, lowest=ends[0], highest=ends[1])
    mean, sd, low, high = (one.mean + other.mean) / 2, None, None, None
    if one.sd is not None and other.sd is not None:
        sd = math.sqrt(n * (one.sd**2 / (one.n or 1) + other.sd**2 / (other.n or 1)) / 4)
    if None not in (one.low, other.low):
        low = mean - math.hypot(*(half.mean - half.low for half in (one, other))) / 2  # type: ignore[operator]
        high = mean + math.hypot(*(half.high - half.mean for half in (one, other))) / 2  # type: ignore[operator]
    return Estimate(n, 0, mean, sd, low, high)


def _area(folder: Path) -> Estimate:
    scores = booksort.read_scores(folder)
    low, high = scores["intervals"].get("auc") or (None, None)
    n, failed = int(scores["n_questions"]) - int(scores["n_failed"]), int(scores["n_failed"])
    return Estimate(n if scores.get("auc") is not None else 0, failed, scores.get("auc"), low=low, high=high)
