"""The leaderboard of each set of pairs: own and reported runs, between guessing and a perfect answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.lines import CHANCE
from epbench.booksort.paper.rates import prepared, rate_of
from epbench.exhibits.exhibit import Exhibit
from epbench.exhibits.leaderboard import Standing, leaderboard
from epbench.exhibits.reported import ReportedRow
from epbench.models.protocol import name_of
from epbench.statistics.estimate import Estimate

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
    reported = [_of_reported(row) for row in inputs.reported if row.dataset == "book-sort" and _scores_of(row)]
    found: dict[tuple[str, str], list[PaperRun]] = {}
    for run in [*inputs.runs, *(run for training in inputs.trainings for run in training.runs)]:
        found.setdefault((run.dataset, run.fingerprint), []).append(run)
    boards = []
    for (dataset, fingerprint), runs in found.items():
        several = sum(name == dataset for name, _ in found) > 1
        name = f"Leaderboard, {dataset}" + (f", {fingerprint[:6]}" if several else "")
        configs = ", ".join(dict.fromkeys(config for run in runs for config in run.configs))
        standings = [*_standings(runs), *reported]
        notes = [*_NOTES, *([_PUBLISHED] if reported else [])]
        boards.append(leaderboard(name, f"Accuracy on {dataset}: {configs}", standings, COLUMNS, notes))
    if reported and not boards:
        boards.append(leaderboard("Leaderboard", "Accuracy on the published set", reported, COLUMNS, [_PUBLISHED]))
    return boards


def _scores_of(row: ReportedRow) -> list[str]:
    """The scores of a reported row that a leaderboard shows."""
    return [score for score in COLUMNS.values() if score in row.scores]


def _standings(runs: Sequence[PaperRun]) -> list[Standing]:
    rates = [(run, _rates(run)) for run in runs]
    return [_of_run(run, of_run, rates) for run, of_run in rates]


def _rates(run: PaperRun) -> dict[str, Estimate]:
    questions = prepared(run.questions)
    parts = {"accuracy": questions}
    parts |= {score: questions[questions["segment_length"] == length] for score, length in _LENGTHS.items()}
    return {score: rate_of(part) for score, part in parts.items() if len(part)}


def _of_run(
    run: PaperRun, rates: Mapping[str, Estimate], others: Sequence[tuple[PaperRun, Mapping[str, Estimate]]]
) -> Standing:
    beside = [(other, of_other) for other, of_other in others if other.model == run.model]
    floors, ceilings = {}, {}
    for score in rates:
        guessed = [of.mean for other, of_other in beside if other.memory == "none" and (of := of_other.get(score))]
        floors[score] = max([CHANCE, *(value for value in guessed if value is not None)])
        whole = [of.mean for other, of_other in beside if other.memory == "in-context" and (of := of_other.get(score))]
        known = [value for value in whole if value is not None and run.memory != "in-context"]
        ceilings[score] = max(known) if known else 1.0
    return Standing(
        label=run.label, source=run.source, origin=str(run.folder), model=name_of(run.model), memory=_memory(run),
        scores={score: rate.mean for score, rate in rates.items()}, floors=floors, ceilings=ceilings, judge=_JUDGE,
        about="these pairs", n_asked=len(run.questions),
        ranges=_known({name: (one.lowest, one.highest) for name, one in rates.items()}),
        intervals=_known({name: (one.low, one.high) for name, one in rates.items()}),
    )  # fmt: skip


def _known(ends: Mapping[str, tuple[float | None, float | None]]) -> dict[str, tuple[float, float]]:
    return {name: (low, high) for name, (low, high) in ends.items() if low is not None and high is not None}


def _memory(run: PaperRun) -> str:
    """The memory, and for a model that was trained the training and its epoch."""
    return run.memory if run.epoch is None else f"{run.memory}, {run.training} after {run.epoch} epochs"


def _of_reported(row: ReportedRow) -> Standing:
    scores = _scores_of(row)
    return Standing(
        label=row.model, source="reported", origin=f"{row.source}, {row.table}", model=row.model, memory=row.memory,
        scores={score: row.scores[score] for score in scores}, floors=dict.fromkeys(scores, CHANCE),
        ceilings=dict.fromkeys(scores, 1.0), judge=_JUDGE, about="the published pairs",
        intervals={score: row.intervals[score] for score in scores if score in row.intervals},
    )  # fmt: skip
