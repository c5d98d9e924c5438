"""The leaderboard of each book: own, released and reported runs (the paper's ranking), with floors and ceilings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.judges.protocol import people_line
from epbench.models.protocol import name_of
from epbench.reports.exhibit import Exhibit
from epbench.reports.leaderboard import Standing, bounded, by_board, leaderboard, reported_standing, score_of
from epbench.reports.reported import ReportedRow
from epbench.tulving.judging.verdicts import ScoredAnswer
from epbench.tulving.paper.inputs import Inputs, Line
from epbench.tulving.questions.generate import BINS
from epbench.tulving.reader import ACCOUNT, names_by_trace
from epbench.tulving.scores.scoring import means_of
from epbench.tulving.scores.tables import DIFFERENT_JUDGES, judge_names, naming_notes

if TYPE_CHECKING:
    import pandas as pd

_HARSH = "harsh_simple_recall_score"
_RECALL = {"simple recall": "simple_recall_score", "chronological awareness": "chronological_awareness"}
COLUMNS = {**_RECALL, "latest": "latest", "all found": "all_matched"}
_SHOWN = {**COLUMNS, "harsh simple recall": _HARSH, "named per true item": "items_ratio"}
_NOTES = (
    "Floor: the highest of three answers that need no memory of any event: one that abstains always, which is right in bin 0 "
    "alone; one that names everything, which is every name of the book that was asked for, in answer to each question; and the "
    "same model's run without memory on this book. The paper's F1 does not count surplus items, so that naming everything has "
    "a high one; harsh F1 counts them, and has a floor of its own in the CSV.",
    "Ceiling: the same model's run with the whole book in its context, and 1 where there is none, or it is that run.",
)
_OTHER_BOOK = (
    "Reported rows are about the published book of this name, which has other events and another text; other judges read the "
    "answers."
)
_PUBLISHED, _THIS = "the published book", "this book"


def leaderboards(inputs: Inputs) -> list[Exhibit]:
    """A leaderboard for each dataset that a run is on, with the reported rows about a book of its name."""
    boards = []
    for name, runs in by_board(inputs.runs, lambda run: (run.book, run.fingerprint)).items():
        judges = judge_names({str(run.folder): run.scores for run in runs})
        published = any(run.source != "own" for run in runs)  # with which own runs share the book
        standings = [standing(run, judges[str(run.folder)], published) for run in runs]
        differ = [DIFFERENT_JUDGES] if len(set(judges.values())) > 1 else []
        notes = [*naming_notes({run.label: run.scores for run in runs}), *differ]
        boards.append(board(name, runs[0].book, standings, inputs.reported, notes))
    return boards


def board(
    name: str, book: str, standings: Sequence[Standing], reported: Sequence[ReportedRow], notes: Sequence[str] = ()
) -> Exhibit:
    """The leaderboard of a dataset named like `book`: its `standings`, what is `reported` about it, and what it `notes`."""
    theirs = [row for row in reported if row.dataset == book and "simple_recall_score" in row.scores]
    another = theirs and any(row.about == _THIS for row in standings)
    # The short books have no cue with six or more chapters, and so one bin less.
    floors = _floors(BINS[:-1] if "short" in book else BINS)
    papers = (reported_standing(row, floors, "the paper's, without a passport", _PUBLISHED) for row in theirs)
    rows, about = bounded([*standings, *papers], ["in-context"]), [*_NOTES, *([_OTHER_BOOK] if another else []), *notes]
    return leaderboard(name, f"Simple recall and chronological awareness on {book}", rows, _SHOWN, about)


def standing(run: Line, judge: str, published: bool = False) -> Standing:
    """The row of a run whose judge is called `judge`; about a `published` book it stands beside reported rows."""
    scores = run.scores
    lost, intervals, judged = scores["incomplete"], scores["intervals"], _judge_in_words(scores.get("judge"), judge)
    return Standing(
        *(run.label, run.source, str(run.folder), name_of(run.model), run.memory, judged),
        {name: score_of(scores.get(name), intervals.get(name), lost.get(name)) for name in _SHOWN.values()},
        _floors(scores["n_by_bin"], run.questions),
        about=_PUBLISHED if published else _THIS,
        n_asked=run.questions["id"].nunique() if "id" in run.questions else None,
        baseline=run.memory,
        alike=dict.fromkeys(_SHOWN.values(), (run.model, run.source)),
    )


def _floors(bins: Collection[str], questions: pd.DataFrame | None = None) -> dict[str, float]:
    """The higher score of two that need no memory: to abstain always, which is right in bin 0, or to name everything."""
    named, recall = naming_everything(bins, questions), 1 / len(bins) if "0" in bins else 0.0
    abstaining = dict.fromkeys(COLUMNS.values(), 0.0) | dict.fromkeys(("simple_recall_score", _HARSH), recall)
    return {name: max(score, named.get(name, 0.0)) for name, score in abstaining.items()}


def naming_everything(bins: Collection[str], questions: pd.DataFrame | None = None) -> dict[str, float]:
    """The scores of the baseline `everything` of `epbench.tulving.reader`, which never gives a full account.

    Without questions, as of a reported row, it is right in all `bins` of get = all but 0, and has no harsh F1.
    """
    if questions is None or questions.empty:
        recall = sum(bin_ != "0" for bin_ in bins) / len(bins) if bins else 0.0
        return {"simple_recall_score": recall, "latest": 1.0, "all_matched": 1.0, "chronological_awareness": 0.5}
    asked: list[Any] = questions.drop_duplicates("id").to_dict("records")
    names, answers = names_by_trace(asked, "reference"), []
    for question in asked:
        about = question["id"], question["get"], question["bin"], int(question["n_chapters"])
        true, is_there, named = (
            list(question["reference"]),
            question["trace"] != ACCOUNT,
            list(names[question["trace"]]),
        )
        order = [name for name in named if is_there and name in true]
        answers.append(ScoredAnswer(*about, (), true, named, [float(is_there)] * len(true), order))
    found = means_of(answers)
    return {name: value for name, value in found.items() if value is not None and name in (*COLUMNS.values(), _HARSH)}


def _judge_in_words(judge: Mapping[str, Any] | None, name: str) -> str:
    """Who judged, and how well by the passport in scores.json, such as `lexical, sensitivity 0.92, specificity 0.92`."""
    if not judge:
        return name
    if not judge.get("passport"):
        same = f", which gave every true item {judge['one_score']['score']}" if "one_score" in judge else ""
        return f"{name}{same}, without a passport"
    said = f", {line}" if (line := people_line(judge)) else ""
    return f"{name}, sensitivity {judge['sensitivity']:.2f}, specificity {judge['specificity']:.2f}{said}"
