"""The files of a published archive, from a folder or straight from a zip, which is never unpacked."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

from epbench.errors import BadInput


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
            self.paths = sorted(path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file())
            return
        if not source.is_file():
            raise BadInput(f"{source}: no such folder or zip")
        try:
            self._zip = zipfile.ZipFile(source)
        except zipfile.BadZipFile as error:
            raise BadInput(f"{source}: no zip, or a truncated one ({error}); download it again") from None
        self.paths = sorted(info.filename for info in self._zip.infolist() if not info.is_dir())
        for path in self.paths:
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

    def read(self, path: str) -> bytes:
        """Content of a file.

        Raises:
            BadInput: it is missing, or damaged in the zip.
        """
        try:
            return self._zip.read(path) if self._zip else (self.source / path).read_bytes()
        except (KeyError, FileNotFoundError):
            raise BadInput(f"{self.where(path)}: the file is missing") from None
        except (zipfile.BadZipFile, EOFError, OSError) as error:
            raise BadInput(f"{self.where(path)}: damaged ({error}); download the archive again") from None

    def json(self, path: str, expected: type[Any]) -> Any:
        """A JSON file whose value is of the expected type.

        Raises:
            BadInput: as `read`, and for no JSON or another type.
        """
        try:
            value = json.loads(self.read(path))
        except ValueError as error:
            raise BadInput(f"{self.where(path)}: no JSON, or truncated ({error})") from None
        if not isinstance(value, expected):
            raise BadInput(f"{self.where(path)}: {type(value).__name__} found, {expected.__name__} expected")
        return value

    def table(self, path: str, columns: Iterable[str]) -> list[dict[str, Any]]:
        """Rows of a Parquet file that has these columns.

        Raises:
            BadInput: as `read`, and for no Parquet or a missing column.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(io.BytesIO(self.read(path)))
        except pa.ArrowException as error:
            raise BadInput(f"{self.where(path)}: no Parquet, or truncated ({str(error).splitlines()[0]})") from None
        for column in columns:
            if column not in table.column_names:
                raise BadInput(f"{self.where(path)}: column {column!r} is missing")
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows
