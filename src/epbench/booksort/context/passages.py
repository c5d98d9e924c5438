"""The books cut into passages for retrieval, and where in them a segment stands.

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
        book_idx: of the book.
        start: its first character in the book's text, words parted by single spaces.
        text: such words.
    """

    book_idx: int
    start: int
    text: str

    def holds(self, book_idx: int, start: int, end: int) -> bool:
        """Whether it has at least half of these characters of a book.

        A cut may go through a segment; one of its two passages then has at least half of it.
        """
        shared = min(end, self.start + len(self.text)) - max(start, self.start)
        return book_idx == self.book_idx and 2 * shared >= end - start


def split_books(books: Sequence[BookText]) -> list[Passage]:
    """All passages, in the order of the books."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(chunk_size=CHARACTERS, chunk_overlap=0, add_start_index=True)
    return [
        Passage(book.book_idx, piece.metadata["start_index"], piece.page_content)
        for book in books
        for piece in splitter.create_documents([spaced(book.text)])
    ]


def spaced(text: str) -> str:
    """The words of a text, parted by single spaces: lines of a file are no parts of a book."""
    return " ".join(text.split())


class Places:
    """Finds the segments of pairs in the books."""

    def __init__(self, books: Sequence[BookText]) -> None:
        self._texts = {book.book_idx: spaced(book.text) for book in books}
        self._start_of = lru_cache(maxsize=64)(self._find)  # the pairs of an excerpt are near one another

    def of(self, pair: Pair) -> tuple[tuple[int, int], tuple[int, int]]:
        """(first character, character behind the last) of the earlier and of the later segment in the spaced text.

        Raises:
            BadInput: the pair's excerpt is not in its book.
        """
        start = self._start_of(pair.book_idx, pair.excerpt or "")
        if start < 0 or not pair.excerpt:
            raise BadInput(
                f"pair {pair.id!r}, field 'excerpt_text': not in the text of book {pair.book_idx} of config 'books'"
            )
        words = pair.excerpt.split()
        earlier, later = (
            (begin := start + len(" ".join(words[:position])) + (position > 0), begin + len(spaced(segment)))
            for position, segment in zip(pair.positions, pair.segments, strict=True)
        )
        return earlier, later

    def _find(self, book_idx: int, excerpt: str) -> int:
        return self._texts.get(book_idx, "").find(spaced(excerpt))
