"""Numbers of exhibits computed anew and plainly: from journals, by loops and sums over lists."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from epbench.booksort.dataset.load import Pair, both_orders, load_pairs
from tests.booksort.paper.made_runs import answers_of


@dataclass(frozen=True)
class Row:
    """A question; right is None if it failed, said is the label with the higher probability or the one written."""

    pair: Pair
    right: bool | None
    said: str | None
    log_ratio: float | None

    @property
    def excerpt(self):
        return self.pair.book_idx, self.pair.excerpt_length, self.pair.segment_length, self.pair.excerpt_idx

    @property
    def third(self):
        first, second = (min(2, 3 * at // self.pair.excerpt_length) for at in self.pair.positions)
        return ("first", "middle", "last")[first] if first == second else "in two thirds"


def rows_of(run: Path) -> list[Row]:
    """All questions of a run in the order of its set, by answers.jsonl and the set that run.json names."""
    described = json.loads((run / "run.json").read_text())
    pairs = load_pairs(described["dataset"], described["identity"]["config"])
    found, said = [], answers_of(run)
    for pair in both_orders(pairs) if described["identity"]["both_orders"] else pairs:
        record = said[pair.id]
        known = record.get("probabilities")
        answer = ratio = None
        if record.get("failure") is None:
            answer = max(known, key=known.get) if known else record["answer"] if record["answer"] in "AB" else "X"
            ratio = math.log(known[pair.answer] / (known["A"] + known["B"])) if known else None
        found.append(Row(pair, None if answer is None else answer == pair.answer, answer, ratio))
    return found


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def p_against_chance(rows: Sequence[Row]) -> float:
    """Exact and two-sided; where pairs were asked twice, right both times against wrong both times."""
    times: dict[str, list[Any]] = {}
    for row in rows:
        times.setdefault(row.pair.id.removesuffix("/swapped"), []).append(row.right)
    twice = any(len(right) > 1 for right in times.values())
    units = [right[0] for right in times.values() if right[0] == right[-1]] if twice else [row.right for row in rows]
    return float(binomtest(sum(units), len(units)).pvalue)


def interval(values: Sequence[float], clusters: Sequence[Any], draws: int = 2000) -> tuple[float, float]:
    """A 95 % interval of the mean, by drawing clusters; another generator than the package has, so about the same."""
    by_cluster: dict[Any, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        by_cluster.setdefault(cluster, []).append(value)
    groups, stream, means = list(by_cluster.values()), random.Random(5), []
    for _ in range(draws):
        means.append(mean([value for _ in groups for value in stream.choice(groups)]))
    means.sort()
    return means[int(0.025 * draws)], means[int(0.975 * draws)]


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
