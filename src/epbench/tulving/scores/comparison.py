"""Runs on one Tulving book, compared question by question."""

from __future__ import annotations

import math
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
from epbench.tulving.scores.scoring import ScoredAnswer, harsh_f1_of, means_of, question_f1
from epbench.tulving.scores.tables import MANY

HARSH, NAMED = "harsh F1", "named per true item"
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
    pairs = compare_runs(judged, progress)
    notes = [f"{name}: {UNKNOWN_CHAPTERS}" for name, folder in runs.items() if folder in unknown]
    return Comparison("F1", pairs, {"judge": next(iter(judges.values())).name}, [*notes, *naming_warnings(pairs)])


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
        test, p_holm, and beside: the harsh F1 of both on the same questions, and how many items each names for each true
        one on all of its own.

    Raises:
        RunFailed: Two runs have no question in common.
    """
    f1 = {name: _by_question(rows, question_f1(rows) if rows else []) for name, rows in runs.items()}
    harsh = {name: _by_question(rows, list(map(harsh_f1_of, rows))) for name, rows in runs.items()}
    return with_holm(
        [
            compare_two(names, [f1[name] for name in names], cluster_of=lambda question: question[1])
            | {
                "beside": {
                    HARSH: _means(*(harsh[name] for name in names)),
                    NAMED: [_ratio(runs[name]) for name in names],
                }
            }
            for names in progress(list(combinations(f1, 2)))
        ]
    )


def naming_warnings(pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    """What must be said of runs that name more than is asked for, in full sentences; see `naming_notes`."""
    ratios = {name: ratio for pair in pairs for name, ratio in zip(pair["runs"], pair["beside"][NAMED], strict=True)}
    lines = [
        f"{name}: its answers name {ratio:.1f} items for each true one, and surplus items cost nothing in F1; read harsh F1, "
        "which counts them"
        for name, ratio in ratios.items()
        if ratio is not None and ratio > MANY
    ]
    for pair in pairs:
        (one, other), harsh = pair["means"], pair["beside"][HARSH]
        if (one - other) * (harsh[0] - harsh[1]) < 0:
            lines.append(f"{' / '.join(pair['runs'])}: F1 and harsh F1 rank them differently")
    return lines


def _by_question(rows: Sequence[ScoredAnswer], values: Sequence[float]) -> dict[tuple[str, Cue], float]:
    """The mean of the values by id and cue of the question."""
    found: dict[tuple[str, Cue], list[float]] = {}
    for row, value in zip(rows, values, strict=True):
        found.setdefault((row.id, row.cue), []).append(value)
    return {question: sum(of) / len(of) for question, of in found.items()}


def _means(one: Mapping[Any, float], other: Mapping[Any, float]) -> list[float]:
    """The means over the questions that both have."""
    shared = one.keys() & other.keys()
    return [math.fsum(values[question] for question in shared) / len(shared) for values in (one, other)]


def _ratio(rows: Sequence[ScoredAnswer]) -> float | None:
    return means_of(rows)["items_ratio"]
