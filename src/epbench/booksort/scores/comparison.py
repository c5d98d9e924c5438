"""Runs of Book-SORT, compared question by question by the tables in their folders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.booksort.dataset.load import pair_id
from epbench.booksort.scores.question_files import read_questions
from epbench.booksort.scores.run_files import SCORES, read_run
from epbench.runs.folder import read_scores
from epbench.runs.several import check_same
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.statistics.paired import DIGITS, Comparison, Progress, compare_two, holm, with_holm

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


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


def read_outcomes(folder: Path) -> list[Outcome]:
    """The outcome of each question of a run, from its questions.parquet.

    Raises:
        BadInput: There is no such file and it cannot be made, or it is damaged.
    """
    return outcomes_in(read_questions(folder))


def outcomes_in(table: pd.DataFrame) -> list[Outcome]:
    """The outcome of each question in a table with the columns of questions.parquet."""
    excerpt = table[["book_idx", "excerpt_length", "segment_length", "excerpt_idx"]].astype(str).agg(" ".join, axis=1)
    right = table["p_a"].where(table["answer"] == "A", table["p_b"])
    known = right.gt(0) & (table["outcome"] != "failed") & table["p_a"].notna() & table["p_b"].notna()
    share = right / (table["p_a"] + table["p_b"])
    return [
        Outcome(id_, of, None if outcome == "failed" else outcome == "right", math.log(part) if is_known else None)
        for id_, of, outcome, part, is_known in zip(table["id"], excerpt, table["outcome"], share, known, strict=True)
    ]


def compare(runs: Mapping[str, Path], dataset: str | None = None, progress: Progress = iter) -> Comparison:
    """Compare the accuracy of any two runs on the questions that both have answered.

    Args:
        runs: The folders of at least two runs, by the name of the run.
        dataset: Not used: the tables in the folders are all that is compared.
        progress: Shows a bar.

    Raises:
        BadInput: A run did not end, or the runs are on different rows, configs or splits.
        RunFailed: Two runs have no answered question in common.
    """
    for folder in runs.values():
        read_scores(folder, SCORES)  # a run that did not end has none
    check_same({folder: read_run(folder) for folder in runs.values()}, ("config", "split", "fingerprint"), ("texts",))
    outcomes_of = {name: read_outcomes(folder) for name, folder in runs.items()}
    return Comparison("accuracy", compare_runs(outcomes_of, progress))


def compare_runs(runs: Mapping[str, Sequence[Outcome]], progress: Progress = iter) -> list[dict[str, Any]]:
    """Compare the accuracy of any two runs (Appendix F.2), and their log ratios (Appendix F.3).

    Args:
        runs: The outcomes by the name of the run.
        progress: Shows a bar.

    Returns:
        For each two runs what `epbench.statistics.paired.compare_two` returns, with excerpts as clusters and McNemar's
        test. If each pair of segments was asked in both orders, its two askings are one unit of that test. Also n_failed,
        the number of failed questions of each run, which are left out; log_ratio, as in `compare_log_ratios` with p_holm
        and p_less_holm, or None if a run has no probabilities; and p_holm. Holm's correction of p is for the number of
        comparisons. That of the log ratios is for the tests in both directions together, so for k (k - 1) tests of k runs.

    Raises:
        RunFailed: Two runs have no answered question in common.
    """
    excerpts = {one.id: one.excerpt for of_run in runs.values() for one in of_run}
    found = []
    for one, other in progress(list(combinations(runs, 2))):
        names = (one, other)
        values = [{o.id: float(o.correct) for o in runs[name] if o.correct is not None} for name in names]
        pair = compare_two(names, values, cluster_of=excerpts.__getitem__, unit_of=pair_id, outcomes=True)
        pair["n_failed"] = [sum(o.correct is None for o in runs[name]) for name in names]
        pair["log_ratio"] = compare_log_ratios(runs[one], runs[other])
        found.append(pair)
    _correct([pair["log_ratio"] for pair in found if pair["log_ratio"]])
    return with_holm(found)


def compare_log_ratios(first: Sequence[Outcome], second: Sequence[Outcome]) -> dict[str, Any] | None:
    """Test whether the first run gives the right segment a larger part of p(A) + p(B), by a one-sided paired t-test.

    Two askings of one pair of segments count once, by their mean. The test treats pairs as independent; the interval,
    which draws excerpts, does not.

    Returns:
        n, the number of pairs for which both runs have probabilities; difference, the mean log ratio of the first run
        minus that of the second, in nats; interval, [low, high] of the difference, 95 %, or None with a single excerpt;
        p, for the first run being higher; and p_less, 1 - p, for the second. Both are None if all differences are equal,
        as they are between two runs of one model: without variance there is no test. The whole is None with fewer than
        two such pairs.
    """
    import numpy as np

    theirs = {one.id: one.log_ratio for one in second}
    by_pair: dict[str, list[float]] = {}
    excerpts: dict[str, str] = {}
    for one in first:
        other = theirs.get(one.id)
        if one.log_ratio is not None and other is not None:
            by_pair.setdefault(pair_id(one.id), []).append(one.log_ratio - other)
            excerpts[pair_id(one.id)] = one.excerpt
    if len(by_pair) < 2:
        return None
    # Rounded, so that differences which are equal but for rounding are equal.
    differences = np.round([sum(values) / len(values) for values in by_pair.values()], DIGITS)
    interval = cluster_bootstrap(
        lambda weights: weighted_mean(weights, differences), [excerpts[pair] for pair in by_pair]
    )
    p, p_less = _one_sided(differences)
    difference = float(differences.mean())
    return {"n": len(by_pair), "difference": difference, "interval": interval, "p": p, "p_less": p_less}


def _one_sided(differences: NDArray[np.float64]) -> tuple[float, float] | tuple[None, None]:
    """The p-values of the mean being above and below 0."""
    from scipy.stats import ttest_1samp

    if (differences == differences[0]).all():
        return None, None
    above, below = (float(ttest_1samp(differences, 0.0, alternative=way).pvalue) for way in ("greater", "less"))
    return above, below


def _correct(log_ratios: Sequence[dict[str, Any]]) -> None:
    """Add p_holm and p_less_holm, corrected for the number of all tests in both directions."""
    tests = [(one, name) for one in log_ratios for name in ("p", "p_less")]
    corrected = iter(holm([one[name] for one, name in tests if one[name] is not None]))
    for one, name in tests:
        one[f"{name}_holm"] = None if one[name] is None else next(corrected)
