"""Read Book-SORT for an evaluation: the pairs of segments to be put in order, and the books that they come from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Literal

from epbench.booksort.dataset import released as published
from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.hub.rows import Row, hub_configs, stored_rows

SPLITS = ("test", "validation")
_NAME = re.compile(r"e(\d+)_s(\d+)")
_TYPES: dict[str, type] = {
    "id": str,
    "book_idx": int,
    "excerpt_idx": int,
    "segment_1": str,
    "segment_2": str,
    "seg1_pos": int,
    "seg2_pos": int,
    "excerpt_length": int,
    "segment_length": int,
    "distance_bin": int,
    "book_title": str,
}


@dataclass(frozen=True, slots=True)
class Pair:
    """One question: two segments of an excerpt, of which one comes first.

    Attributes:
        id: of the row.
        config: `e<excerpt>_s<segment>`.
        book_idx: number of the book.
        title: of the book.
        excerpt_idx: number of the excerpt in its book and config.
        excerpt: its text; None where the set has none.
        excerpt_length: in words.
        segment_length: in words.
        segments: (the earlier, the later).
        positions: of these, in words from the start of the excerpt.
        distance_bin: right edge of the bin of distances, in words.
        answer: A where the earlier segment is shown first, else B.
    """

    id: str
    config: str
    book_idx: int
    title: str
    excerpt_idx: int
    excerpt: str | None
    excerpt_length: int
    segment_length: int
    segments: tuple[str, str]
    positions: tuple[int, int]
    distance_bin: int
    answer: Literal["A", "B"]

    @property
    def shown(self) -> tuple[str, str]:
        """The segments as A and B."""
        earlier, later = self.segments
        return (earlier, later) if self.answer == "A" else (later, earlier)

    @property
    def distance(self) -> int:
        """Words from the start of the earlier segment to that of the later one."""
        return self.positions[1] - self.positions[0]


def group_of(pair: Pair) -> str:
    """The name of the excerpt that a pair is about. The pairs of one excerpt share one reading of it and stay together."""
    return f"{pair.config} {pair.book_idx} {pair.excerpt_idx}"


@dataclass(frozen=True, slots=True)
class BookText:
    """A whole book: its number, title and text."""

    book_idx: int
    title: str
    text: str


def load_pairs(name: str, configs: Sequence[str] = ("e250_s20",), split: str = "test") -> list[Pair]:
    """The questions of some configs, in the order of the set.

    Args:
        name: `epbench/booksort`, a folder written by `builders/booksort.py`, the published `memari/booksort` or a
            folder of its CSV files.
        configs: such as `e250_s20`, excerpts of 250 words and segments of 20; `all` for all that there are.
        split: `test` or `validation`.

    Raises:
        BadInput: there is no such set, config or split, or a row is not as it should be.
    """
    if split not in SPLITS:
        raise BadInput(f"--split {split}: one of {', '.join(SPLITS)} expected")
    wanted = config_names(name) if list(configs) == ["all"] else list(dict.fromkeys(configs))
    there = config_names(name) if Path(name).is_dir() else wanted
    for config in wanted:
        if config not in there:
            raise BadInput(f"--config {config}: {name} has {', '.join(there)}")
    pairs = [pair for config in wanted for pair in _pairs(name, config, split)]
    seen: set[str] = set()
    for pair in pairs:
        if pair.id in seen:
            raise BadInput(f"{name}, config {pair.config!r}: id {pair.id!r} stands twice, ids of their own expected")
        seen.add(pair.id)
    return pairs


def config_names(name: str) -> list[str]:
    """The configs of a set, short excerpts first.

    Raises:
        BadInput: there are none.
    """
    folder = Path(name)
    if published.is_published(name):
        names = published.configs(name)
    elif folder.is_dir():
        names = [path.name for path in folder.iterdir() if path.is_dir()]
    else:
        names = hub_configs(name, "booksort")
    found = [match for each in names if (match := _NAME.fullmatch(each))]
    if not found:
        raise BadInput(f"{name}: no config e<excerpt>_s<segment> in it; is it a Book-SORT dataset?")
    return [match[0] for match in sorted(found, key=lambda match: (int(match[1]), int(match[2])))]


def load_books(name: str) -> list[BookText]:
    """The whole books, for the memories that read more than an excerpt.

    Raises:
        BadInput: the set has none, as the published one.
    """
    if published.is_published(name):
        raise BadInput(
            f"{name}: the published set has no whole books; make it with builders/booksort.py for this memory"
        )
    books = []
    for number, row in enumerate(stored_rows(name, "books", "test", "booksort")):
        where = f"{name}, config 'books', row {number}"
        for field, type_ in (("book_idx", int), ("book_title", str), ("text", str)):
            _typed(where, row, field, type_)
        books.append(BookText(row["book_idx"], row["book_title"], row["text"]))
    return books


def fingerprint(content: Iterable[Pair | BookText]) -> str:
    """Short hash of pairs or books, so that a run's folder is taken up on the same ones only."""
    digest = hashlib.sha256()
    for item in content:
        digest.update(json.dumps(astuple(item), ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()[:16]


def _pairs(name: str, config: str, split: str) -> Iterator[Pair]:
    match = _NAME.fullmatch(config)
    if not match:
        raise BadInput(f"--config {config}: e<excerpt>_s<segment> expected, such as e250_s20, or all")
    lengths = int(match[1]), int(match[2])
    rows = (
        published.rows(name, lengths, split)
        if published.is_published(name)
        else stored_rows(name, config, split, "booksort")
    )
    excerpts: dict[str, str] = {}  # the pairs of an excerpt share one string: long excerpts are most of the set
    n = 0
    for n, row in enumerate(rows, 1):
        where, text = f"{name}, config {config!r}, row {n - 1}", row.get("excerpt_text")
        if text is not None:
            _typed(where, row, "excerpt_text", str)
        yield _pair(where, config, row, text and excerpts.setdefault(text, text))
    if not n:
        raise BadInput(f"{name}, config {config!r}, split {split!r}: no rows")


def _pair(where: str, config: str, row: Row, excerpt: str | None) -> Pair:
    for field, type_ in _TYPES.items():
        _typed(where, row, field, type_)
    shown_first = row.get("present_seg1_first")
    if shown_first not in (0, 1):
        raise BadInput(f"{where}, field 'present_seg1_first': {shown(shown_first)} found, 0 or 1 expected")
    answer: Literal["A", "B"] = "A" if shown_first else "B"
    if row.get("answer", answer) != answer:
        raise BadInput(
            f"{where}, field 'answer': {shown(row['answer'])} found, {answer!r} by present_seg1_first expected"
        )
    if f"e{row['excerpt_length']}_s{row['segment_length']}" != config:
        raise BadInput(f"{where}, field 'excerpt_length' or 'segment_length': not those of the config")
    positions = row["seg1_pos"], row["seg2_pos"]
    if not 0 <= positions[0] < positions[1]:
        raise BadInput(f"{where}, field 'seg2_pos': {positions[1]} found, more than seg1_pos = {positions[0]} expected")
    words = excerpt.split() if excerpt else []
    for number, position in enumerate(positions, 1):
        segment = row[f"segment_{number}"].split()
        if not segment:
            raise BadInput(f"{where}, field 'segment_{number}': no words found")
        if excerpt and words[position : position + len(segment)] != segment:
            raise BadInput(
                f"{where}, field 'seg{number}_pos': word {position} of excerpt_text does not begin segment_{number}"
            )
    return Pair(
        row["id"],
        config,
        row["book_idx"],
        row["book_title"],
        row["excerpt_idx"],
        excerpt,
        row["excerpt_length"],
        row["segment_length"],
        (row["segment_1"], row["segment_2"]),
        positions,
        row["distance_bin"],
        answer,
    )


def _typed(where: str, row: Row, field: str, type_: type) -> None:
    if field not in row:
        raise BadInput(f"{where}, field {field!r}: missing; is it a Book-SORT dataset?")
    if type(row[field]) is not type_:
        raise BadInput(f"{where}, field {field!r}: {shown(row[field])} found, {type_.__name__} expected")
