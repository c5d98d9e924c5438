"""The dataset card of a Book-SORT set, and the eval.yaml by which the Hub and inspect_ai run it as a benchmark.

A task, `inspect eval hf/epbench/booksort/e250_s20`, shows the excerpt and the two segments as the row orders them, so that A is
right exactly as often as B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.booksort.dataset.load import is_whole_book
from epbench.booksort.dataset.schema import Recipe
from epbench.booksort.texts.books import Book
from epbench.hub.card import filled, filled_card
from epbench.hub.dataset_folder import Card, Config


def benchmark_yaml(configs: Sequence[Config]) -> str:
    """Return the text of eval.yaml, with a task for each config of excerpts; the Hub validates it when it is pushed."""
    with_pairs = [config.name for config in configs if "choices" in config.features]
    names = dict.fromkeys(name for name in with_pairs if not is_whole_book(name))
    return filled("epbench.booksort", "eval.yaml.jinja", {"configs": names})


def booksort_card(command: str, books: Sequence[Book], recipe: Recipe, configs: Sequence[Config]) -> Card:
    """Return the card of a set, with counts, balance, and what was removed from every book."""
    pairs: dict[str, dict[str, Mapping[str, Sequence[Any]]]] = {}
    for config in configs:
        if config.name != "books":
            pairs.setdefault(config.name, {})[config.split] = config.columns
    indices = {name: set(splits["test"]["book_idx"]) for name, splits in pairs.items()}
    shorter = [(book.title, [name for name in pairs if book.index not in indices[name]]) for book in books]
    values = {
        "command": command,
        "nine": all(book.published_words for book in books),
        "uneven": any(n % 2 for cell in recipe.cells() for n in (cell.test, cell.validation)),
        "whole_book": recipe.whole_book,
        "pairs": [{"name": name, "n_books": len(indices[name])} | _counts(pairs[name]) for name in pairs],
        "left_out": [(title, names) for title, names in shorter if names],
        "books": books,
        "kinds": list(dict.fromkeys(kind for book in books for kind in book.removed_words())),
    }
    return filled_card("epbench.booksort", configs, values)


def _counts(splits: Mapping[str, Mapping[str, Sequence[Any]]]) -> dict[str, Any]:
    """The rows and the share of A in each split of a config; and the least, median and largest distance of each bin."""
    bins: dict[int, list[int]] = {}
    for edge, distance in zip(splits["test"]["distance_bin"], splits["test"]["distance"], strict=True):
        bins.setdefault(edge, []).append(distance)
    ordered = {edge: sorted(distances) for edge, distances in bins.items()}
    return {
        "rows": {split: f"{len(columns['id']):,}" for split, columns in splits.items()},
        "of_a": [f"{list(columns['answer']).count('A') / len(columns['id']):.3f}" for columns in splits.values()],
        "distances": {edge: f"{row[0]}, {row[len(row) // 2]}, {row[-1]}" for edge, row in ordered.items()},
    }
