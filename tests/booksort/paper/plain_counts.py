"""Scores of Book-SORT runs by plain counting over their journals, to hold the exhibits against."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from epbench.booksort.dataset.load import Pair, both_orders, load_pairs
from tests.booksort import sort_set
from tests.booksort.paper.made_runs import answers_of

CONFIGS = ((120, 20), (250, 20), (250, 50), (6000, 20), (6000, 50))


@dataclass(frozen=True)
class Row:
    """A question; right is None if it failed."""

    pair: Pair
    right: bool | None
    said: str | None

    @property
    def part(self):
        return "SORT" if self.pair.excerpt_length <= 2500 else "SORT-extend"

    @property
    def excerpt(self):
        return (self.pair.book_idx, self.pair.excerpt_length, self.pair.segment_length, self.pair.excerpt_idx)


def write_wide_set(folder: Path, monkeypatch, configs=CONFIGS) -> Path:
    """A set with two lengths of segments and with long excerpts."""
    text = sort_set.book_text
    monkeypatch.setattr(sort_set, "book_text", lambda book: text(book, 9000))
    rows = {(f"e{excerpt}_s{segment}", "test"): sort_set.pair_rows(excerpt, segment) for excerpt, segment in configs}
    return sort_set.write_tables(folder, rows)


def rows_of(folder: Path, dataset: Path | str, configs=("all",), *, swapped: bool = False) -> list[Row]:
    """All questions of a run, by its answers.jsonl."""
    pairs = load_pairs(str(dataset), list(configs))
    said = answers_of(folder)
    found = []
    for pair in both_orders(pairs) if swapped else pairs:
        record = said[pair.id]
        known = record.get("probabilities")
        answer = None
        if record.get("failure") is None:
            answer = max(known, key=known.get) if known else record["answer"] if record["answer"] in "AB" else "X"
        found.append(Row(pair, None if answer is None else answer == pair.answer, answer))
    return found


def share(rows: list[Row]) -> float:
    return sum(bool(row.right) for row in rows) / len(rows)


def p_against_chance(rows: list[Row]) -> float:
    return binomtest(sum(bool(row.right) for row in rows), len(rows)).pvalue


def plain_holm(p_values: list[float]) -> list[float]:
    """Holm's correction, step by step."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    found, largest = [0.0] * len(p_values), 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, p_values[i] * (len(p_values) - place)))
        found[i] = largest
    return found


def resampled(rows: list[Row], seed: int = 1) -> tuple[float, float]:
    """A percentile interval by drawing excerpts, with draws of its own: near to the package's, not equal."""
    names = sorted({row.excerpt for row in rows})
    of_excerpt = {name: [bool(row.right) for row in rows if row.excerpt == name] for name in names}
    right = np.array([sum(of_excerpt[name]) for name in names])
    size = np.array([len(of_excerpt[name]) for name in names])
    drawn = np.random.default_rng(seed).integers(0, len(names), (4000, len(names)))
    low, high = np.quantile(right[drawn].sum(axis=1) / size[drawn].sum(axis=1), [0.025, 0.975])
    return float(low), float(high)


def starred(p: float) -> str:
    return "**" if p < 0.01 else "*" if p < 0.05 else ""


def p_cell(p: float) -> str:
    return ("< 0.001" if p < 0.001 else f"{p:.3f}") + starred(p)
