"""Runs of a simulated reader whose accuracy depends in a known way on distance, excerpt length and position."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from epbench.booksort.judging import ScoredPair
from epbench.booksort.scores.run_files import record_of, table_of

Logit = Callable[[int, int, int, int], float]
"""Log odds of a right answer, given excerpt length, position of the earlier segment, distance and bin (1 to 4)."""


def bins_of(length: int) -> tuple[int, ...]:
    """Return the edges of the four distance bins, for segments of 20 words."""
    if length < 5000:
        return 20, length // 4, length // 3, length // 2, int(length / 1.25)
    return 20, 1000, length // 4, length // 2, int(length / 1.25)


def simulated(
    logit: Logit,
    *,
    seed: int,
    lengths: Sequence[int] = (250, 1000, 2500),
    books: int = 9,
    excerpts: int = 100,
    excerpt_effect: float = 0.0,
    invalid: float = 0.0,
    habit: float = 0.0,
) -> list[ScoredPair]:
    """Simulate four questions for each excerpt, one per distance bin.

    Args:
        excerpt_effect: Standard deviation of the part of the log odds that the questions of an excerpt share.
        invalid: Share of answers that are neither A nor B.
        habit: Share of answers that are A whatever the question is.
    """
    random = np.random.default_rng(seed)
    rows = []
    for length in lengths:
        edges = bins_of(length)
        for book in range(books):
            for excerpt in range(excerpts):
                shared = random.normal(0, excerpt_effect)
                for number, (low, high) in enumerate(itertools.pairwise(edges), 1):
                    distance = int(random.integers(low + 1, high + 1))
                    start = int(random.integers(0, length - 20 - distance + 1))
                    odds = logit(length, start, distance, number) + shared
                    right = random.random() < 1 / (1 + math.exp(-odds))
                    answer = "AB"[int(random.integers(2))]
                    given = answer if right else "BA"["AB".index(answer)]
                    if random.random() < habit:
                        given = "A"
                    if random.random() < invalid:
                        given = "X"
                    id_ = f"{book}-e{length}_s20-{excerpt}-{number}"
                    about = (book, excerpt, distance, high, length, 20, start, start + distance, answer)
                    rows.append(ScoredPair(id_, *about, given, written=given, correct=given == answer))
    return rows


def table(rows: Iterable[ScoredPair]) -> pd.DataFrame:
    """Return the table of questions that the scores of these rows are computed from."""
    return table_of(map(record_of, rows))


def log_odds(p: float) -> float:
    return math.log(p / (1 - p))
