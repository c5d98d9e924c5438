"""The files of a published archive, from a folder or straight from a zip, which is never unpacked.

Reading stays within the limits below, whatever the archive holds: a zip of a few kilobytes can unpack to gigabytes,
and its headers can claim any size.
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
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct, structs

from epbench.errors import BadInput
from epbench.files.text import parse_json, shown
from epbench.files.typed import T, typed
from epbench.hub.rows import bounded_rows, check_rows, parquet_errors

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
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    OverflowError,
    MemoryError,
)
_UNUSABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


class Files:
    """Read access by relative path, such as `Udefault_Sdefault_seed0/events.json`."""

    def __init__(self, source: Path) -> None:
        """List the files of a folder or a zip.

        Raises:
            BadInput: The file or folder does not exist, the file is not a zip or is damaged, the zip has too many
                entries, or the name of an entry is not the relative path of a file.
        """
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
        try:
            content = self._start_of(path, MAX_FILE_BYTES + 1)
        except (KeyError, FileNotFoundError):
            raise BadInput(f"{self.where(path)}: the file is missing") from None
        except _DAMAGED as error:
            reason = str(error) or type(error).__name__
            raise BadInput(f"{self.where(path)}: damaged ({reason}); download the archive again") from None
        if len(content) > MAX_FILE_BYTES:
            raise BadInput(f"{self.where(path)}: expected at most {MAX_FILE_BYTES:,} bytes, found more")
        return content

    def _start_of(self, path: str, n: int) -> bytes:
        """The first n bytes. The size in an entry's header is ignored, since it may be wrong."""
        if self._zip is None:
            with (self.source / path).open("rb") as file:
                return file.read(n)
        with self._zip.open(path) as entry:
            return entry.read(n)

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
    """Open a zip that has no more entries than allowed."""
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
