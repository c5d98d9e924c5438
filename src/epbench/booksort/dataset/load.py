"""Read Book-SORT for an evaluation: the pairs of segments to be put in order, and the books that they come from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from types import NoneType
from typing import Literal

from epbench.booksort.dataset import released as published
from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.hub.rows import Row, check_rows, checked_rows, hub_configs, stored_rows
from epbench.runs.shapes import Shape

SPLITS = ("test", "validation")
_NAME = re.compile(r"e(\d+)_s(\d+)")
_PAIR = Shape(
    {
        **dict.fromkeys(("id", "segment_1", "segment_2", "book_title"), (str,)),
        **dict.fromkeys(("book_idx", "excerpt_idx", "seg1_pos", "seg2_pos"), (int,)),
        **dict.fromkeys(("excerpt_length", "segment_length", "distance_bin"), (int,)),
    },
    {"excerpt_text": (str, NoneType)},
)
_BOOK = Shape({"book_idx": (int,), "book_title": (str,), "text": (str,)})


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
        names = hub_configs(name)
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
    for row in checked_rows(name, "books", "test", _BOOK):
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
    rows = published.rows(name, lengths, split) if published.is_published(name) else stored_rows(name, config, split)
    excerpts: dict[str, str] = {}  # the pairs of an excerpt share one string: long excerpts are most of the set
    where = f"{name}, config {config!r}, split {split!r}"
    for number, row in enumerate(check_rows(where, rows, _PAIR)):
        text = row.get("excerpt_text")
        yield _pair(f"{where}, row {number}", config, row, text and excerpts.setdefault(text, text))


def _pair(where: str, config: str, row: Row, excerpt: str | None) -> Pair:
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
