"""Read a Tulving dataset, from the Hub, the local cache or a folder, for an evaluation."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.tulving.memory import Book
from epbench.tulving.questions import BINS, Question

Row = dict[str, Any]


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
    rows = _table(name, "qa")
    _check(name, "qa", rows, set(Question._fields))
    chapters = _table(name, "chapters")
    _check(name, "chapters", chapters, {"chapter", "text"})
    text = _table(name, "book")[0]["text"]
    book = Book(text, [(chapter["chapter"], chapter["text"]) for chapter in chapters])
    content = json.dumps([rows, text], sort_keys=True, ensure_ascii=False)
    return Loaded(name, rows, book, hashlib.sha256(content.encode()).hexdigest()[:16])


def _table(name: str, config: str) -> list[Row]:
    from datasets import disable_progress_bars, load_dataset
    from datasets.utils.logging import set_verbosity_error

    folder = Path(name)
    if folder.is_dir() and not (folder / config).is_dir():
        raise BadInput(f"{name}: the folder {folder / config} is expected in a Tulving dataset and is not there")
    disable_progress_bars()
    set_verbosity_error()  # that a cached copy is used without a network is what offline users asked for
    try:
        rows: list[Row] = load_dataset(str(folder) if folder.is_dir() else name, config, split="test").to_list()
    except Exception as error:  # datasets raises a dozen types for "not there" and "no such config"
        raise BadInput(
            f"dataset {name!r} (config {config!r}) is neither a folder nor on the Hub or in the local cache: {error}; "
            f"make it with builders/tulving.py and install it with builders/publish.py --to cache"
        ) from error
    return rows


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
