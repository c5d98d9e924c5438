"""The published data of the paper (figshare), in a folder or zip: which books it holds, and which runs on them.

`U<universe>_S<styles>_seed<n>/` is an experiment, with `events.json`, `meta_events.json`, `books/<book>/` (the text, its
chapters and its questions) and `answers/<book>/<run>/` (answers and verdicts by question number). The folder of a book
is named `model_<generator>_itermax_10_I<indexing>_nbchapters_<n>_nbtokens_<n>`, and that of a run says who answered, with
which memory. Only answers were published for the books sorted by date; their text and chapter numbers follow from the book
that they reorder. A folder below `answers/<book>/` is a run only if it holds `raw_answers`: the data for fine-tuning
(`ftuning_single.id`, `ftuning_single_<n>.jsonl`) lies there too, in a folder of its own.

A zip is never unpacked. Reading stays within the limits below, whatever the archive holds: a zip of a few kilobytes can unpack
to gigabytes, and its headers can claim any size.
"""

from __future__ import annotations

import io
import lzma
import re
import struct
import zipfile
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct, structs

from epbench.errors import BadInput
from epbench.files.text import parse_json, shown
from epbench.files.typed import T, typed
from epbench.hub.rows import bounded_rows, check_rows, parquet_errors
from epbench.tulving.dataset.build import Order, dataset_name

# The largest published book has about 6 MB of text; its largest table has 686 rows, and our own largest 35,000.
MAX_FILE_BYTES = 64 * 2**20
MAX_ROWS = 1_000_000
MAX_TABLE_BYTES = 256 * 2**20
# The whole published archive has about 100,000 files, with names of about 200 bytes.
MAX_FILES = 1_000_000
MAX_LISTING_BYTES = 256 * 2**20
MAX_NAME_BYTES = 255
"""Of a file or folder, as on Linux, macOS and Windows; folders of results take their names from the archive."""

_DAMAGED = (  # what zipfile and its decompressors raise; RuntimeError comes for encrypted and unsupported entries
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
    *(EOFError, OSError, RuntimeError, ValueError, OverflowError, MemoryError),
)
_UNUSABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


class Files:
    """Read access by relative path, such as `Udefault_Sdefault_seed0/events.json`."""

    def __init__(self, source: Path) -> None:
        """List the files of a folder or a zip; BadInput if it is missing, damaged or too large, or has an unusable name."""
        self.source = source
        self._zip: zipfile.ZipFile | None = None
        if source.is_dir():
            entries = [path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()]
        elif source.is_file():
            self._zip = _opened(source)
            entries = [info.filename for info in self._zip.infolist() if not info.is_dir()]
        else:
            raise BadInput(f"{source}: no such folder or zip")
        for path in entries:
            _check_name(source, path)
        self.paths = sorted({path for path in entries if not _of_the_system(path)})
        self._twice = {path for path, n in Counter(entries).items() if n > 1}

    def where(self, path: str) -> str:
        """How a message names a file."""
        return f"{self.source}/{path}" if self._zip is None else f"{self.source}, entry {path}"

    def __contains__(self, path: str) -> bool:
        at = bisect_left(self.paths, path)
        return at < len(self.paths) and self.paths[at] == path

    def below(self, folder: str) -> list[str]:
        """The paths of all files below a folder, relative to it."""
        start = f"{folder}/"
        first, end = bisect_left(self.paths, start), bisect_left(self.paths, f"{folder}0")  # "0" follows "/"
        return [path.removeprefix(start) for path in self.paths[first:end]]

    def read(self, path: str) -> bytes:
        """Return the content of a file; BadInput if it is missing, occurs twice, exceeds `MAX_FILE_BYTES` or is damaged."""
        if path in self._twice:
            raise BadInput(
                f"{self.where(path)}: found two entries of this name, expected one; download the archive again"
            )
        try:  # the size in an entry's header is ignored, since it may be wrong
            with self._zip.open(path) if self._zip else (self.source / path).open("rb") as file:
                content = file.read(MAX_FILE_BYTES + 1)
        except (KeyError, FileNotFoundError):
            raise BadInput(f"{self.where(path)}: the file is missing") from None
        except _DAMAGED as error:
            reason = str(error) or type(error).__name__
            raise BadInput(f"{self.where(path)}: damaged ({reason}); download the archive again") from None
        if len(content) > MAX_FILE_BYTES:
            raise BadInput(f"{self.where(path)}: expected at most {MAX_FILE_BYTES:,} bytes, found more")
        return content

    def json(self, path: str, kind: type[T]) -> T:
        """Return the value of a JSON file of this type (see `typed`); BadInput as for `read`, or if it is not one."""
        content = self.read(path)
        try:
            value = parse_json(content)
        except ValueError as error:
            raise BadInput(f"{self.where(path)}: not JSON, or truncated ({error})") from None
        return typed(self.where(path), value, kind)

    def table(self, path: str, kind: type[Struct]) -> list[dict[str, Any]]:
        """Return the rows of a Parquet file with the columns of a type of row; BadInput as for `read`, or if it is not one."""
        import pyarrow.parquet as pq

        where, content = self.where(path), io.BytesIO(self.read(path))
        columns = [field.encode_name for field in structs.fields(kind)]
        try:
            file = pq.ParquetFile(content)
            names = file.schema_arrow.names
        except parquet_errors() as error:
            first_line = str(error).partition("\n")[0]
            raise BadInput(f"{where}: not Parquet, or truncated ({first_line})") from None
        for column in columns:
            if (n := names.count(column)) != 1:
                fault = f"occurs {n} times, expected once" if n else "is missing"
                raise BadInput(f"{where}: column {column!r} {fault}")
        rows = list(bounded_rows(file, where, columns=columns, max_rows=MAX_ROWS, max_bytes=MAX_TABLE_BYTES))
        return list(check_rows(where, rows, kind)) if rows else []


