"""An append-only file of records, one JSON object per line, that survives `kill -9` at any byte.

`read_journal` reads and changes nothing, so that a run can be read while it goes on. `Journal` writes; its owner holds the
lock of the run's folder (`epbench.runs.folder.open_run`).
"""

from __future__ import annotations

import errno
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from epbench.errors import BadInput, RunFailed
from epbench.files.secrets import scrubbed
from epbench.files.shapes import Shape, check
from epbench.files.text import parse_json
from epbench.runs.shapes import JOURNALS

Record = dict[str, Any]

RETIRED = "the question was asked anew with another prompt"
"""The failure of an answer that the answer to another prompt of the same question has replaced."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def read_journal(path: Path, shape: Shape | None = None) -> dict[str, Record]:
    """Read the records of a journal by key; of several records with one key, the last one counts.

    Nothing is written. A last line without its end is left out: it is being written, or its writer was killed.

    Args:
        path: The journal; it need not exist.
        shape: The shape of its records; None for that of the file's name, see `epbench.runs.shapes.JOURNALS`.

    Returns:
        The records in the order in which their keys first appear; none if there is no such file.

    Raises:
        BadInput: A line before the last is not a record, or has a field of another type, because the file was edited or
            is not a journal.
    """
    return _read(path, shape)[0]


class Journal:
    """Records by key; the last one of a key counts.

    A line is written in one call and ends in a newline, so only the last record can be torn. It is removed when the next
    record is added, and its work is done again.
    """

    def __init__(self, path: Path, shape: Shape | None = None) -> None:
        """Read the file, or make an empty one; it is opened for writing by the first `add`.

        Args:
            path: The journal.
            shape: As in `read_journal`.

        Raises:
            BadInput: As in `read_journal`.
        """
        self.path = path
        path.touch()
        self.records, self._whole, self._length = _read(path, shape)
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()

    def add(self, key: str, **values: Any) -> None:
        """Append one record, which is in the file when this returns. Several threads may add records.

        Half a surrogate pair, which some endpoints send and UTF-8 cannot hold, becomes U+FFFD. The secrets that this
        process knows become `***` in all values but the key and the id, which other files name.

        Raises:
            OSError: The record could not be written in full, for example because the disk is full; the file then ends with
                the record before.
            RunFailed: Another process has written to the file since it was read.
        """
        kept = {name: values[name] for name in ("id",) if name in values}
        record = {"key": key, **scrubbed(values), **kept}
        line = _LONE_SURROGATE.sub("\ufffd", json.dumps(record, ensure_ascii=False))
        with self._lock:
            self._append(line.encode() + b"\n")
            self.records[key] = json.loads(line)

    def _append(self, data: bytes) -> None:
        file = self._file or self._open()
        try:
            written = file.write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        if written != len(data):
            file.truncate(self._whole)
            reason = f"{written} of {len(data)} bytes of a record could be written; is the disk full?"
            raise OSError(errno.ENOSPC, reason, str(self.path))
        self._whole += len(data)

    def done(self, key: str) -> bool:
        """Whether the key has a record that is not a failure; the next start tries failures again."""
        record = self.records.get(key)
        return record is not None and record.get("failure") is None

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records.values())

    def close(self) -> None:
        """Close the file. All added records are already in it."""
        if self._file is not None:
            self._file.close()

    def _open(self) -> BinaryIO:
        """The file, without a torn last line."""
        self._file = file = self.path.open("ab", buffering=0)  # type: ignore[assignment]
        assert file is not None
        length = file.seek(0, 2)
        if length != self._length:
            file.close()
            self._file = None
            raise RunFailed(
                f"{self.path}: another process is writing to it: {self._length:,} bytes were read and there are "
                f"{length:,} now; wait for that process to end and start again"
            )
        file.truncate(self._whole)
        return file


def _read(path: Path, shape: Shape | None) -> tuple[dict[str, Record], int, int]:
    """(records by key, bytes of the whole lines, bytes of the file)."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise BadInput(f"{path}: expected a file of JSON lines that can be read ({error.strerror})") from None
    whole = content.rfind(b"\n") + 1
    shape = shape or JOURNALS.get(path.name)
    records: dict[str, Record] = {}
    for number, line in enumerate(content[:whole].split(b"\n")[:-1], 1):
        record = _record(f"{path}, line {number}", line, shape)
        records[record["key"]] = record
    return records, whole, len(content)


def _record(where: str, line: bytes, shape: Shape | None) -> Record:
    """Parse a line.

    Raises:
        BadInput: The line is not a JSON object with a key, or does not have this shape.
    """
    try:
        record = parse_json(line)
    except ValueError as error:
        raise BadInput(f"{where}: expected a JSON object with a key ({error})") from None
    if not isinstance(record, dict) or not isinstance(record.get("key"), str):
        raise BadInput(f"{where}: expected a JSON object with a key, found {line[:60].decode('utf-8', 'replace')!r}")
    if shape is not None:
        check(where, record, shape)
    return record
