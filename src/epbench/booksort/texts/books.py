"""The books of a SORT set: Book-SORT's own nine, or a folder of texts of one's own."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.booksort.texts.cleaning import Cleaned, Removed, Rules, clean, gutenberg_title
from epbench.booksort.texts.gutenberg import BASE_URL, Published, check_published, download, published_books, read_text
from epbench.booksort.texts.sentences import sentence_starts
from epbench.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Progress = Callable[[Sequence[Path]], Iterable[Path]]


@dataclass(frozen=True)
class Book:
    """A cleaned book.

    Attributes:
        index: `book_idx`: number at Project Gutenberg, or place in the folder, from 0.
        title: as prompts name it.
        paragraphs: the narrative, blanks made one.
        removed: what cleaning took out, in order.
        raw_sha256: of the file.
        file: its path, for errors.
        published_words: number of words in Table 3; None for a text of one's own.
    """

    index: int
    title: str
    paragraphs: Sequence[str]
    removed: Sequence[Removed]
    raw_sha256: str
    file: str
    published_words: int | None = None

    @cached_property
    def text(self) -> str:
        """Paragraphs with a blank line between them."""
        return "\n\n".join(self.paragraphs)

    @cached_property
    def words(self) -> list[str]:
        """The text split at blanks: what excerpts, segments, positions and distances are counted in."""
        return self.text.split()

    @cached_property
    def starts(self) -> list[int]:
        """Numbers of the words that begin a sentence, ascending."""
        return sentence_starts(self.paragraphs)

    @cached_property
    def codes(self) -> NDArray[np.uint64]:
        """A number for every word, the same for the same word."""
        import numpy as np

        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(word, len(numbers) + 1) for word in self.words], np.uint64)

    def stretch(self, first: int, n: int) -> memoryview:
        """n words from a word on, parted by single blanks, in UTF-8: a view of one text, since excerpts overlap."""
        text, ends = self._joined
        return memoryview(text)[ends[first - 1] + 1 if first else 0 : ends[first + n - 1]]

    @cached_property
    def _joined(self) -> tuple[bytes, list[int]]:
        """All words parted by single blanks, and the byte after each."""
        encoded = [word.encode() for word in self.words]
        return b" ".join(encoded), [end + i for i, end in enumerate(accumulate(map(len, encoded)))]

    @cached_property
    def sha256(self) -> str:
        """Of the text in UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def removed_words(self) -> dict[str, tuple[int, int]]:
        """By kind of removed thing, how many and how many words."""
        pieces = Counter(item.kind for item in self.removed)
        words: Counter[str] = Counter()
        for item in self.removed:
            words[item.kind] += len(item.text.split())
        return {kind: (n, words[kind]) for kind, n in pieces.items()}


def published_set(base_url: str = BASE_URL, progress: Progress = iter) -> list[Book]:
    """The nine books, downloaded where the cache lacks them; raises as `download` does."""
    nine = published_books()
    files = {Path(f"{id_}-0.txt"): book for id_, book in nine.items()}
    return [_published(download(files[name], base_url), files[name]) for name in progress(list(files))]


def books_from(folder: Path, progress: Progress = iter) -> list[Book]:
    """The books of a folder.

    A folder whose `.txt` files all have names of the nine (`69087-0.txt`, `pg69087.txt` or `69087.txt`) is the
    published set. Any other is a set of one's own: `book_idx` counts the files in name order, and titles are those of a
    Project Gutenberg header or the names of the files.

    Args:
        folder: with the texts, in UTF-8; other files and subfolders are left alone.
        progress: wraps the files, to show a bar.

    Raises:
        BadInput: no folder, no texts, one of the nine missing or changed, another encoding, a text without sentences,
            the same text twice.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder; a folder of .txt files is expected")
    files = sorted((path for path in folder.glob("*.txt") if path.is_file()), key=lambda path: path.name)
    if not files:
        raise BadInput(f"{folder} has no .txt files; the texts of the books are expected in it")
    nine = published_books()
    ids = {path: int(named[1]) for path in files if (named := re.fullmatch(r"(?:pg)?(\d+)(?:-0)?", path.stem))}
    if len(ids) == len(files) and set(ids.values()) <= set(nine):
        return _all_nine(folder, ids, progress)
    books: list[Book] = []
    for path in progress(files):
        book = _own(path, len(books))
        twin = next((files[other.index].name for other in books if other.sha256 == book.sha256), None)
        if twin:
            raise BadInput(f"{path}: the same text as {twin}; each text is expected once")
        books.append(book)
    return books


def _all_nine(folder: Path, ids: dict[Path, int], progress: Progress) -> list[Book]:
    nine = published_books()
    for id_, book in nine.items():
        files = [path.name for path, named in ids.items() if named == id_]
        if len(files) != 1:
            found = f"{' and '.join(files)} are both the book" if files else f"{id_}-0.txt is missing: the book"
            raise BadInput(
                f"{folder}: {found} {book.title!r}; the nine books are expected, each once (or give the files names "
                "that are no numbers of theirs, and they make a set of your own)"
            )
    return [_published(path, nine[ids[path]]) for path in progress(sorted(ids, key=ids.__getitem__))]


def _published(path: Path, book: Published) -> Book:
    raw = read_text(path)
    check_published(raw, book, str(path))
    return _book(path, book.id, book.title, clean(raw, book.rules, str(path)), book.words)


def _own(path: Path, index: int) -> Book:
    raw = read_text(path)
    return _book(path, index, gutenberg_title(raw) or path.stem, clean(raw, Rules(), str(path)), None)


def _book(path: Path, index: int, title: str, cleaned: Cleaned, published_words: int | None) -> Book:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    book = Book(index, title, cleaned.paragraphs, cleaned.removed, digest, str(path), published_words)
    if not re.search(r"[.?!…]", book.text):
        raise BadInput(f"{path}: no sentence ends in {len(book.words)} words; prose with . ? or ! is expected")
    return book
