"""The books of a Book-SORT set: the nine at Project Gutenberg that were published, or a folder of your own texts.

Paper: Appendix B.1, Table 3.
"""

from __future__ import annotations

import hashlib
import io
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epbench.booksort.texts.cleaning import Removed, Rules, clean, gutenberg_title, sentence_starts, split_at_markers
from epbench.errors import BadInput, RunFailed
from epbench.files.cache import cache_folder
from epbench.files.packaged import packaged

BASE_URL = "https://www.gutenberg.org"
_TABLE = packaged("epbench.booksort", "books.toml")
_RETRIES = 3
_SECONDS = 60  # without receiving a byte
_MOST_BYTES = 16_000_000  # of a download; the largest of the nine books has 3.4 MB


@dataclass(frozen=True)
class Published:
    """A book of the published set."""

    id: int  # number at Project Gutenberg
    title: str  # title in Table 3
    author: str  # author on the title page
    words: int  # number of words in Table 3, headings and footnotes included
    sha256: str  # hash of the text between the START and END lines, as `content_hash` computes it
    rules: Rules  # where its narrative begins and ends, and what its headings look like


@cache
def published_books() -> dict[int, Published]:
    """Return the nine books by number, in ascending order."""
    names = {field.name for field in fields(Rules)}
    books = {}
    for entry in tomllib.loads(_TABLE.read_text("utf-8"))["books"]:
        rules = Rules(**{name: value for name, value in entry.items() if name in names})
        books[entry["id"]] = Published(rules=rules, **{k: v for k, v in entry.items() if k not in names})
    return books


def content_hash(text: str) -> str:
    """Return the SHA-256 of a text without trailing blanks and without blank lines around it."""
    return hashlib.sha256("\n".join(line.rstrip() for line in text.strip().splitlines()).encode()).hexdigest()


def check_published(raw: str, book: Published, where: str) -> None:
    """Check that a text is the complete, unchanged text of a book; BadInput if the text is truncated, or is another text."""
    before, text, after = split_at_markers(raw)
    if not (before and after):
        raise BadInput(
            f"{where}: expected the START and END lines of Project Gutenberg, got at most one of them: the file of "
            f"{book.title!r} is truncated or something else; remove it and download it again"
        )
    digest = content_hash(text)
    if digest != book.sha256:
        raise BadInput(
            f"{where}: expected sha256 {book.sha256[:16]}… between the START and END lines for {book.title!r}, got "
            f"{digest[:16]}…: the file was changed or is another edition; remove it and download it again"
        )
    tail = after.partition("\n")[2].strip()
    if tail and "PROJECT GUTENBERG" not in tail.upper():
        raise BadInput(
            f"{where}: expected Project Gutenberg's licence after the END line, got {tail[:40]!r}: the file was changed; "
            "remove it and download it again"
        )


class _Draft(io.FileIO):
    """A file that refuses to become larger than a book."""

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > _MOST_BYTES:
            raise BadInput(f"{self.name}: expected a book of at most {_MOST_BYTES / 1e6:g} MB, got more")
        return super().write(data)


def download(book: Published, base_url: str = BASE_URL) -> Path:
    """Return the file of a book, which is downloaded if it is not in the cache, `$EPBENCH_CACHE/gutenberg`.

    After several attempts, BadInput if the download is truncated, far too large or another text; RunFailed if Project
    Gutenberg, or the mirror, cannot be reached or refuses.
    """
    import pooch
    from requests.exceptions import RequestException

    address = f"{base_url.rstrip('/')}/cache/epub/{book.id}/pg{book.id}.txt"
    path = cache_folder("gutenberg") / f"{book.id}-0.txt"

    def fetch(url: str, draft: str, _: object) -> None:
        with _Draft(draft, "wb") as file:
            pooch.HTTPDownloader(timeout=_SECONDS)(url, file, None)
        check_published(read_text(Path(draft), url), book, url)

    if path.exists():
        try:
            check_published(read_text(path), book, str(path))
            return path
        except BadInput:
            path.unlink()  # our own copy, damaged after it was checked
    pooch.get_logger().setLevel("ERROR")
    files = {"registry": {path.name: None}, "urls": {path.name: address}}
    shelf = pooch.create(path.parent, base_url, retry_if_failed=_RETRIES, **files)
    try:
        return Path(shelf.fetch(path.name, downloader=fetch))
    except RequestException as error:
        raise RunFailed(
            f"{address} could not be downloaded ({type(error).__name__}); try again, use a mirror, or use a folder of the "
            "nine files"
        ) from error


def read_text(path: Path, where: str = "") -> str:
    """Read a UTF-8 file, with or without a byte order mark, with line feeds at the ends of lines; else BadInput."""
    where = where or str(path)
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{where}: expected UTF-8, got byte 0x{content[error.start]:02x} at offset {error.start}; save the file as "
            "UTF-8"
        ) from None
    if "\0" in text:
        raise BadInput(
            f"{where}: expected text in UTF-8, got byte 0x00 at offset {content.index(0)}; is it UTF-16 or binary?"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")


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
        words: dict[str, list[int]] = {}
        for item in self.removed:
            words.setdefault(item.kind, []).append(len(item.text.split()))
        return {kind: (len(counts), sum(counts)) for kind, counts in words.items()}


def published_set(base_url: str = BASE_URL, progress: Progress = iter) -> list[Book]:
    """Return the nine published books; those that are not in the cache are downloaded, see `download`."""
    nine = published_books()
    files = {Path(f"{id_}-0.txt"): book for id_, book in nine.items()}
    return [_published(download(files[name], base_url), files[name]) for name in progress(list(files))]


def books_from(folder: Path, progress: Progress = iter) -> list[Book]:
    """Read the books of a folder of `.txt` files in UTF-8; other files and subfolders are ignored.

    If all of them are named like the nine books (`69087-0.txt`, `pg69087.txt` or `69087.txt`), it is the published set.
    Any other folder is a set of your own: `book_idx` counts the files in name order, and a title comes from the Project
    Gutenberg header, or else from the name of the file. BadInput if the folder or its texts do not exist, one of the
    nine books is missing or changed, or a text has another encoding, has no sentences, or is there twice.
    """
    files, published = text_files(folder, "the texts of the books, got no .txt files")
    if published:
        return _all_nine(folder, published, progress)
    books: list[Book] = []
    for path in progress(files):
        raw = read_text(path)
        book = _book(path, raw, len(books), gutenberg_title(raw) or path.stem, Rules(), None)
        twin = next((Path(other.file).name for other in books if other.sha256 == book.sha256), None)
        if twin:
            raise BadInput(f"{path}: expected each text once, got the same text as {twin}")
        books.append(book)
    return books


def text_files(folder: Path, wanted: str) -> tuple[list[Path], list[tuple[Path, Published]]]:
    """Return the `.txt` files of a folder in name order; and if all are named like published books, each with its book.

    The latter are in the order of the books. BadInput if there is no such folder or file; the message says what was `wanted`.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder}: expected a folder of .txt files, but there is no such folder")
    files = sorted((path for path in folder.glob("*.txt") if path.is_file()), key=lambda path: path.name)
    if not files:
        raise BadInput(f"{folder}: expected {wanted}")
    numbers = [(path, re.fullmatch(r"(?:pg)?(\d+)(?:-0)?", path.stem)) for path in files]
    named = [(path, published_books().get(int(match[1]))) for path, match in numbers if match]
    found = sorted([(path, book) for path, book in named if book], key=lambda item: item[1].id)
    return files, found if len(found) == len(files) else []


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
