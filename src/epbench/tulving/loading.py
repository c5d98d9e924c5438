"""Read a Tulving dataset, from the Hub, the local cache or a folder, for an evaluation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from epbench.errors import BadInput
from epbench.hub.stored import Row, stored_rows
from epbench.tulving.memory import Book
from epbench.tulving.questions import BINS, Question


@dataclass(frozen=True)
class Loaded:
    """What an evaluation needs of a dataset.

    Attributes:
        name: as the user wrote it.
        rows: of the config `qa`.
        book: the text and the chapters.
        fingerprint: hash of all these, so that a run's folder is taken up on the same rows only.
    """

    name: str
    rows: list[Row]
    book: Book
    fingerprint: str


def load_tulving(name: str) -> Loaded:
    """Load `epbench/<book>` or a folder written by `builders/tulving.py`.

    Raises:
        BadInput: there is no such dataset, or it is no Tulving book.
    """
    rows = list(stored_rows(name, "qa", "test", "tulving"))
    _check(name, "qa", rows, set(Question._fields))
    chapters = list(stored_rows(name, "chapters", "test", "tulving"))
    _check(name, "chapters", chapters, {"chapter", "text"})
    text = next(iter(stored_rows(name, "book", "test", "tulving")))["text"]
    book = Book(text, [(chapter["chapter"], chapter["text"]) for chapter in chapters])
    return Loaded(name, rows, book, fingerprint_of_book(rows, text))


def fingerprint_of_book(rows: Sequence[Row], text: str) -> str:
    """Hash of the rows of the config `qa` and of the text: runs of one fingerprint were asked the same of the same."""
    content = json.dumps([rows, text], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _check(name: str, config: str, rows: list[Row], columns: set[str]) -> None:
    if not rows:
        raise BadInput(f"{name}, config {config!r}: no rows")
    missing = sorted(columns - rows[0].keys())
    if missing:
        raise BadInput(f"{name}, config {config!r}: column {missing[0]!r} is missing; is it a Tulving book?")
    if config == "qa":
        for i, row in enumerate(rows):
            if row["bin"] not in BINS:
                raise BadInput(f"{name}, config 'qa', row {i}: bin {row['bin']!r}, one of {', '.join(BINS)} expected")
