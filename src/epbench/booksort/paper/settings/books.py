"""The books that the pairs come from, with what a catalogue says of them (Appendix B.1, Table 3)."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from epbench.booksort.dataset.load import load_books
from epbench.booksort.dataset.released import is_published
from epbench.booksort.texts.gutenberg import published_books
from epbench.exhibits.exhibit import Exhibit, Value, marked
from epbench.files.packaged import packaged
from epbench.reports.tables import Table

NAME, TITLE = "Table 3", "The books of Book-SORT"
SOURCE = "Pink et al., 2024, Table 3"
_CATALOGUE = ("class", "subjects", "released", "published")
_HEAD = ("book", "title", "author", "class", "subjects", "words", "released", "published")


def table_3(datasets: Sequence[str]) -> Exhibit:
    """The nine books as the paper reports them, and those of the sets that are given.

    Args:
        datasets: Sets as `epbench.booksort.dataset.load.load_books` takes them. The published set has no whole books, so
            that none of them is listed twice.

    Raises:
        BadInput: A set has no config `books`.
    """
    records = _reported()
    with_texts = [name for name in datasets if not is_published(name)]
    for name in with_texts:
        records += _own(name)
    rows = [_cells(record) for record in records]
    reported = [record["words"] for record in records if record["source"] == "reported"]
    words = [n for n in reported if isinstance(n, int)]
    notes = [
        f"Reported: {SOURCE}. Its words are counted with headings; they sum to {sum(words):,}, on average "
        f"{sum(words) / len(words):,.0f} a book. Released: at Project Gutenberg. Class: Library of Congress.",
    ]
    if with_texts:
        notes.append(
            "The other rows are the books of a set, whose words are those of the narrative that pairs are drawn from."
        )
    if skipped := [name for name in datasets if is_published(name)]:
        notes.append(
            f"{', '.join(Path(name).name for name in skipped)} holds no whole books, so that their words cannot be counted."
        )
    return Exhibit(NAME, TITLE, records, Table(_HEAD, rows, notes=notes, text_columns=5))


def _reported() -> list[dict[str, Value]]:
    catalogue = _catalogue()
    records = []
    for number, book in published_books().items():
        known = catalogue[str(number)]
        records.append(
            _record("reported", "", number, book.title, book.words)
            | {"author": book.author, **{name: known[name] for name in _CATALOGUE}}
        )
    return records


def _own(dataset: str) -> list[dict[str, Value]]:
    """The books of a set; of those of the published ones, author and catalogue are known."""
    catalogue, published = _catalogue(), published_books()
    records = []
    for book in load_books(dataset):
        record = _record("own", Path(dataset).name, book.book_idx, book.title, len(book.text.split()))
        same = published.get(book.book_idx)
        if same and same.title == book.title:
            record |= {"author": same.author, **{name: catalogue[str(same.id)][name] for name in _CATALOGUE}}
        records.append(record)
    return records


def _record(source: str, dataset: str, book: int, title: str, words: int) -> dict[str, Value]:
    about: dict[str, Value] = {"source": source, "dataset": dataset, "book": book, "title": title, "author": None}
    return about | {"words": words} | dict.fromkeys(_CATALOGUE)


def _cells(record: dict[str, Value]) -> list[str]:
    shown = {name: "–" if record[name] is None else str(record[name]) for name in _HEAD}
    shown["words"] = f"{record['words']:,}"
    shown["book"] = marked(shown["book"], "reported" if record["source"] == "reported" else "own")
    return list(shown.values())


def _catalogue() -> dict[str, dict[str, Any]]:
    return tomllib.loads(packaged("epbench.booksort", "catalogue.toml").read_text("utf-8"))
