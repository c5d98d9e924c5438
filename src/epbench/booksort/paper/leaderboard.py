"""The leaderboard of each set of pairs: own and reported runs, between guessing and a perfect answer."""

from __future__ import annotations

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.lines import CHANCE
from epbench.metric_folders import metric_module
from epbench.models.protocol import name_of
from epbench.reports.exhibit import Exhibit
from epbench.reports.leaderboard import Standing, bounded, by_board, leaderboard, score_of
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import estimate

COLUMNS = {"accuracy": "accuracy", "20-word segments": "accuracy_s20", "50-word segments": "accuracy_s50"}
_LENGTHS = {"accuracy_s20": 20, "accuracy_s50": 50}
_JUDGE = "none needed"
_NOTES = (
    "No judge is needed: the label that is more probable as the next word is the answer.",
    "Floor: guessing, or the same model's run without memory on these pairs, whichever is higher.",
    "Ceiling: the same model's run with the excerpt in its context, and 1 where there is none, or it is that run.",
)
_PUBLISHED = "Reported rows are about the whole published set: nine books, excerpts of up to 2,500 words."


def leaderboards(inputs: Inputs) -> list[Exhibit]:
    """A leaderboard for each set of pairs that a run is about; with no run, one of the reported rows."""
    theirs = [
        row
        for row in inputs.reported
        if row.dataset == "book-sort" and not row.scores.keys().isdisjoint(COLUMNS.values())
    ]
    reported = bounded([_of_reported(row) for row in theirs], [])
    about_reported = [_PUBLISHED] if reported else []
    boards = []
    runs = [*inputs.runs, *(run for training in inputs.trainings for run in training.runs)]
    for name, of in by_board(runs, lambda run: (run.dataset, run.fingerprint)).items():
        configs = ", ".join(dict.fromkeys(config for run in of for config in run.configs))
        standings = [*bounded([_of_run(run) for run in of], ["in-context"]), *reported]
        title = f"Accuracy on {of[0].dataset}: {configs}"
        boards.append(leaderboard(name, title, standings, COLUMNS, [*_NOTES, *about_reported]))
    if reported and not boards:
        boards.append(leaderboard("Leaderboard", "Accuracy on the published set", reported, COLUMNS, about_reported))
    return boards


def _of_run(run: PaperRun) -> Standing:
    questions = run.questions
    parts = {score: questions[questions["segment_length"] == length] for score, length in _LENGTHS.items()}
    parts = {score: part for score, part in ({"accuracy": questions} | parts).items() if len(part)}
    interval = metric_module("sort_accuracy").accuracy_interval
    trained = "" if run.epoch is None else f", {run.training} after {run.epoch} epochs"
    return Standing(
        label=run.label, source=run.source, origin=str(run.folder), model=name_of(run.model),
        memory=run.memory + trained, judge=_JUDGE, about="these pairs", n_asked=len(questions), baseline=run.memory,
        scores={score: estimate(part, "right", cluster="excerpt", interval=interval) for score, part in parts.items()},
        floors=dict.fromkeys(parts, CHANCE), alike=dict.fromkeys(parts, run.model),
    )  # fmt: skip


def _of_reported(row: ReportedRow) -> Standing:
    scores = {
        name: score_of(row.scores[name], row.intervals.get(name)) for name in COLUMNS.values() if name in row.scores
    }
    return Standing(
        label=row.model, source="reported", origin=f"{row.source}, {row.table}", model=row.model, memory=row.memory,
        judge=_JUDGE, scores=scores, floors=dict.fromkeys(scores, CHANCE), about="the published pairs",
    )  # fmt: skip
