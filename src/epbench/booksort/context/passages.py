"""Split the books into passages for retrieval, and find the positions of segments in them.

Paper: Section 3.2: LangChain's recursive splitter, about 1,024 characters, no overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from epbench.booksort.dataset.load import BookText, Pair
from epbench.errors import BadInput

CHARACTERS = 1024


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a book.

    Attributes:
        book_idx: Number of the book.
        start: Index of its first character in the text of the book with single spaces between words.
        text: The words of the passage, with single spaces between them.
    """

    book_idx: int
    start: int
    text: str

    def holds(self, book_idx: int, start: int, end: int) -> bool:
        """Return whether the passage contains at least half of the characters from start to end of a book.

        A split may cut a segment in two; then one of the two passages contains at least half of it.
        """
        shared = min(end, self.start + len(self.text)) - max(start, self.start)
        return book_idx == self.book_idx and 2 * shared >= end - start


def split_books(books: Sequence[BookText]) -> list[Passage]:
    """Return all passages, in the order of the books."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=CHARACTERS, chunk_overlap=0, add_start_index=True)
    return [
        Passage(book.book_idx, piece.metadata["start_index"], piece.page_content)
        for book in books
        for piece in splitter.create_documents([spaced(book.text)])
    ]


def spaced(text: str) -> str:
    """Return the words of a text with single spaces between them, because line breaks of a file carry no meaning."""
    return " ".join(text.split())


class SegmentPositions:
    """Finds the segments of pairs in the books."""

    def __init__(self, books: Sequence[BookText]) -> None:
        self._texts = {book.book_idx: spaced(book.text) for book in books}
        self._start_of = lru_cache(maxsize=64)(self._find)  # the pairs of an excerpt follow one another

    def of(self, pair: Pair) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return where the earlier and the later segment begin and end in the book's text with single spaces.

        Returns:
            For each segment the index of its first character and the index after its last one.

        Raises:
            BadInput: The pair's excerpt is not in its book.
        """
        start = self._start_of(pair.book_idx, pair.excerpt or "")
        if start < 0 or not pair.excerpt:
            raise BadInput(
                f"pair {pair.id!r}, field 'excerpt_text': expected an excerpt of book {pair.book_idx} of config 'books', "
                "got another text"
            )
        words = pair.excerpt.split()
        earlier, later = (
            (begin := start + len(" ".join(words[:position])) + (position > 0), begin + len(spaced(segment)))
            for position, segment in zip(pair.positions, pair.segments, strict=True)
        )
        return earlier, later

    def _find(self, book_idx: int, excerpt: str) -> int:
        return self._texts.get(book_idx, "").find(spaced(excerpt))
