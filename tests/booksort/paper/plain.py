"""Numbers of exhibits computed anew and plainly: from journals, by sums over lists."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench.booksort.dataset.load import Pair, load_pairs
from tests.booksort.paper.made_runs import answers_of


def pairs_of(run: Path) -> dict[str, Pair]:
    """The pairs that a run was asked, by id, from the set that run.json names."""
    described = json.loads((run / "run.json").read_text())
    return {pair.id: pair for pair in load_pairs(described["dataset"], described["identity"]["config"])}


def judged(run: Path) -> dict[str, bool | None]:
    """By id of the pair whether its answer is right; None if it failed."""
    pairs, found = pairs_of(run), {}
    for id_, record in answers_of(run).items():
        if record.get("failure") is not None:
            found[id_] = None
            continue
        known = record.get("probabilities") or {record["answer"]: 1.0}
        found[id_] = max(known, key=known.get) == pairs[id_].answer
    return found


def log_ratios(run: Path) -> dict[str, float]:
    """By id of the pair the logarithm of the share of the right label."""
    pairs = pairs_of(run)
    return {
        id_: math.log(known[pairs[id_].answer] / (known["A"] + known["B"]))
        for id_, record in answers_of(run).items()
        if (known := record.get("probabilities"))
    }


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def interval(values: Sequence[float], clusters: Sequence[Any], draws: int = 1500) -> tuple[float, float]:
    """A 95 % interval of the mean, by drawing clusters; another generator than the package has, so about the same."""
    by_cluster: dict[Any, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        by_cluster.setdefault(cluster, []).append(value)
    groups, stream, means = list(by_cluster.values()), random.Random(5), []
    for _ in range(draws):
        drawn = [value for _ in groups for value in stream.choice(groups)]
        means.append(mean(drawn))
    means.sort()
    return means[int(0.025 * draws)], means[int(0.975 * draws)]


def binomial(right: int, n: int) -> float:
    """The probability of at least so many right answers by guessing."""
    return sum(math.comb(n, k) for k in range(right, n + 1)) / 2**n


def mcnemar(wins: int, losses: int) -> float:
    """The two-sided exact p-value."""
    n, k = wins + losses, min(wins, losses)
    return min(1.0, 2 * sum(math.comb(n, i) for i in range(k + 1)) / 2**n) if n else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected step by step: the smallest times their number, the next times one less, never falling."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, p_values[i] * (len(p_values) - rank)))
        corrected[i] = highest
    return corrected
