"""Runs of Book-SORT held against each other, question by question; what each of them answered stands in its folder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from epbench.booksort.answers.answer import ScoredPair
from epbench.booksort.context.orders import pair_id
from epbench.errors import BadInput
from epbench.runs import outcomes
from epbench.statistics.comparison import compare_two, with_holm

_FIELDS = {
    "id": (str,),
    "excerpt": (str,),
    "correct": (bool, type(None)),
    "log_ratio": (float, int, type(None)),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question.

    Attributes:
        id: of the question; with both orders each pair has two.
        excerpt: that it is about.
        correct: None where the question failed.
        log_ratio: log of p(right segment)/(p(A)+p(B)); None where a probability is unknown or 0.
    """

    id: str
    excerpt: str
    correct: bool | None
    log_ratio: float | None


def write_outcomes(folder: Path, rows: Sequence[ScoredPair]) -> None:
    """Put what became of each question into the run's `outcomes.jsonl`."""
    outcomes.write_outcomes(
        folder,
        [
            {
                "id": row.id,
                "excerpt": row.excerpt,
                "correct": None if row.failed else row.correct,
                "log_ratio": None if row.failed else _log_ratio(row),
            }
            for row in rows
        ],
    )


def read_outcomes(folder: Path) -> list[Outcome]:
    """What became of each question of a run.

    Raises:
        BadInput: the folder has no such file, as from before there was one, or it is not as it should be.
    """
    return [Outcome(**record) for record in outcomes.read_outcomes(folder, _FIELDS)]


def compare_runs(runs: Mapping[str, Sequence[Outcome]]) -> list[dict[str, Any]]:
    """Accuracy of any two runs on the questions that both have answered.

    Args:
        runs: outcomes by the run's name.

    Returns:
        For each pair what `epbench.statistics.comparison.compare_two` says, with excerpts as clusters and McNemar's
        test; where each pair of segments was asked both ways round, its two askings are one unit of that test. Also
        n_failed, failed questions of either run, which are left out; log_ratio, see `compare_log_ratios`, None where a
        run has no probabilities; and p_holm.

    Raises:
        RunFailed: two runs have no answered question in common.
    """
    excerpts = {one.id: one.excerpt for of_run in runs.values() for one in of_run}
    found = []
    for one, other in combinations(runs, 2):
        names = (one, other)
        values = [{o.id: float(o.correct) for o in runs[name] if o.correct is not None} for name in names]
        pair = compare_two(names, values, cluster_of=excerpts.__getitem__, unit_of=pair_id, outcomes=True)
        pair["n_failed"] = [sum(o.correct is None for o in runs[name]) for name in names]
        pair["log_ratio"] = compare_log_ratios(runs[one], runs[other])
        found.append(pair)
    return with_holm(found)


def compare_log_ratios(first: Sequence[Outcome], second: Sequence[Outcome]) -> dict[str, Any] | None:
    """One-sided paired t-test: does the first run give the right segment a larger part of p(A)+p(B)?

    Two askings of one pair of segments count once, by their mean.

    Returns:
        n pairs with probabilities of both runs, difference (mean log ratio of the first less that of the second, in
        nats) and p; None with fewer than two such pairs, or where all differences are the same.
    """
    from scipy.stats import ttest_1samp

    theirs = {one.id: one.log_ratio for one in second}
    by_pair: dict[str, list[float]] = {}
    for one in first:
        other = theirs.get(one.id)
        if one.log_ratio is not None and other is not None:
            by_pair.setdefault(pair_id(one.id), []).append(one.log_ratio - other)
    differences = [sum(values) / len(values) for values in by_pair.values()]
    if len(set(differences)) < 2:
        return None
    p = float(ttest_1samp(differences, 0.0, alternative="greater").pvalue)
    return {"n": len(differences), "difference": sum(differences) / len(differences), "p": p}


def check_same_rows(described: Mapping[Path, Mapping[str, Any]]) -> None:
    """
    Args:
        described: run.json of each folder.

    Raises:
        BadInput: two runs are on different rows, configs or splits.
    """
    first, *others = described
    for folder in others:
        for name in ("config", "split", "fingerprint"):
            values = [described[one]["identity"].get(name) for one in (first, folder)]
            if values[0] != values[1]:
                raise BadInput(
                    f"{folder / 'run.json'}: its {name} is {values[1]!r}, that of {first} is {values[0]!r}; runs on the "
                    "same questions are expected"
                )


def _log_ratio(row: ScoredPair) -> float | None:
    if row.p_a is None or row.p_b is None:
        return None
    right = row.p_a if row.answer == "A" else row.p_b
    return math.log(right / (row.p_a + row.p_b)) if right > 0 else None
