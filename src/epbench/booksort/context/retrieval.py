"""Search the passages of all books for each pair: split, search, record what was found, and say how much (recall).

Paper: Section 3.2 (LangChain's recursive splitter, about 1,024 characters, no overlap) and Appendix C.4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from epbench.booksort.dataset.load import BookText, Pair, is_whole_book
from epbench.errors import BadInput
from epbench.journals.answers import fingerprint_of
from epbench.journals.journal import Journal
from epbench.retrieval.protocol import MakeSearcher

CHARACTERS = 1024


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a book."""

    book_idx: int  # number of the book
    start: int  # index of its first character in the text of the book with single spaces between words
    text: str  # the words of the passage, with single spaces between them

    def holds(self, book_idx: int, start: int, end: int) -> bool:
        """Return whether it has at least half of the characters from start to end: of two that share a segment, one does."""
        shared = min(end, self.start + len(self.text)) - max(start, self.start)
        return book_idx == self.book_idx and 2 * shared >= end - start


def split_books(books: Sequence[BookText]) -> list[Passage]:
    """Return all passages, in the order of the books, as LangChain's recursive splitter makes them of these texts.

    Each passage takes words as long as it holds at most `CHARACTERS` characters, with the space before its first word. A
    word that is as long as a passage stands alone, in as many passages as it needs.
    """
    return [
        Passage(book.book_idx, start + text[start:end].startswith(" "), text[start:end].strip())
        for book in books
        for text in [spaced(book.text)]
        for start, end in _cuts(text)
        if start < end
    ]


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    """Where the passages of a text begin and end; some are empty."""
    start = 0
    for word in re.finditer(" ?[^ ]+", text):
        is_long = len(word[0]) >= CHARACTERS
        if is_long or word.end() - start > CHARACTERS:
            yield start, word.start()
            start = word.start()
        while is_long and start < word.end():
            yield start, min(start + CHARACTERS, word.end())
            start = min(start + CHARACTERS, word.end())
    yield start, len(text)


def spaced(text: str) -> str:
    """Return the words of a text with single spaces between them, because line breaks of a file carry no meaning."""
    return " ".join(text.split())


def first_word(excerpt: str, book: str) -> int | None:
    """Return the word of a book, with single spaces between words, at which an excerpt begins; None if it is not there."""
    start = book.find(words) if (words := spaced(excerpt)) else -1
    return None if start < 0 else book.count(" ", 0, start)


class SegmentPositions:
    """Finds the segments of pairs in the books."""

    def __init__(self, books: Sequence[BookText]) -> None:
        texts = {book.book_idx: spaced(book.text) for book in books}
        # The pairs of an excerpt follow one another.
        self._first_of = lru_cache(maxsize=64)(lambda book, excerpt: first_word(excerpt, texts.get(book, "")))
        self._begins_of = lru_cache(maxsize=64)(
            lambda book: [0, *accumulate(len(word) + 1 for word in texts[book].split(" "))]
        )

    def of(self, pair: Pair) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return where the earlier and the later segment begin and end (exclusive) in the book's text with single spaces."""
        first = 0 if is_whole_book(pair.config) else self._first_of(pair.book_idx, pair.excerpt or "")
        if first is None:
            raise BadInput(
                f"pair {pair.id!r}, field 'excerpt_text': expected an excerpt of book {pair.book_idx} of config 'books', "
                "got another text"
            )
        begins = self._begins_of(pair.book_idx)
        earlier, later = (
            (begin := begins[first + position], begin + len(spaced(segment)))
            for position, segment in zip(pair.positions, pair.segments, strict=True)
        )
        return earlier, later


RETRIEVED = "retrieved.jsonl"
TOP_K = 2
DEPTH = 10
"""Number of passages that recall takes into account (Table 8)."""
RECALL = f"recall_at_{DEPTH}"


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a search found for one pair."""

    id: str  # id of the pair
    query: str  # what was searched for
    passages: tuple[int, ...]  # indices of the passages that are shown, in the order of the prompt
    # Ranks, from 0, of the best passages that contain the earlier and the later segment. None if no passage among the
    # first `DEPTH` (or among those shown, if there are more) contains the segment.
    ranks: tuple[int | None, int | None]
    both: bool  # whether the passages that are shown contain both segments
    # Whether they do so in the order of the book. One passage may contain both segments.
    in_order: bool


def retrieve(
    pairs: Sequence[Pair],
    books: Sequence[BookText],
    passages: Sequence[Passage],
    search: MakeSearcher,
    *,
    query: str,
    top_k: int = TOP_K,
    keep_order: bool = False,
) -> list[Retrieved]:
    """Search the passages of all books for each pair.

    In `query`, `{segments}` stands for the texts of both segments in the order shown. The `top_k` passages are shown
    the most similar first, or with `keep_order` in the order of the books. BadInput if a pair's excerpt is not in its
    book, or the index cannot be made.
    """
    queries = [query_for(pair, query) for pair in pairs]
    positions = SegmentPositions(books)
    index = search([passage.text for passage in passages])
    retrieved = []
    for pair, asked, best in zip(pairs, queries, index.search(queries, max(top_k, DEPTH)), strict=True):
        ranks = _ranks(pair, [passages[i] for i in best], positions)
        shown = sorted(best[:top_k]) if keep_order else best[:top_k]
        both = all(rank is not None and rank < top_k for rank in ranks)
        order = [shown.index(best[rank]) for rank in ranks if rank is not None] if both else []
        retrieved.append(Retrieved(pair.id, asked, tuple(shown), ranks, both, both and order[0] <= order[1]))
    return retrieved


def query_for(pair: Pair, query: str) -> str:
    """What is searched for: `query` of the prompt pack with both segments of a pair, in the order shown."""
    return query.format(title=pair.title, segments=" ".join(pair.shown))


def _ranks(pair: Pair, best: Sequence[Passage], positions: SegmentPositions) -> tuple[int | None, int | None]:
    earlier, later = (
        next((rank for rank, passage in enumerate(best) if passage.holds(pair.book_idx, *span)), None)
        for span in positions.of(pair)
    )
    return earlier, later


def recall_at(found: Sequence[Mapping[str, Any]], depth: int = DEPTH) -> float | None:
    """Return the share of segments found within the first `depth` passages of records of `retrieved.jsonl` (Table 8).

    A segment is found if a passage contains at least half of its characters. None if there are no segments.
    """
    ranks = [rank for record in found for rank in record["ranks"]]
    return sum(rank is not None and rank < depth for rank in ranks) / len(ranks) if ranks else None


def record(folder: Path, found: Sequence[Retrieved], passages: Sequence[Passage]) -> None:
    """Write what was found to `retrieved.jsonl`, with each passage as (book, first character)."""
    journal = Journal(folder / RETRIEVED)
    for hit in found:
        shown = [(passages[i].book_idx, passages[i].start) for i in hit.passages]
        key = fingerprint_of([hit.id, hit.query, shown])
        if not journal.done(key):
            journal.add(key, **asdict(hit) | {"passages": shown})
    journal.close()
