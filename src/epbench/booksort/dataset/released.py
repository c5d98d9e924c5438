"""Read the set that the authors published: `memari/booksort` on the Hub, or the CSV files of their repository.

The asterisks around its segments and excerpts, which only mark them, are removed. One excerpt in eleven (number 100 and
higher) is held out for choosing a prompt (Section 4.1).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from epbench.booksort.pairs import EXCERPT_WORDS, SEGMENT_WORDS
from epbench.booksort.texts.books import published_books
from epbench.errors import BadInput
from epbench.files.text import read_csv, shown

NAME = "memari/booksort"
_FIRST_HELD_OUT = 100
_FILE = re.compile(r"segments_(\d+)-s(\d+)-n\d+\.csv")
_NUMBERS = ("book_idx", "excerpt_idx", "seg1_pos", "seg2_pos", "distance_bin", "present_seg1_first")

Row = dict[str, Any]


def is_published(name: str) -> bool:
    """Return whether the name is that of the published set on the Hub, or a folder of its CSV files."""
    return name == NAME or any(Path(name).glob("segments_*.csv"))


def configs(name: str) -> list[str]:
    """Return the combinations of lengths in the set, under the config names of our own set."""
    if name == NAME:
        return [f"e{excerpt}_s{segment}" for excerpt in EXCERPT_WORDS for segment in SEGMENT_WORDS]
    return [f"e{match[1]}_s{match[2]}" for path in Path(name).iterdir() if (match := _FILE.fullmatch(path.name))]


def rows(name: str, lengths: tuple[int, int], split: str) -> Iterator[Row]:
    """Yield the rows of one combination of lengths with our columns; `excerpt_text` is None if no file has it."""
    source = _of_hub(lengths, split) if name == NAME else _of_files(Path(name), lengths, split)
    for row in source:
        for field in ("excerpt_text", "segment_1", "segment_2"):
            row[field] = _unmarked(row.get(field))
        book, excerpt, bin_ = (row.get(field) for field in ("book_idx", "excerpt_idx", "distance_bin"))
        row["id"] = f"{book}-e{lengths[0]}_s{lengths[1]}-{excerpt}-{bin_}"
        yield row


def _of_hub(lengths: tuple[int, int], split: str) -> Iterable[Row]:
    from datasets import disable_progress_bars, load_dataset
    from datasets.utils.logging import set_verbosity_error

    disable_progress_bars()
    set_verbosity_error()
    try:
        dataset = load_dataset(NAME, split=split)
    except Exception as error:  # datasets raises a dozen types for "not there"
        raise BadInput(
            f"dataset {NAME!r} is neither in the local cache nor on the Hub for this login: {error}; it is gated, so "
            f"accept its conditions and log in, or use epbench/booksort"
        ) from error
    wanted = zip(dataset["excerpt_length"], dataset["segment_length"], strict=True)
    chosen: Iterable[Row] = dataset.select([i for i, pair in enumerate(wanted) if pair == lengths])
    return chosen


def _of_files(folder: Path, lengths: tuple[int, int], split: str) -> Iterator[Row]:
    ending = f"_{lengths[0]}-s{lengths[1]}-n*.csv"
    files = {kind: next(iter(sorted(folder.glob(kind + ending))), None) for kind in ("segments", "excerpts", "books")}
    excerpts = _table(files["excerpts"], ("book_idx", "excerpt_idx"))
    texts = {(row["book_idx"], row["excerpt_idx"]): row.get("excerpt_text") for row in excerpts}
    titles = {id_: book.title for id_, book in published_books().items()}  # for sets without a file of titles
    titles |= {row["book_idx"]: row.get("book_title") for row in _table(files["books"], ("book_idx",))}
    for row in _table(files["segments"], _NUMBERS):
        if (row["excerpt_idx"] >= _FIRST_HELD_OUT) == (split == "validation"):
            yield row | {
                "excerpt_text": texts.get((row["book_idx"], row["excerpt_idx"])),
                "book_title": titles.get(row["book_idx"], f"book {row['book_idx']}"),
                "excerpt_length": lengths[0],
                "segment_length": lengths[1],
            }


def _table(path: Path | None, numbers: Collection[str]) -> Iterator[Row]:
    """Yield the rows of a file, if there is one, with these fields as numbers."""
    if path is None:
        return
    for number, row in enumerate(read_csv(path, numbers)):
        values: Row = dict(row)
        for field in numbers:
            try:
                values[field] = int(row[field])
            except ValueError:
                found = shown(row[field])
                raise BadInput(f"{path}, row {number}, field {field!r}: expected an integer, got {found}") from None
        yield values


def _unmarked(text: str | None) -> str | None:
    """Return a text without the asterisks around it; any others belong to the book."""
    marked = text.strip() if text else ""
    return marked[1:-1] if len(marked) > 1 and marked[0] == marked[-1] == "*" else text
