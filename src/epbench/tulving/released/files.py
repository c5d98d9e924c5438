"""The files of a published archive, from a folder or straight from a zip, which is never unpacked.

Whatever an archive holds, reading it takes no more than the limits below: a zip of a few kilobytes can unfold to
gigabytes, and its headers can name any size.
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
from pathlib import Path, PurePosixPath
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import kind_named, kind_of, parse_json, shown
from epbench.hub.rows import bounded_rows, parquet_errors

# The largest published book has about 6 MB of text; its largest table has 686 rows, and our own largest 35,000.
MAX_FILE_BYTES = 64 * 2**20
MAX_ROWS = 1_000_000
MAX_TABLE_BYTES = 256 * 2**20
# The whole published archive has some 100,000 files, whose names take about 200 bytes each.
MAX_FILES = 1_000_000
MAX_LISTING_BYTES = 256 * 2**20
MAX_NAME_BYTES = 255  # of a file or folder, as on Linux, macOS and Windows; results get names of the archive

_DAMAGED = (  # all that zipfile and its decompressors raise; RuntimeError is for encrypted and unsupported entries
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, RuntimeError, ValueError,
    OverflowError, MemoryError,
)  # fmt: skip
_UNUSABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


class Files:
    """Read access by relative path, such as `Udefault_Sdefault_seed0/events.json`."""

    def __init__(self, source: Path) -> None:
        """
        Args:
            source: folder, or zip.

        Raises:
            BadInput: there is no such file or folder, it is not a zip or a damaged one, it has too many entries, or an
                entry's name is not the relative path of a file.
        """
        self.source = source
        self._zip: zipfile.ZipFile | None = None
        self._twice: set[str] = set()
        if source.is_dir():
            found = [path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()]
            for path in found:
                _check_name(source, path)
            self.paths = sorted(path for path in found if not _of_the_system(path))
            return
        if not source.is_file():
            raise BadInput(f"{source}: no such folder or zip")
        self._zip = _opened(source)
        entries = [info.filename for info in self._zip.infolist() if not info.is_dir()]
        for path in entries:
            _check_name(source, path)
        self.paths = sorted({path for path in entries if not _of_the_system(path)})
        self._twice = {path for path, n in Counter(entries).items() if n > 1}

    def where(self, path: str) -> str:
        """How to name a file in a message."""
        return f"{self.source}/{path}" if self._zip is None else f"{self.source}, entry {path}"

    def __contains__(self, path: str) -> bool:
        at = bisect_left(self.paths, path)
        return at < len(self.paths) and self.paths[at] == path

    def below(self, folder: str) -> list[str]:
        """Paths of the files in a folder and in its folders, without the folder's own path."""
        start = f"{folder}/"
        first, end = bisect_left(self.paths, start), bisect_left(self.paths, f"{folder}0")  # "0" follows "/"
        return [path.removeprefix(start) for path in self.paths[first:end]]

    def read(self, path: str) -> bytes:
        """Content of a file.

        Raises:
            BadInput: it is missing, is there twice, is larger than `MAX_FILE_BYTES`, or cannot be read.
        """
        if path in self._twice:
            raise BadInput(
                f"{self.where(path)}: two entries of this name found, one expected; download the archive again"
            )
        try:
            content = self._start_of(path, MAX_FILE_BYTES + 1)
        except (KeyError, FileNotFoundError):
            raise BadInput(f"{self.where(path)}: the file is missing") from None
        except _DAMAGED as error:
            reason = str(error) or type(error).__name__
            raise BadInput(f"{self.where(path)}: damaged ({reason}); download the archive again") from None
        if len(content) > MAX_FILE_BYTES:
            raise BadInput(f"{self.where(path)}: more than {MAX_FILE_BYTES:,} bytes found, at most so many expected")
        return content

    def _start_of(self, path: str, n: int) -> bytes:
        """The first n bytes. The size in an entry's header is not asked: it may be wrong."""
        if self._zip is None:
            with (self.source / path).open("rb") as file:
                return file.read(n)
        with self._zip.open(path) as entry:
            return entry.read(n)

    def json(self, path: str, expected: type[Any]) -> Any:
        """A JSON file whose value is of the expected type.

        Raises:
            BadInput: as `read`, and for a file that is not JSON or has another type.
        """
        content = self.read(path)
        try:
            value = parse_json(content)
        except ValueError as error:
            raise BadInput(f"{self.where(path)}: no JSON, or truncated ({error})") from None
        if not isinstance(value, expected):
            raise BadInput(f"{self.where(path)}: {kind_of(value)} found, {kind_named(expected)} expected")
        return value

    def table(self, path: str, columns: Mapping[str, Sequence[type]]) -> list[dict[str, Any]]:
        """Rows of a Parquet file that has these columns, each with values of one of its types; no list holds a null.

        Raises:
            BadInput: as `read`, and for no Parquet, a missing column or a value of another type.
        """
        import pyarrow.parquet as pq

        where, content = self.where(path), io.BytesIO(self.read(path))
        try:
            file = pq.ParquetFile(content)
            names = file.schema_arrow.names
        except parquet_errors() as error:
            first_line = str(error).partition("\n")[0]
            raise BadInput(f"{where}: no Parquet, or truncated ({first_line})") from None
        for column in columns:
            if names.count(column) != 1:
                found = f"stands there {names.count(column)} times, once expected" if column in names else "is missing"
                raise BadInput(f"{where}: column {column!r} {found}")
        rows = list(bounded_rows(file, where, columns=list(columns), max_rows=MAX_ROWS, max_bytes=MAX_TABLE_BYTES))
        for column, expected in columns.items():
            for number, row in enumerate(rows):
                value = row[column]
                if type(value) not in expected or (isinstance(value, list) and None in value):
                    kinds = " or ".join(map(kind_named, expected))
                    raise BadInput(f"{where}, row {number}, field {column!r}: {shown(value)} found, {kinds} expected")
        return rows


