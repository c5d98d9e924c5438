"""Runs of Book-SORT, compared question by question by the outcomes in their folders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from epbench.booksort.answers.answer import ScoredPair
from epbench.booksort.answers.pair_ids import pair_id
from epbench.booksort.scores.run_files import read_run, read_scores
from epbench.runs import outcomes
from epbench.runs.several import check_same
from epbench.statistics.comparison import Comparison, compare_two, with_holm

_FIELDS = {
    "id": (str,),
    "excerpt": (str,),
    "correct": (bool, type(None)),
    "log_ratio": (float, int, type(None)),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one question.

    Attributes:
        id: The id of the question; with both orders, two questions ask about each pair.
        excerpt: The excerpt that the question is about.
        correct: Whether the answer is right; None if the question failed.
        log_ratio: The logarithm of p(right segment) / (p(A) + p(B)); None if a probability is unknown or 0.
    """

    id: str
    excerpt: str
    correct: bool | None
    log_ratio: float | None


def record_of(row: ScoredPair) -> dict[str, Any]:
    """The line of `outcomes.jsonl` about one question; its fields are those of `Outcome`."""
    return {
        "id": row.id,
        "excerpt": row.excerpt,
        "correct": None if row.failed else row.correct,
        "log_ratio": None if row.failed else _log_ratio(row),
    }


def read_outcomes(folder: Path) -> list[Outcome]:
    """The outcome of each question of a run.

    Raises:
        BadInput: The folder has no such file, as runs of earlier versions have not, or the file is damaged.
    """
    return [Outcome(**record) for record in outcomes.read_outcomes(folder, _FIELDS)]


def compare(runs: Mapping[str, Path], dataset: str | None = None) -> Comparison:
    """Compare the accuracy of any two runs on the questions that both have answered.

    Args:
        runs: The folders of at least two runs, by the name of the run.
        dataset: Not used: the outcomes in the folders are all that is compared.

    Raises:
        BadInput: A run did not end, or the runs are on different rows, configs or splits.
        RunFailed: Two runs have no answered question in common.
    """
    for folder in runs.values():
        read_scores(folder)  # a run that did not end has none
    check_same({folder: read_run(folder) for folder in runs.values()}, ("config", "split", "fingerprint"))
    return Comparison("accuracy", compare_runs({name: read_outcomes(folder) for name, folder in runs.items()}))


def compare_runs(runs: Mapping[str, Sequence[Outcome]]) -> list[dict[str, Any]]:
    """Compare the accuracy of any two runs.

    Args:
        runs: The outcomes by the name of the run.

    Returns:
        For each two runs what `epbench.statistics.comparison.compare_two` returns, with excerpts as clusters and McNemar's
        test. If each pair of segments was asked in both orders, its two askings are one unit of that test. Also n_failed,
        the number of failed questions of each run, which are left out; log_ratio, as in `compare_log_ratios`, or None if
        a run has no probabilities; and p_holm.

    Raises:
        RunFailed: Two runs have no answered question in common.
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
    """Test whether the first run gives the right segment a larger part of p(A) + p(B), by a one-sided paired t-test.

    Two askings of one pair of segments count once, by their mean.

    Returns:
        n, the number of pairs for which both runs have probabilities; difference, the mean log ratio of the first run
        minus that of the second, in nats; and p. None with fewer than two such pairs, or if all differences are equal.
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


def _log_ratio(row: ScoredPair) -> float | None:
    if row.p_a is None or row.p_b is None:
        return None
    right = row.p_a if row.answer == "A" else row.p_b
    return math.log(right / (row.p_a + row.p_b)) if right > 0 else None
