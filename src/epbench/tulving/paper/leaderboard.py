"""The leaderboard of each Tulving book: own, released and reported runs (the paper's ranking, with floors and ceilings)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.exhibits.exhibit import Exhibit
from epbench.exhibits.leaderboard import Standing, leaderboard
from epbench.exhibits.reported import ReportedRow
from epbench.models.protocol import name_of
from epbench.tulving.judging.protocol import ScoredAnswer
from epbench.tulving.paper.inputs import Inputs, Line
from epbench.tulving.questions.generate import BINS
from epbench.tulving.reader.everything import ACCOUNT, names_by_trace
from epbench.tulving.scores.scoring import means_of
from epbench.tulving.scores.tables import DIFFERENT_JUDGES, judge_names, naming_notes

if TYPE_CHECKING:
    import pandas as pd

_HARSH = "harsh_simple_recall_score"
COLUMNS = {
    "simple recall": "simple_recall_score",
    "chronological awareness": "chronological_awareness",
    "latest": "latest",
    "all found": "all_matched",
}
_SHOWN = {**COLUMNS, "harsh simple recall": _HARSH, "named per true item": "items_ratio"}
_NOTES = (
    "Floor: the highest of three answers that need no memory of any event: one that abstains always, which is right in bin 0 "
    "alone; one that names everything, which is every name of the book that was asked for, in answer to each question; and the "
    "same model's run without memory on this book. The paper's F1 does not count surplus items, so that naming everything has "
    "a high one; harsh F1 counts them, and has a floor of its own in the CSV.",
    "Ceiling: the same model's run with the whole book in its context, and 1 where there is none, or it is that run.",
)


def leaderboards(inputs: Inputs) -> list[Exhibit]:
    """A leaderboard for each dataset that a run is on or that reported rows are about.

    Runs on different datasets that share a name, such as two books of different seeds, have a leaderboard each.
    """
    found: dict[tuple[str, str], list[Line]] = {}
    for run in inputs.runs:
        found.setdefault((run.book, run.fingerprint), []).append(run)
    boards = []
    for (book, fingerprint), runs in found.items():
        one_of_several = sum(name == book for name, _ in found) > 1
        name = f"Leaderboard, {book}" + (f", {fingerprint[:6]}" if one_of_several else "")
        own = all(run.source == "own" for run in runs)
        reported = [row for row in inputs.reported if row.dataset == book and "simple_recall_score" in row.scores]
        about = _THIS if own else _PUBLISHED
        judges = judge_names({str(run.folder): run.scores for run in runs})
        standings = [_of_run(run, runs, about, judges[str(run.folder)]) for run in runs]
        standings += map(_of_reported, reported)
        notes = [*_NOTES, *([_OTHER_BOOK] if own and reported else [])]
        notes += naming_notes({run.label: run.scores for run in runs})
        notes += [DIFFERENT_JUDGES] if len(set(judges.values())) > 1 else []
        boards.append(
            leaderboard(name, f"Simple recall and chronological awareness on {book}", standings, _SHOWN, notes)
        )
    return boards


_OTHER_BOOK = (
    "Reported rows are about the published book of this name, which has other events and another text; other judges read the "
    "answers."
)
_PUBLISHED, _THIS = "the published book", "this book"


def _of_run(run: Line, runs: Sequence[Line], about: str, judge: str) -> Standing:
    scores = run.scores
    floors = _higher(abstaining(scores["n_by_bin"]), naming_everything(scores["n_by_bin"], run.questions))
    beside = [other for other in runs if other.model == run.model and other.source == run.source]
    for other in (other for other in beside if other.memory == "none"):
        floors = _higher(floors, other.scores)
    ceilings = dict.fromkeys(floors, 1.0)
    if run.memory != "in-context":
        whole = [other.scores for other in beside if other.memory == "in-context"]
        ceilings |= {name: best for name in ceilings if (best := _best(whole, name)) is not None}
    return Standing(
        label=run.label, source=run.source, origin=str(run.folder), model=name_of(run.model), memory=run.memory,
        scores={name: scores.get(name) for name in _SHOWN.values()}, floors=floors, ceilings=ceilings,
        judge=judge_in_words(scores.get("judge"), judge), about=about,
        n_asked=run.questions["id"].nunique() if "id" in run.questions else None,
        ranges={name: scores["incomplete"][name] for name in COLUMNS.values() if name in scores["incomplete"]},
        intervals={name: scores["intervals"][name] for name in COLUMNS.values() if name in scores["intervals"]},
    )  # fmt: skip


def _of_reported(row: ReportedRow) -> Standing:
    # The short books have no cue with six or more chapters, and so one bin less.
    bins = BINS[:-1] if "short" in row.dataset else BINS
    return Standing(
        label=row.model, source="reported", origin=f"{row.source}, {row.table}", model=row.model, memory=row.memory,
        scores={name: row.scores.get(name) for name in _SHOWN.values()},
        floors=_higher(abstaining(bins), naming_everything(bins)),
        ceilings=dict.fromkeys(COLUMNS.values(), 1.0), judge="the paper's, without a passport", about=_PUBLISHED,
    )  # fmt: skip


def abstaining(bins: Collection[str]) -> dict[str, float]:
    """The scores of an answer that abstains always: right in bin 0, if that is one of the bins, and nowhere else."""
    recall = 1 / len(bins) if "0" in bins else 0.0
    return dict.fromkeys(COLUMNS.values(), 0.0) | dict.fromkeys(("simple_recall_score", _HARSH), recall)


def naming_everything(bins: Collection[str], questions: pd.DataFrame | None = None) -> dict[str, float]:
    """The scores of the baseline `everything`; see `epbench.tulving.reader.everything`.

    Args:
        bins: The bins of the questions with get = all.
        questions: The rows of questions.parquet. Without any, as of a reported row, it counts as right in all bins but 0, and
            its harsh F1 is left out. It never gives a full account.
    """
    if questions is None or questions.empty:
        recall = sum(bin_ != "0" for bin_ in bins) / len(bins) if bins else 0.0
        return {"simple_recall_score": recall, "latest": 1.0, "all_matched": 1.0, "chronological_awareness": 0.5}
    columns = ["id", "trace", "get", "bin", "n_chapters", "reference"]
    asked: list[Any] = questions[columns].drop_duplicates("id").to_dict("records")
    names = names_by_trace(asked, "reference")
    found = means_of([_named(question, names[question["trace"]]) for question in asked])
    return {name: value for name, value in found.items() if value is not None and name in (*COLUMNS.values(), _HARSH)}


def _named(question: Mapping[str, Any], names: Sequence[str]) -> ScoredAnswer:
    """The judged answer to a question that names all of these."""
    true = list(question["reference"])
    is_there = question["trace"] != ACCOUNT
    return ScoredAnswer(
        question["id"], question["get"], question["bin"], int(question["n_chapters"]), (), true, items=list(names),
        scores=[float(is_there)] * len(true), order=[name for name in names if is_there and name in true],
    )  # fmt: skip


def _higher(floors: Mapping[str, float], others: Mapping[str, Any]) -> dict[str, float]:
    """The higher of two floors of each score that has one."""
    names = [name for name in (*COLUMNS.values(), _HARSH) if name in floors or others.get(name) is not None]
    return {name: max(floors.get(name, 0.0), others.get(name) or 0.0) for name in names}


def judge_in_words(judge: Mapping[str, Any] | None, name: str) -> str:
    """Who judged, and how well according to the passport, such as `lexical, sensitivity 0.92, specificity 0.92`.

    Args:
        judge: What scores.json says of the judge; None if it says nothing.
        name: What to call the judge.
    """
    if not judge:
        return name
    if not judge.get("passport"):
        same = f", which gave every true item {judge['one_score']['score']}" if "one_score" in judge else ""
        return f"{name}{same}, without a passport"
    return f"{name}, sensitivity {judge['sensitivity']:.2f}, specificity {judge['specificity']:.2f}"


def _best(scores: Iterable[Mapping[str, Any]], name: str) -> float | None:
    return max((value for one in scores if (value := one.get(name)) is not None), default=None)
