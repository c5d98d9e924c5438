"""The books that are given: datasets of one's own, and the books of a published archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from epbench.errors import BadInput
from epbench.models.estimate import CL100K, cl100k_tokens
from epbench.tulving.paper.books.book import PaperBook
from epbench.tulving.paper.books.own import read_own
from epbench.tulving.paper.books.published import read_published

__all__ = ["PaperBook", "read_books"]


def read_books(datasets: Sequence[str] = (), archive: Path | None = None) -> list[PaperBook]:
    """Read books.

    Args:
        datasets: Names on the Hub such as `epbench/short`, or folders of datasets.
        archive: A published archive, as a zip or a folder; None for no published books.

    Returns:
        The datasets in their order, then the books of the archive by path.

    Raises:
        BadInput: A dataset is given twice, does not exist or is not a Tulving book, or the archive is damaged.
    """
    if twice := next((name for name in datasets if list(datasets).count(name) > 1), None):
        raise BadInput(f"the dataset {twice} is given twice")
    books = [read_own(name, length_counter()) for name in datasets]
    return labelled([*books, *(read_published(archive, length_counter()) if archive else [])], datasets)


def labelled(books: Sequence[PaperBook], datasets: Sequence[str]) -> list[PaperBook]:
    """Tell apart books that would have one label: by their writers, by their seeds, and else by what the user gave.

    Args:
        books: Those of the datasets come first, in the order of `datasets`.
        datasets: Names or folders.
    """
    given = [*datasets, *(f"{book.name}, fingerprint {book.fingerprint}" for book in books[len(datasets) :])]
    choices = [[*_names(book), last] for book, last in zip(books, given, strict=True)]
    taken = Counter((book.source, label) for book, of in zip(books, choices, strict=True) for label in {*of})
    return [
        replace(book, label=next((label for label in of if taken[book.source, label] == 1), of[-1]))
        for book, of in zip(books, choices, strict=True)
    ]


def _names(book: PaperBook) -> list[str]:
    """What a book may be called, shorter names first."""
    by, seed = f" by {book.writer}", f", seed {book.seed}"
    return [book.name, book.name + by, book.name + seed, book.name + by + seed]


@cache
def length_counter() -> tuple[Callable[[str], int], str]:
    """How the length of a text is counted, and the name of what is counted: tokens where their encoding is at hand."""
    try:
        return cl100k_tokens(), CL100K
    except BadInput:
        return lambda text: len(text.split()), "words"
