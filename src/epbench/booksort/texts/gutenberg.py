"""The nine books of Book-SORT at Project Gutenberg (Appendix B.1, Table 3): which they are, and how to get them."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from epbench.booksort.texts.cleaning import Rules, split_at_markers
from epbench.cache import cache_folder
from epbench.errors import BadInput, RunFailed
from epbench.files.packaged import packaged

BASE_URL = "https://www.gutenberg.org"
_TABLE = packaged("epbench.booksort", "books.toml")
_RETRIES = 3
_SECONDS = 60  # without a byte


@dataclass(frozen=True)
class Published:
    """A book of the published set.

    Attributes:
        id: its number at Project Gutenberg.
        title: as in Table 3.
        author: as on the title page.
        words: number of words in Table 3, headings and footnotes included.
        sha256: of the text between the START and END lines; `content_hash` says how.
        rules: where its narrative begins and ends, and what its headings look like.
    """

    id: int
    title: str
    author: str
    words: int
    sha256: str
    rules: Rules


@cache
def published_books() -> dict[int, Published]:
    """The nine books by their number, ascending."""
    names = {field.name for field in fields(Rules)}
    books = {}
    for entry in tomllib.loads(_TABLE.read_text("utf-8"))["books"]:
        rules = Rules(**{name: value for name, value in entry.items() if name in names})
        books[entry["id"]] = Published(rules=rules, **{k: v for k, v in entry.items() if k not in names})
    return books


def content_hash(text: str) -> str:
    """sha256 of a text without blanks at the ends of lines and blank lines around it."""
    return hashlib.sha256("\n".join(line.rstrip() for line in text.strip().splitlines()).encode()).hexdigest()


def check_published(raw: str, book: Published, where: str) -> None:
    """Is this the whole, unchanged text of the book?

    Args:
        raw: the file's text.
        book: what it should be.
        where: file or address, for errors.

    Raises:
        BadInput: it is cut off, or another text.
    """
    before, text, after = split_at_markers(raw)
    if not (before and after):
        raise BadInput(
            f"{where}: the START and END lines of Project Gutenberg are not both there: the file of {book.title!r} is "
            "cut off or is something else; remove it and get it again"
        )
    found = content_hash(text)
    if found != book.sha256:
        raise BadInput(
            f"{where}: the text between the START and END lines has sha256 {found[:16]}…, {book.sha256[:16]}… expected "
            f"for {book.title!r}: the file was changed or is another edition; remove it and get it again"
        )
    tail = after.partition("\n")[2].strip()
    if tail and "PROJECT GUTENBERG" not in tail.upper():
        raise BadInput(
            f"{where}: {tail[:40]!r} after the END line is not Project Gutenberg's; the file was changed, get it again"
        )


def download(book: Published, base_url: str = BASE_URL) -> Path:
    """A book's file, from the cache (`$EPBENCH_CACHE/gutenberg` or `~/.cache/epbench/gutenberg`) or downloaded into it.

    Args:
        book: which one.
        base_url: of Project Gutenberg or a mirror; `/cache/epub/<id>/pg<id>.txt` is added.

    Raises:
        BadInput: what comes is cut off or another text, after several tries.
        RunFailed: the server cannot be reached or refuses, after several tries.
    """
    import pooch
    from requests.exceptions import RequestException

    address = f"{base_url.rstrip('/')}/cache/epub/{book.id}/pg{book.id}.txt"
    path = cache_folder("gutenberg") / f"{book.id}-0.txt"

    def fetch(url: str, draft: str, _: object) -> None:
        pooch.HTTPDownloader(timeout=_SECONDS)(url, draft, None)
        check_published(read_text(Path(draft), url), book, url)

    if path.exists():
        try:
            check_published(read_text(path), book, str(path))
            return path
        except BadInput:
            path.unlink()  # spoilt after it was checked; it is our own copy
    pooch.get_logger().setLevel("ERROR")
    shelf = pooch.create(
        path.parent, base_url, registry={path.name: None}, urls={path.name: address}, retry_if_failed=_RETRIES
    )
    try:
        return Path(shelf.fetch(path.name, downloader=fetch))
    except RequestException as error:
        raise RunFailed(
            f"{address} could not be downloaded ({type(error).__name__}); try again, name a mirror with --base-url, or "
            "give a folder of the nine files with --texts"
        ) from error


def read_text(path: Path, where: str = "") -> str:
    """A UTF-8 file, with or without a byte order mark, its lines ended by a line feed.

    Args:
        path: of the file.
        where: how errors name it; the path if empty.

    Raises:
        BadInput: another encoding; the message names the byte and where it stands.
    """
    where = where or str(path)
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{where}: byte 0x{content[error.start]:02x} at offset {error.start} is no UTF-8; save the file as UTF-8"
        ) from None
    if "\0" in text:
        raise BadInput(
            f"{where}: byte 0x00 at offset {content.index(0)}; a text in UTF-8 is expected, is it UTF-16 or binary?"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")
