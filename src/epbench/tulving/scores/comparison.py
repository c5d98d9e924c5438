"""Runs on one dataset held against each other, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from epbench.statistics.comparison import compare_two, with_holm
from epbench.tulving.scores.scoring import ScoredAnswer, question_f1

Cue = tuple[str | None, ...]


def compare_runs(runs: Mapping[str, Sequence[ScoredAnswer]]) -> list[dict[str, Any]]:
    """F1 of any two runs on the questions that both have answered.

    Args:
        runs: judged answers by the run's name; the F1 of a question that was asked several times is their mean.

    Returns:
        For each pair what `epbench.statistics.comparison.compare_two` says, with cues as clusters and Wilcoxon's test,
        and p_holm, p corrected for all pairs.

    Raises:
        RunFailed: two runs have no question in common.
    """
    f1 = {name: _f1_by_question(rows) for name, rows in runs.items()}
    return with_holm(
        [
            compare_two(names, [f1[name] for name in names], cluster_of=lambda question: question[1])
            for names in combinations(f1, 2)
        ]
    )


def _f1_by_question(rows: Sequence[ScoredAnswer]) -> dict[tuple[str, Cue], float]:
    """Mean F1 by id and cue."""
    values: dict[tuple[str, Cue], list[float]] = {}
    for row, f1 in zip(rows, question_f1(rows) if rows else [], strict=True):
        values.setdefault((row.id, row.cue), []).append(f1)
    return {question: sum(f1) / len(f1) for question, f1 in values.items()}