class _Listed(io.FileIO):
    """A zip file that refuses to be read in one piece beyond the limit, as `zipfile` reads the list of entries."""

    def read(self, size: int | None = -1, /) -> bytes:  # type: ignore[override]
        if size is not None and size > MAX_LISTING_BYTES:
            raise zipfile.BadZipFile(f"its list of entries has more than {MAX_LISTING_BYTES:,} bytes")
        return super().read(-1 if size is None else size) or b""


def _opened(source: Path) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(_Listed(source))  # type: ignore[arg-type]
    except _DAMAGED as error:
        raise BadInput(f"{source}: not a zip, or truncated ({error}); download it again") from None
    if (n := len(archive.infolist())) > MAX_FILES:
        raise BadInput(f"{source}: expected at most {MAX_FILES:,} entries, found {n:,}")
    return archive


def _check_name(source: Path, path: str) -> None:
    """Refuse a name that points outside of the archive, or is not a valid file name on every system."""
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\\" in path or ":" in path[:3]:
        raise BadInput(f"{source}: the entry {shown(path)} points outside of the archive; do not trust this archive")
    longest = max((len(part.encode("utf-8", "replace")) for part in path.split("/")), default=0)
    if longest > MAX_NAME_BYTES or _UNUSABLE.search(path):
        raise BadInput(
            f"{source}: the entry {shown(path)} is not a valid file name on every system; expected names of at most "
            f"{MAX_NAME_BYTES} bytes without control characters and lone surrogates"
        )


def _of_the_system(path: str) -> bool:
    """Whether an operating system or an editor left this file (`__MACOSX/…`, `._book.json`, `.DS_Store`)."""
    return any(part == "__MACOSX" or part.startswith(".") for part in PurePosixPath(path).parts)


_EXPERIMENT = re.compile(r"U(?P<universe>[A-Za-z]+?)(?P<ordered>Ordered)?_S[A-Za-z]+_seed\d+")
_BOOK = re.compile(
    r"model_(?P<generator>.+)_itermax_\d+_I(?P<indexing>[A-Za-z]+)_nbchapters_(?P<chapters>\d+)_nbtokens_\d+"
)

_VERSION = re.compile(r"-\d{4}-?\d\d-?\d\d$")  # the date at the end of a model's name

_Key = tuple[str, str]  # path of an experiment, and name of a book's folder in it


@dataclass(frozen=True)
class ReleasedBook:
    """One published book."""

    root: str  # the path of its experiment's folder in the archive
    folder: str  # the name of its own folder
    base: str  # the path of the folder with its text and questions; for a reordered book, that of the original
    universe: str  # the name of its universe, as in the name of the experiment
    generator: str  # the model that wrote it
    n_chapters: int  # the number of chapters, as in the name of the folder
    order: Order  # `chronological` for a book sorted by date

    @property
    def book(self) -> str:
        """`short`, `long` or `very-long`, by the number of chapters."""
        return "short" if self.n_chapters < 100 else "long" if self.n_chapters < 1000 else "very-long"

    @property
    def name(self) -> str:
        """The name of the dataset that is made from it, such as `long-ordered`."""
        return dataset_name(self.book, self.universe, self.order)

    @property
    def experiment(self) -> str:
        """The path of the experiment that holds its text, its events and their layouts."""
        return self.base.rsplit("/books/", 1)[0]


