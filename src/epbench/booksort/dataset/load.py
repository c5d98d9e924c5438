"""Read Book-SORT for an evaluation: the pairs of segments to put in order, and the books that they come from."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Literal

from epbench.booksort.dataset import released as published
from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.files.typed import Whole, fields
from epbench.hub.rows import Row, check_rows, checked_rows, hub_configs, stored_rows, subset

SWAPPED = "/swapped"
"""Suffix of a pair's id when the pair is asked in the swapped order."""
_NAME = re.compile(r"(?:e(\d+)|book)_s(\d+)")
_AGAIN = re.compile(r"#\d+$")
PAIR = fields(
    {
        **dict.fromkeys(("id", "segment_1", "segment_2", "book_title"), str),
        **dict.fromkeys(("book_idx", "excerpt_idx", "seg1_pos", "seg2_pos"), Whole),
        **dict.fromkeys(("excerpt_length", "segment_length", "distance_bin"), Whole),
    },
    {"excerpt_text": str | None},
)
_BOOK = fields({"book_idx": Whole, "book_title": str, "text": str})


@dataclass(frozen=True, slots=True)
class Pair:
    """One question: two segments of an excerpt, of which one comes first.

    Attributes:
        id: Id of the row.
        config: Name of the config, `e<excerpt>_s<segment>`, or `book_s<segment>` for whole books.
        book_idx: Number of the book.
        title: Title of the book.
        excerpt_idx: Number of the excerpt in its book and config.
        excerpt: Text of the excerpt; None if the set does not have it.
        excerpt_length: Length of the excerpt in words; with `book_s<segment>`, of the book.
        segment_length: Length of a segment in words.
        segments: The earlier and the later segment.
        positions: Positions of the segments, in words from the start of the excerpt.
        distance_bin: Right edge of the distance bin, in words.
        answer: `A` if the earlier segment is shown first, otherwise `B`.
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
        """The segments in the order in which they are shown, as A and B."""
        earlier, later = self.segments
        return (earlier, later) if self.answer == "A" else (later, earlier)

    @property
    def distance(self) -> int:
        """Words from the start of the earlier segment to that of the later one."""
        return self.positions[1] - self.positions[0]


def group_of(pair: Pair) -> str:
    """The name of the excerpt that a pair is about. The pairs of one excerpt share one reading of it and stay together."""
    return f"{pair.config} {pair.book_idx} {pair.excerpt_idx}"


def excerpt_of(pair: Pair) -> str:
    """Return the text of a pair's excerpt; BadInput if the set does not have it."""
    if pair.excerpt is not None:
        return pair.excerpt
    if is_whole_book(pair.config):
        raise BadInput(
            f"pair {pair.id!r}: {pair.config} asks about whole books and has no excerpts; it works with the memories none, rag "
            "and full-book, and with a memory system that stores the book"
        )
    raise BadInput(
        f"pair {pair.id!r}: the set does not have the text of its excerpt; {pair.config} works only without memory"
    )


def is_whole_book(config: str) -> bool:
    """Return whether the pairs of a config are about whole books and not about excerpts."""
    return config.startswith("book_")


def pair_id(id_: str) -> str:
    """Return the id of the pair, whichever order a question asks it in."""
    return id_.removesuffix(SWAPPED)


def both_orders(pairs: Iterable[Pair]) -> list[Pair]:
    """Return every pair as it is, followed by itself with swapped segments, so that a preference for a label cancels out."""
    asked = []
    for pair in pairs:
        asked += [pair, replace(pair, id=pair.id + SWAPPED, answer="B" if pair.answer == "A" else "A")]
    return asked


@dataclass(frozen=True, slots=True)
class BookText:
    """A whole book: its number, title and text."""

    book_idx: int
    title: str
    text: str


def load_pairs(name: str, configs: Sequence[str] = ("e250_s20",), split: str = "test") -> list[Pair]:
    """Load the questions of some configs, in the order of the set.

    Args:
        name: `epbench/booksort`, a folder that its builder wrote, the published `memari/booksort`, or a folder of its CSV
            files.
        configs: Names such as `e250_s20` (excerpts of 250 words, segments of 20), or only `all` for every config.
        split: `test` or `validation`.

    Raises:
        BadInput: The set, a config or the split does not exist, or a row is wrong.
    """
    if split not in ("test", "validation"):
        raise BadInput(f"split: expected one of test, validation, got {split!r}")
    wanted = config_names(name) if list(configs) == ["all"] else list(dict.fromkeys(configs))
    known = config_names(name) if Path(name).is_dir() else wanted
    for config in wanted:
        if config not in known:
            raise BadInput(f"{name}: expected one of the configs {', '.join(known)}, got {config!r}")
    pairs: dict[str, Pair] = {}
    for pair in [pair for config in wanted for pair in _pairs(name, config, split)]:
        if pair.id in pairs:
            raise BadInput(f"{name}, config {pair.config!r}: expected distinct ids, got {pair.id!r} twice")
        pairs[pair.id] = pair
    return list(pairs.values())


def of_books(pairs: Sequence[Pair], books: Sequence[int] | None) -> list[Pair]:
    """Return the pairs of the books with these numbers, in their order; None for all. BadInput if a book has no pairs."""
    there = {pair.book_idx for pair in pairs}
    for book in books or ():
        if book not in there:
            raise BadInput(f"books: expected one of {', '.join(map(str, sorted(there)))}, got {book}")
    return [pair for pair in pairs if books is None or pair.book_idx in books]


