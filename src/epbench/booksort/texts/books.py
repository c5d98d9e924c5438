"""The books of a Book-SORT set: the nine published ones, or a folder of your own texts."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.booksort.texts.cleaning import Removed, Rules, clean, gutenberg_title
from epbench.booksort.texts.gutenberg import BASE_URL, Published, check_published, download, published_books, read_text
from epbench.booksort.texts.sentences import sentence_starts
from epbench.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Progress = Callable[[Sequence[Path]], Iterable[Path]]


@dataclass(frozen=True)
class Book:
    """A cleaned book."""

    index: int  # the column `book_idx`: the number at Project Gutenberg, or the position in the folder, counted from 0
    title: str  # title as prompts give it
    paragraphs: Sequence[str]  # paragraphs of the narrative, with single blanks between words
    removed: Sequence[Removed]  # what cleaning removed, in order
    raw_sha256: str  # SHA-256 of the file
    file: str  # path of the file, for error messages
    published_words: int | None = None  # number of words in Table 3; None for your own texts

    @cached_property
    def text(self) -> str:
        """The paragraphs, with a blank line between them."""
        return "\n\n".join(self.paragraphs)

    @cached_property
    def words(self) -> list[str]:
        """The text split at blanks. Excerpts, segments, positions and distances are counted in these words."""
        return self.text.split()

    @cached_property
    def starts(self) -> list[int]:
        """Indices of the words that begin a sentence, in ascending order."""
        return sentence_starts(self.paragraphs)

    @cached_property
    def codes(self) -> NDArray[np.uint64]:
        """One number per word; equal words have equal numbers."""
        import numpy as np

        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(word, len(numbers) + 1) for word in self.words], np.uint64)

    def stretch(self, first: int, n: int) -> memoryview:
        """Return n words with single blanks between them, in UTF-8: a view of one shared text, because excerpts overlap."""
        text, ends = self._joined
        return memoryview(text)[ends[first - 1] + 1 if first else 0 : ends[first + n - 1]]

    @cached_property
    def _joined(self) -> tuple[bytes, list[int]]:
        """All words with single blanks between them, and the byte offset at which each word ends."""
        encoded = [word.encode() for word in self.words]
        return b" ".join(encoded), [end + i for i, end in enumerate(accumulate(map(len, encoded)))]

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the text in UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def removed_words(self) -> dict[str, tuple[int, int]]:
        """Return by kind how many pieces were removed, and how many words they had."""
        pieces = Counter(item.kind for item in self.removed)
        words: Counter[str] = Counter()
        for item in self.removed:
            words[item.kind] += len(item.text.split())
        return {kind: (n, words[kind]) for kind, n in pieces.items()}


def published_set(base_url: str = BASE_URL, progress: Progress = iter) -> list[Book]:
    """Return the nine published books; those that are not in the cache are downloaded from Project Gutenberg or a mirror.

    Raises:
        BadInput: A download is truncated or has another text.
        RunFailed: The server cannot be reached.
    """
    nine = published_books()
    files = {Path(f"{id_}-0.txt"): book for id_, book in nine.items()}
    return [_published(download(files[name], base_url), files[name]) for name in progress(list(files))]


def books_from(folder: Path, progress: Progress = iter) -> list[Book]:
    """Read the books of a folder of `.txt` files in UTF-8; other files and subfolders are ignored.

    If all of them are named like the nine books (`69087-0.txt`, `pg69087.txt` or `69087.txt`), it is the published set.
    Any other folder is a set of your own: `book_idx` counts the files in name order, and a title comes from the Project
    Gutenberg header, or else from the name of the file.

    Raises:
        BadInput: The folder or its texts do not exist, one of the nine books is missing or changed, or a text has another
            encoding, has no sentences, or is there twice.
    """
    files = text_files(folder, "the texts of the books, got no .txt files")
    if published := all_published(files):
        return _all_nine(folder, published, progress)
    books: list[Book] = []
    for path in progress(list(files)):
        raw = read_text(path)
        book = _book(path, raw, len(books), gutenberg_title(raw) or path.stem, Rules(), None)
        twin = next((Path(other.file).name for other in books if other.sha256 == book.sha256), None)
        if twin:
            raise BadInput(f"{path}: expected each text once, got the same text as {twin}")
        books.append(book)
    return books


def text_files(folder: Path, wanted: str) -> dict[Path, Published | None]:
    """Return the `.txt` files of a folder in name order, each with the published book that it is named like, if it is one.

    BadInput if there is no such folder, or no such file; the message says what was `wanted`.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder}: expected a folder of .txt files, but there is no such folder")
    files = sorted((path for path in folder.glob("*.txt") if path.is_file()), key=lambda path: path.name)
    if not files:
        raise BadInput(f"{folder}: expected {wanted}")
    named = {path: re.fullmatch(r"(?:pg)?(\d+)(?:-0)?", path.stem) for path in files}
    return {path: published_books().get(int(match[1])) if match else None for path, match in named.items()}


def all_published(files: Mapping[Path, Published | None]) -> list[tuple[Path, Published]]:
    """Return the files and their books in the order of the books, if all are published ones, else nothing."""
    found = [(path, book) for path, book in files.items() if book]
    return sorted(found, key=lambda item: item[1].id) if len(found) == len(files) else []


def _all_nine(folder: Path, files: Sequence[tuple[Path, Published]], progress: Progress) -> list[Book]:
    for id_, book in published_books().items():
        found = [path.name for path, named in files if named.id == id_]
        if len(found) != 1:
            names = " and ".join(found) or f"no {id_}-0.txt"
            raise BadInput(
                f"{folder}: expected each of the nine books once, got {names} for {book.title!r} (for a set of your own, "
                "give the files names that are not their numbers)"
            )
    books = dict(files)
    return [_published(path, books[path]) for path in progress(list(books))]


def _published(path: Path, book: Published) -> Book:
    raw = read_text(path)
    check_published(raw, book, str(path))
    return _book(path, raw, book.id, book.title, book.rules, book.words)


def _book(path: Path, raw: str, index: int, title: str, rules: Rules, published_words: int | None) -> Book:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    book = Book(index, title, *clean(raw, rules, str(path)), digest, str(path), published_words)
    if not re.search(r"[.?!…]", book.text):
        raise BadInput(f"{path}: expected prose with . ? or !, got no end of a sentence in {len(book.words)} words")
    return book