@dataclass(frozen=True)
class Archive:
    """A published archive."""

    files: Files  # access to its files
    books: Sequence[ReleasedBook]  # all its books, sorted by path
    answers: Mapping[_Key, Mapping[str, bool]]  # the paths of each book's folders of answers, and whether each is a run

    def dataset_of(self, book: ReleasedBook) -> str:
        """Return the name of a book's dataset, which no other book of the archive has.

        If several models wrote a book of that kind, the name is that of the model with most books here, and the others'
        datasets are named after their models, without the date of the version: `long-gpt-4o`.
        """
        rivals = {other.generator for other in self.books if other.name == book.name}
        n_books = Counter(other.generator for other in self.books)
        if book.generator == min(rivals, key=lambda generator: (-n_books[generator], generator)):
            return book.name
        return f"{book.name}-{_VERSION.sub('', book.generator)}"

    def find_book(self, book: str, universe: str, order: Order, generator: str | None = None) -> ReleasedBook:
        """Return the one book of a kind, by any generator if none is given; BadInput lists the books unless just one fits."""
        same_kind = [b for b in self.books if (b.book, b.universe, b.order) == (book, universe, order)]
        fitting = [b for b in same_kind if generator in (None, b.generator)]
        if len(fitting) == 1:
            return fitting[0]
        source = self.files.source
        if not fitting:
            available = ", ".join(sorted({f"{b.name} by {b.generator}" for b in self.books}))
            by = f" by {generator}" if generator else ""
            raise BadInput(f"{source} has no {dataset_name(book, universe, order)}{by}; it has: {available}")
        generators = sorted({b.generator for b in fitting})
        if len(generators) > 1:
            raise BadInput(f"{source}: several books fit; choose one by its generator: {', '.join(generators)}")
        folders = ", ".join(sorted(f"{b.root}/{b.folder}" for b in fitting))
        raise BadInput(f"{source}: several books by {generators[0]} fit: {folders}")


def open_archive(source: Path) -> Archive:
    """List the books and runs of a folder or zip, at whatever depth; BadInput if it is missing, damaged, or holds no book."""
    files = Files(source)
    texts: dict[_Key, str] = {}  # the path of each book's folder
    answers: dict[_Key, dict[str, bool]] = {}
    for path in files.paths:
        parts = PurePosixPath(path).parts
        at = next((i for i, part in enumerate(parts) if _EXPERIMENT.fullmatch(part)), None)
        if at is None or len(parts) < at + 4 or not _BOOK.fullmatch(parts[at + 2]):
            continue
        key = ("/".join(parts[: at + 1]), parts[at + 2])
        if parts[at + 1] == "books":
            texts[key] = "/".join(parts[: at + 3])
        elif parts[at + 1] == "answers" and len(parts) > at + 4:
            folders, folder = answers.setdefault(key, {}), "/".join(parts[: at + 4])
            folders[folder] = folders.get(folder, False) or parts[at + 4] == "raw_answers"
    books = [_described(root, folder, texts) for root, folder in sorted({*texts, *answers})]
    if not books:
        raise BadInput(f"{source}: found no published book, expected folders U…_S…_seed…/books/model_…")
    return Archive(files, books, answers)


def _described(root: str, folder: str, texts: Mapping[_Key, str]) -> ReleasedBook:
    experiment, book = _EXPERIMENT.fullmatch(PurePosixPath(root).name), _BOOK.fullmatch(folder)
    assert experiment is not None and book is not None
    ordered = experiment["ordered"] is not None or book["indexing"] == "ordered"
    base = texts.get((root, folder)) or next(
        (
            path
            for (other_root, other), path in sorted(texts.items())
            if ordered
            and PurePosixPath(other_root).name == PurePosixPath(root).name.replace("Ordered", "")
            and (match := _BOOK.fullmatch(other)) is not None
            and (match["generator"], match["chapters"]) == (book["generator"], book["chapters"])
        ),
        f"{root}/books/{folder}",  # it is missing, which the error of whoever reads it says
    )
    about = experiment["universe"], book["generator"], int(book["chapters"])
    return ReleasedBook(root, folder, base, *about, order="chronological" if ordered else "narrative")


_RUN = re.compile(
    r"answered_by_kind_(?:prompting_model_(?P<prompted>.+)|rag_model_(?P<read>.+)_chunk_(?P<chunk>paragraph|chapter)_top\d+"
    r"|ftuning_model_(?P<tuned>.+?)(?:_fpolicy_.+)?)"
)
_WRITER = re.compile(r"model_(?P<writer>.+)_itermax_")


def reader_of(run: str) -> tuple[str, str]:
    """The memory, in our words, and the model in the name of a run's folder; for a trained model, the one that was trained.

    `answered_by_kind_rag_model_gpt-4o_chunk_chapter_top17` gives `rag-chapter` and `gpt-4o`. A name that the published code does
    not give is returned as the model, with an empty memory.
    """
    name = run.rsplit("/", 1)[-1]
    match = _RUN.fullmatch(name)
    if not match:
        return "", name
    if match["read"]:
        return f"rag-{match['chunk']}", match["read"]
    if match["prompted"]:
        return "in-context", match["prompted"]
    # A trained model of OpenAI is called ft:<model>:<owner>:…
    return "fine-tuned", match["tuned"].split(":")[1 if match["tuned"].startswith("ft:") else 0]


def writer_of(book: str) -> str | None:
    """The model that wrote a book, from the name of its folder in the archive; None if that names none."""
    match = _WRITER.match(book)
    return match["writer"] if match else None