def asked_pairs(
    everything: Sequence[Pair],
    books: Sequence[int] | None,
    limit: int | None = None,
    shard: str | None = None,
    both: bool | None = False,
    by_book: bool = False,
) -> list[Pair]:
    """Return the pairs that a run asks about, in the order of the set.

    A limit takes so many pairs at random, those of an excerpt together. A shard, `i/n` for the i-th of n parts, never
    divides the pairs of an excerpt, or with `by_book` of a book. With `both` each pair is asked twice; see
    `both_orders`. BadInput if a book has no pairs, the limit is below 1, or there is no such shard.
    """
    limited = subset(of_books(everything, books), group_of, limit)
    pairs = subset(limited, (lambda pair: f"{pair.book_idx}") if by_book else group_of, None, shard)
    return both_orders(pairs) if both else pairs


def answered_pairs(everything: Sequence[Pair], ids: Iterable[str], where: str) -> list[Pair]:
    """Return the pair of each answer in a file, under its id: that of a pair, with `#2` for a second answer.

    BadInput, with a message that begins with `where`, if there is no such pair.
    """
    pairs, ids = {pair.id: pair for pair in everything}, list(ids)
    for number, id_ in enumerate(ids):
        if _AGAIN.sub("", id_) not in pairs:
            raise BadInput(f"{where}, row {number}, field 'id': no pair of these configs has the id {shown(id_)}")
    return [replace(pairs[_AGAIN.sub("", id_)], id=id_) for id_ in ids]


def config_names(name: str) -> list[str]:
    """Return the configs of a set, short excerpts first, whole books last; BadInput if it has none."""
    folder = Path(name)
    if published.is_published(name):
        names = published.configs(name)
    elif folder.is_dir():
        names = [path.name for path in folder.iterdir() if path.is_dir()]
    else:
        names = hub_configs(name)
    matches = [match for config in names if (match := _NAME.fullmatch(config))]
    if not matches:
        raise BadInput(f"{name}: expected a config e<excerpt>_s<segment>, got none; is it a Book-SORT dataset?")
    return [match[0] for match in sorted(matches, key=lambda match: (int(match[1] or 10**9), int(match[2])))]


def load_books(name: str) -> list[BookText]:
    """Load the whole books, for memories that read more than an excerpt.

    Raises:
        BadInput: The set has no books; the published set has none.
    """
    if published.is_published(name):
        raise BadInput(
            f"{name}: the published set has no whole books, which this memory needs; use a set that has the config 'books'"
        )
    rows = checked_rows(name, "books", "test", _BOOK)
    return [BookText(row["book_idx"], row["book_title"], row["text"]) for row in rows]


def fingerprint(content: Iterable[Pair | BookText]) -> str:
    """Return a short hash of pairs or books, so that a run can only be resumed on the same ones."""
    digest = hashlib.sha256()
    for item in content:
        digest.update(json.dumps(astuple(item), ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()[:16]


def _pairs(name: str, config: str, split: str) -> Iterator[Pair]:
    match = _NAME.fullmatch(config)
    if not match:
        raise BadInput(
            f"config: expected e<excerpt>_s<segment>, such as e250_s20, book_s<segment> or all, got {config!r}"
        )
    if not published.is_published(name):
        rows: Iterable[Row] = stored_rows(name, config, split)
    elif match[1] is None:
        raise BadInput(f"{name}: the published set has no pairs of whole books, got config {config!r}")
    else:
        rows = published.rows(name, (int(match[1]), int(match[2])), split)
    excerpts: dict[str, str] = {}  # the pairs of an excerpt share one string, as long excerpts take most of the memory
    where = f"{name}, config {config!r}, split {split!r}"
    for number, row in enumerate(check_rows(where, rows, PAIR)):
        text = row.get("excerpt_text")
        yield pair_of(f"{where}, row {number}", config, row, text and excerpts.setdefault(text, text))


def pair_of(where: str, config: str, row: Row, excerpt: str | None) -> Pair:
    """Return the pair of a row with the columns `PAIR`, named `where` in messages; BadInput if they contradict one another."""
    shown_first = row.get("present_seg1_first")
    if shown_first not in (0, 1):
        raise BadInput(f"{where}, field 'present_seg1_first': expected 0 or 1, got {shown(shown_first)}")
    answer: Literal["A", "B"] = "A" if shown_first else "B"
    if row.get("answer", answer) != answer:
        raise BadInput(
            f"{where}, field 'answer': expected {answer!r} by present_seg1_first, got {shown(row['answer'])}"
        )
    if config not in (f"e{row['excerpt_length']}_s{row['segment_length']}", f"book_s{row['segment_length']}"):
        raise BadInput(
            f"{where}, field 'excerpt_length' or 'segment_length': expected the lengths in the config's name"
        )
    positions = row["seg1_pos"], row["seg2_pos"]
    if not 0 <= positions[0] < positions[1]:
        raise BadInput(f"{where}, field 'seg2_pos': expected more than seg1_pos = {positions[0]}, got {positions[1]}")
    words = excerpt.split() if excerpt else []
    for number, position in enumerate(positions, 1):
        segment = row[f"segment_{number}"].split()
        if not segment:
            raise BadInput(f"{where}, field 'segment_{number}': expected words, got none")
        if excerpt and words[position : position + len(segment)] != segment:
            raise BadInput(
                f"{where}, field 'seg{number}_pos': segment_{number} does not begin at word {position} of excerpt_text"
            )
    about = row["id"], config, row["book_idx"], row["book_title"], row["excerpt_idx"]
    lengths, segments = (row["excerpt_length"], row["segment_length"]), (row["segment_1"], row["segment_2"])
    return Pair(*about, excerpt, *lengths, segments, positions, row["distance_bin"], answer)