class _Listed(io.FileIO):
    """A zip whose list of entries, which `zipfile` reads at once, must not be larger than the limit."""

    def read(self, size: int | None = -1, /) -> bytes:  # type: ignore[override]
        if size is not None and size > MAX_LISTING_BYTES:
            raise zipfile.BadZipFile(f"its list of entries has more than {MAX_LISTING_BYTES:,} bytes")
        return super().read(-1 if size is None else size) or b""


def _opened(source: Path) -> zipfile.ZipFile:
    """
    Raises:
        BadInput: it is not a zip, or has too many entries.
    """
    try:
        archive = zipfile.ZipFile(_Listed(source))  # type: ignore[arg-type]
    except _DAMAGED as error:
        raise BadInput(f"{source}: no zip, or a truncated one ({error}); download it again") from None
    if (n := len(archive.infolist())) > MAX_FILES:
        raise BadInput(f"{source}: {n:,} entries found, at most {MAX_FILES:,} expected")
    return archive


def _check_name(source: Path, path: str) -> None:
    """
    Raises:
        BadInput: an entry's name climbs out of the folder, or is no name that a file can have everywhere.
    """
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\\" in path or ":" in path[:3]:
        raise BadInput(f"{source}: the entry {shown(path)} climbs out of the folder; the archive is not to be trusted")
    longest = max((len(part.encode("utf-8", "replace")) for part in path.split("/")), default=0)
    if longest > MAX_NAME_BYTES or _UNUSABLE.search(path):
        raise BadInput(
            f"{source}: the entry {shown(path)} has a name that no file can have everywhere: names of at most "
            f"{MAX_NAME_BYTES} bytes without control characters and half surrogate pairs are expected"
        )


def _of_the_system(path: str) -> bool:
    """Whether a file was left by an operating system or an editor (`__MACOSX/…`, `._book.json`, `.DS_Store`)."""
    return any(part == "__MACOSX" or part.startswith(".") for part in PurePosixPath(path).parts)
