"""Runs on one Tulving book, compared question by question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.hub.rows import Row
from epbench.runs.folder import dataset_of, open_run
from epbench.statistics.comparison import Comparison, Progress, compare_two, with_holm
from epbench.tulving.dataset.load import load_book
from epbench.tulving.judging.verdicts import read_verdicts
from epbench.tulving.scores.judges_of_run import last_judge
from epbench.tulving.scores.run_files import UNKNOWN_CHAPTERS, check_same_book, read_run
from epbench.tulving.scores.scoring import ScoredAnswer, question_f1

Cue = tuple[str | None, ...]


def compare(runs: Mapping[str, Path], dataset: str | None = None, progress: Progress = iter) -> Comparison:
    """Compare F1 of any two runs on the questions that both have answered.

    Args:
        runs: The folders of at least two runs, by the name of the run.
        dataset: Where the book is; None for where the runs found it.
        progress: Shows a bar.

    Raises:
        BadInput: The runs are on different books, have different judges or no scores, or no run names its book.
        RunFailed: Two runs have no question in common.
    """
    rows = rows_of(runs.values(), dataset)
    judges = {folder: last_judge(folder) for folder in runs.values()}
    if len(set(judges.values())) > 1:
        named = "; ".join(f"{folder}: {judge}" for folder, judge in judges.items())
        raise BadInput(f"the runs have different judges ({named}); have one judge judge them all")
    unknown = check_same_book({folder: read_run(folder) for folder in runs.values()})
    judged = {}
    for name, folder in runs.items():
        with open_run(folder, {}, {}):  # no other process may be at work in it
            judged[name] = read_verdicts(folder, rows, judges[folder])
    notes = [f"{name}: {UNKNOWN_CHAPTERS}" for name, folder in runs.items() if folder in unknown]
    return Comparison("F1", compare_runs(judged, progress), {"judge": next(iter(judges.values())).name}, notes)


def rows_of(folders: Iterable[Path], dataset: str | None = None) -> Sequence[Row]:
    """The rows of the book that all runs are about.

    Args:
        folders: The folders of the runs.
        dataset: Where the book is; None for where the runs found it.

    Raises:
        BadInput: The runs are on different books, or no run names its book.
    """
    described = {folder: read_run(folder) for folder in folders}
    dataset = dataset or next(filter(None, map(dataset_of, described.values())), None)
    if dataset is None:
        raise BadInput(
            f"{next(iter(described)) / 'run.json'}: a released run names no dataset; give its book as the dataset"
        )
    data = load_book(dataset)
    for folder, run in described.items():
        noted = {"fingerprint": run.get("fingerprint", data.fingerprint), "chapters": data.chapters} | run["identity"]
        if any(noted[name] != found for name, found in data.identity.items()):
            raise BadInput(f"{folder / 'run.json'}: this run is on another dataset than {dataset}")
    return data.rows


def compare_runs(runs: Mapping[str, Sequence[ScoredAnswer]], progress: Progress = iter) -> list[dict[str, Any]]:
    """Compare F1 of any two runs.

    Args:
        runs: The judged answers by the name of the run. F1 of a question that was asked several times is the mean.
        progress: Shows a bar.

    Returns:
        For each two runs what `epbench.statistics.comparison.compare_two` returns, with cues as clusters and Wilcoxon's
        test, and p_holm.

    Raises:
        RunFailed: Two runs have no question in common.
    """
    f1 = {name: _f1_by_question(rows) for name, rows in runs.items()}
    return with_holm(
        [
            compare_two(names, [f1[name] for name in names], cluster_of=lambda question: question[1])
            for names in progress(list(combinations(f1, 2)))
        ]
    )


def _f1_by_question(rows: Sequence[ScoredAnswer]) -> dict[tuple[str, Cue], float]:
    """Mean F1 by id and cue."""
    values: dict[tuple[str, Cue], list[float]] = {}
    for row, f1 in zip(rows, question_f1(rows) if rows else [], strict=True):
        values.setdefault((row.id, row.cue), []).append(f1)
    return {question: sum(f1) / len(f1) for question, f1 in values.items()}
