"""Runs on one dataset held against each other, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from epbench.errors import RunFailed
from epbench.statistics.paired import holm, paired
from epbench.tulving.scoring import Judged, question_f1

Cue = tuple[str | None, ...]


def compare_runs(runs: Mapping[str, Sequence[Judged]]) -> list[dict[str, Any]]:
    """F1 of any two runs on the questions that both have answered.

    Args:
        runs: judged answers by the run's name; the F1 of a question that was asked several times is their mean.

    Returns:
        For each pair: runs, their names; n_one_sided, questions that only one of them has; what
        `epbench.statistics.paired.Paired` says (cues are the clusters); and p_holm, p corrected for all pairs.

    Raises:
        RunFailed: two runs have no question in common.
    """
    f1 = {name: _f1_by_question(rows) for name, rows in runs.items()}
    found = []
    for one, other in combinations(f1, 2):
        shared = [question for question in f1[one] if question in f1[other]]
        if not shared:
            raise RunFailed(f"{one} and {other} have no answered question in common")
        result = paired(
            [f1[one][question] for question in shared],
            [f1[other][question] for question in shared],
            [cue for _, cue in shared],
        )
        found.append({"runs": [one, other], "n_one_sided": len(f1[one].keys() ^ f1[other].keys()), **asdict(result)})
    for pair, p in zip(found, holm([pair["p"] for pair in found]), strict=True):
        pair["p_holm"] = p
    return found


def _f1_by_question(rows: Sequence[Judged]) -> dict[tuple[str, Cue], float]:
    """Mean F1 by id and cue."""
    values: dict[tuple[str, Cue], list[float]] = {}
    for row, f1 in zip(rows, question_f1(rows) if rows else [], strict=True):
        values.setdefault((row.id, row.cue), []).append(f1)
    return {question: sum(f1) / len(f1) for question, f1 in values.items()}
