"""Read a Tulving dataset, from the Hub, the local cache or a folder, for an evaluation."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.files.typed import Whole, fields
from epbench.hub.rows import Row, all_checked_rows
from epbench.journals.answers import fingerprint_of
from epbench.tulving.questions.generate import BINS


@dataclass(frozen=True)
class Book:
    """What the memories read.

    Attributes:
        text: the whole book.
        chapters: (number, text) of each chapter, in order.
        title: the title, by which a reader is asked about a book that it does not see.
    """

    text: str
    chapters: Sequence[tuple[int, str]]
    title: str


@dataclass(frozen=True)
class Loaded:
    """What an evaluation needs from a dataset.

    Attributes:
        name: The name of the dataset, as the user wrote it.
        rows: The rows of the config `qa`.
        book: The text, the chapters and the title.
        fingerprint: A hash of the rows and the text, so that a run only continues on the same ones.
        chapters: A hash of the title and of the text of each chapter, which retrieval and memory systems read.
    """

    name: str
    rows: list[Row]
    book: Book
    fingerprint: str
    chapters: str

    @property
    def identity(self) -> dict[str, str]:
        """What the identity of a run says of the dataset. Runs of earlier versions have no `chapters`."""
        return {"fingerprint": self.fingerprint, "chapters": self.chapters}

    @property
    def evidence(self) -> dict[str, list[tuple[int, int]]] | None:
        """The chapters and paragraphs that answer each question, by its id; None for a book without them (level 1)."""
        if any(row.get("evidence") is None for row in self.rows):
            return None
        return {row["id"]: [(spot["chapter"], spot["paragraph"]) for spot in row["evidence"]] for row in self.rows}


def load_book(name: str) -> Loaded:
    """Load a book and its questions.

    Args:
        name: A name on the Hub such as `epbench/short`, or the folder of a dataset.

    Raises:
        BadInput: The dataset does not exist, or is not a Tulving book.
    """
    rows = all_checked_rows(name, "qa", "test", QA)
    check_bins(f"{name}, config 'qa'", rows)
    chapters = all_checked_rows(name, "chapters", "test", _CHAPTER)
    numbers = Counter(chapter["chapter"] for chapter in chapters)
    if repeated := [number for number, n in numbers.items() if n > 1]:
        raise BadInput(
            f"{name}, config 'chapters', field 'chapter': expected distinct numbers, found {repeated[0]} twice"
        )
    books = all_checked_rows(name, "book", "test", _BOOK)
    text = "".join(part["text"] for part in books)
    book = Book(text, [(chapter["chapter"], chapter["text"]) for chapter in chapters], books[0]["title"])
    return Loaded(name, rows, book, fingerprint_of_book(rows, text), fingerprint_of([book.title, book.chapters]))


def fingerprint_of_book(rows: Sequence[Row], text: str) -> str:
    """Hash the rows of the config `qa` and the text; runs of one fingerprint answer the same questions on the same book."""
    content = json.dumps([rows, text], sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


QA = fields(
    {
        **dict.fromkeys(("id", "cue", "trace", "get", "question", "bin", "origin"), str),
        **dict.fromkeys(("time", "space", "entity", "content"), str | None),
        **dict.fromkeys(("template", "n_chapters"), Whole),
        "answer": list[str],
        "chapters": list[Whole],
    }
)
"""The columns of a question."""
_CHAPTER, _BOOK = fields({"chapter": Whole, "text": str}), fields({"title": str, "text": str})


def check_bins(where: str, rows: Sequence[Row]) -> None:
    """Refuse a question whose bin is not one of `BINS`, which no score would count."""
    for number, row in enumerate(rows):
        if row["bin"] not in BINS:
            raise BadInput(
                f"{where}, row {number}, field 'bin': expected one of {', '.join(BINS)}, found {shown(row['bin'])}"
            )
