"""Leaderboards of Book-SORT: runs and reported rows ranked for each set of pairs, and the scores that they are ranked by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.rates import CHANCE, of_excerpts
from epbench.models.protocol import name_of
from epbench.reports.exhibit import Exhibit
from epbench.reports.leaderboard import Names, Standing, bounded, by_board, leaderboard, reported_standing
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import Estimate

_COLUMNS = {"accuracy": "accuracy", "20-word segments": "accuracy_s20", "50-word segments": "accuracy_s50"}
_JUDGE = "none needed"
_NOTES = (
    "No judge is needed: the label that is more probable as the next word is the answer.",
    "Floor: guessing, or the same model's run without memory on these pairs, whichever is higher.",
    "Ceiling: the same model's run with the excerpt in its context, and 1 where there is none, or it is that run.",
)
_PUBLISHED = "Reported rows are about the whole published set: nine books, excerpts of up to 2,500 words."


def leaderboards(inputs: Inputs) -> list[Exhibit]:
    """A leaderboard for each set of pairs that a run is about; with no run, one of the reported rows."""
    runs = [*inputs.runs, *(run for training in inputs.trainings for run in training.runs)]
    boards = []
    for name, of in by_board(runs, lambda run: (run.dataset, run.fingerprint)).items():
        configs = ", ".join(dict.fromkeys(config for run in of for config in run.configs))
        boards.append(board(name, f"{of[0].dataset}: {configs}", list(map(standing, of)), inputs.reported))
    if not boards and _published(inputs.reported):
        boards = [board("Leaderboard", "the published set", [], inputs.reported)]
    return boards


def board(name: str, dataset: str, standings: Sequence[Standing], reported: Sequence[ReportedRow]) -> Exhibit:
    """The leaderboard of one set of pairs, with the reported rows that are about the whole published set."""
    theirs = _published(reported)
    about = [*(_NOTES if standings else ()), *([_PUBLISHED] if theirs else [])]
    rows = [*bounded(standings, ["in-context"]), *theirs]
    return leaderboard(name, f"Accuracy on {dataset}", rows, _COLUMNS, about)


def _published(reported: Sequence[ReportedRow]) -> list[Standing]:
    floors = [(row, {name: CHANCE for name in _COLUMNS.values() if name in row.scores}) for row in reported]
    known = [(row, of) for row, of in floors if of and row.dataset == "book-sort"]
    return bounded([reported_standing(row, of, _JUDGE, "the published pairs") for row, of in known], [])


def standing(run: PaperRun) -> Standing:
    """The row of a run."""
    found, n = by_segments(run), len(run.questions)
    scores = {name: found[name] for name in _COLUMNS.values() if name in found and n}
    trained = "" if run.epoch is None else f", {run.training} after {run.epoch} epochs"
    names: Names = (run.label, "own", str(run.folder), name_of(run.model), run.memory + trained, _JUDGE)
    floors, alike = dict.fromkeys(scores, CHANCE), dict.fromkeys(scores, run.model)
    return Standing(*names, scores, floors, about="these pairs", n_asked=n, baseline=run.memory, alike=alike)


def reported_of(run: PaperRun) -> dict[str, Any]:
    """Return its accuracies as a file of reported numbers; see `epbench.reports.reported`."""
    found = by_segments(run)
    row = {"dataset": "book-sort", "model": run.model, "memory": run.memory} | {
        "scores": {name: of.mean for name, of in found.items()},
        "counts": {name: of.n for name, of in found.items()},
        "intervals": {name: [of.low, of.high] for name, of in found.items() if of.low is not None},
    }
    table = {"source": run.folder.name, "table": "trials of people", "rows": [row]}
    return {"benchmark": "booksort", "tables": [table]}


def by_segments(run: PaperRun) -> dict[str, Estimate]:
    """The accuracy of a run as `accuracy`, and with segments of 20 words as `accuracy_s20` and so on."""
    parts = {f"accuracy_s{words}": part for words, part in run.questions.groupby("segment_length")}
    return {name: of_excerpts(part, "right") for name, part in {"accuracy": run.questions, **parts}.items()}
