"""The files of a published archive, from a folder or straight from a zip, which is never unpacked."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import NoneType
from typing import Any

from epbench.errors import BadInput

_KINDS: dict[type, str] = {
    str: "a text", list: "a list", dict: "an object", int: "a whole number", float: "a number", bool: "true or false",
    NoneType: "null",
}  # fmt: skip


def kind_of(value: Any) -> str:
    """How a message names the type of a JSON or Parquet value."""
    return _KINDS.get(type(value), type(value).__name__)


class Files:
    """Read access by relative path, such as `Udefault_Sdefault_seed0/events.json`."""

    def __init__(self, source: Path) -> None:
        """
        Args:
            source: folder, or zip.

        Raises:
            BadInput: there is no such thing, no zip, a truncated one, or an entry that climbs out of the folder.
        """
        self.source = source
        self._zip: zipfile.ZipFile | None = None
        if source.is_dir():
            found = [path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()]
            self.paths = sorted(path for path in found if not _of_the_system(path))
            return
        if not source.is_file():
            raise BadInput(f"{source}: no such folder or zip")
        try:
            self._zip = zipfile.ZipFile(source)
        except zipfile.BadZipFile as error:
            raise BadInput(f"{source}: no zip, or a truncated one ({error}); download it again") from None
        entries = [info.filename for info in self._zip.infolist() if not info.is_dir()]
        self.paths = sorted(path for path in entries if not _of_the_system(path))
        for path in entries:
            if (
                PurePosixPath(path).is_absolute()
                or ".." in PurePosixPath(path).parts
                or "\\" in path
                or ":" in path[:3]
            ):
                raise BadInput(
                    f"{source}: the entry {path!r} climbs out of the folder; the archive is not to be trusted"
                )

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
            BadInput: it is missing, or damaged in the zip.
        """
        try:
            return self._zip.read(path) if self._zip else (self.source / path).read_bytes()
        except (KeyError, FileNotFoundError):
            raise BadInput(f"{self.where(path)}: the file is missing") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:  # RuntimeError: encrypted
            raise BadInput(f"{self.where(path)}: damaged ({error}); download the archive again") from None

    def json(self, path: str, expected: type[Any]) -> Any:
        """A JSON file whose value is of the expected type.

        Raises:
            BadInput: as `read`, and for no JSON or another type.
        """
        content = self.read(path)
        try:
            value = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{self.where(path)}: no JSON, or truncated ({error})") from None
        if not isinstance(value, expected):
            raise BadInput(f"{self.where(path)}: {kind_of(value)} found, {_KINDS[expected]} expected")
        return value

    def table(self, path: str, columns: Mapping[str, Sequence[type]]) -> list[dict[str, Any]]:
        """Rows of a Parquet file that has these columns, each with values of one of its types; no list holds a null.

        Raises:
            BadInput: as `read`, and for no Parquet, a missing column or a value of another type.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        content = io.BytesIO(self.read(path))
        try:
            table = pq.read_table(content)
            rows: list[dict[str, Any]] = table.to_pylist()
        except (pa.ArrowException, OSError, ValueError) as error:
            first_line = str(error).partition("\n")[0]
            raise BadInput(f"{self.where(path)}: no Parquet, or truncated ({first_line})") from None
        for column, expected in columns.items():
            if column not in table.column_names:
                raise BadInput(f"{self.where(path)}: column {column!r} is missing")
            for number, row in enumerate(rows):
                value = row[column]
                if type(value) not in expected or (isinstance(value, list) and None in value):
                    kinds = " or ".join(_KINDS[kind] for kind in expected)
                    raise BadInput(
                        f"{self.where(path)}, row {number}, field {column!r}: {value!r} found, {kinds} expected"
                    )
        return rows


def _of_the_system(path: str) -> bool:
    """Whether a file was left by an operating system or an editor (`__MACOSX/…`, `._book.json`, `.DS_Store`)."""
    return any(part == "__MACOSX" or part.startswith(".") for part in PurePosixPath(path).parts)
