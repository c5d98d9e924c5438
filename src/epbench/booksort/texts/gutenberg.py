"""The nine books of Book-SORT at Project Gutenberg (Appendix B.1, Table 3), and how to download them."""

from __future__ import annotations

import hashlib
import io
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from epbench.booksort.texts.cleaning import Rules, split_at_markers
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
    """Check that a text is the complete, unchanged text of a book.

    Raises:
        BadInput: The text is truncated, or is another text.
    """
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

    `/cache/epub/<id>/pg<id>.txt` is added to the address of Project Gutenberg or a mirror.

    Raises:
        BadInput: The download is truncated, far too large or another text, after several attempts.
        RunFailed: The server cannot be reached or refuses, after several attempts.
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
    """Read a UTF-8 file, with or without a byte order mark, and return it with line feeds at the ends of lines.

    Raises:
        BadInput: The file has another encoding. The message gives the byte and its offset.
    """
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
