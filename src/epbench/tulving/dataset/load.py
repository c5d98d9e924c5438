"""Read a Tulving dataset, from the Hub, the local cache or a folder, for an evaluation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from types import NoneType

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.hub.rows import Row, all_rows
from epbench.runs.shapes import Items, Shape, check
from epbench.tulving.context.requests import Book
from epbench.tulving.questions.generate import BINS


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
    rows, chapters, books = (_rows(name, config) for config in _SHAPES)
    text = books[0]["text"]
    book = Book(text, [(chapter["chapter"], chapter["text"]) for chapter in chapters])
    return Loaded(name, rows, book, fingerprint_of_book(rows, text))


def fingerprint_of_book(rows: Sequence[Row], text: str) -> str:
    """Hash of the rows of the config `qa` and of the text: runs of one fingerprint were asked the same of the same."""
    content = json.dumps([rows, text], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


_TEXT_OR_NONE = (str, NoneType)
_SHAPES = {
    "qa": Shape(
        {
            **dict.fromkeys(("id", "cue", "trace", "get", "question", "bin", "origin"), (str,)),
            **dict.fromkeys(("time", "space", "entity", "content"), _TEXT_OR_NONE),
            **dict.fromkeys(("template", "n_chapters"), (int,)),
            "answer": Items((str,)), "chapters": Items((int,)),
        }
    ),
    "chapters": Shape({"chapter": (int,), "text": (str,)}),
    "book": Shape({"text": (str,)}),
}  # fmt: skip


def _rows(name: str, config: str) -> list[Row]:
    """
    Raises:
        BadInput: there are none, or a column is missing or has a value of another type.
    """
    rows = all_rows(name, config, "test", "tulving")
    if not rows:
        raise BadInput(f"{name}, config {config!r}: no rows")
    missing = sorted(_SHAPES[config].required.keys() - rows[0].keys())
    if missing:
        raise BadInput(f"{name}, config {config!r}: column {missing[0]!r} is missing; is it a Tulving book?")
    for i, row in enumerate(rows):
        check(f"{name}, config {config!r}, row {i}", row, _SHAPES[config])
        if config == "qa" and row["bin"] not in BINS:
            raise BadInput(f"{name}, config 'qa', row {i}: bin {shown(row['bin'])}, one of {', '.join(BINS)} expected")
    return rows
