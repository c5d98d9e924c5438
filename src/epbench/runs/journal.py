"""An append-only file of records, one JSON object a line, that survives `kill -9` at any byte.

`read_journal` reads and changes nothing, so that anybody may look at a run while it goes on. `Journal` writes; whoever
writes holds the lock of the run's folder (`epbench.runs.folder.open_run`).
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

Record = dict[str, Any]

RETIRED = "the question was asked anew with another prompt"
"""The failure of an answer whose place the answer to another prompt of the same question takes."""

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def read_journal(path: Path) -> dict[str, Record]:
    """The records of a journal by key; of several with one key the last.

    Nothing is written. A last line without its end is left out: it is being written, or its writer was killed.

    Returns:
        The records in the order in which their keys first came; nothing where there is no such file.

    Raises:
        BadInput: a line before the last is no record; the file was edited or is no journal.
    """
    return _read(path)[0]


class Journal:
    """Records by key; the last one of a key counts.

    A line is written in one call and ends in a newline, so that a torn record can only be the last. It is cut off by
    the first record that is added, and its work is done again.
    """

    def __init__(self, path: Path) -> None:
        """Read what the file has; it is made if it is not there, and opened for writing by the first `add`.

        Raises:
            BadInput: a line before the last is no record; the file was edited or is no journal.
        """
        self.path = path
        path.touch()
        self.records, self._whole, self._length = _read(path)
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()

    def add(self, key: str, **values: Any) -> None:
        """Append one record; it is in the file when this returns. Several threads may do so.

        Half a surrogate pair, which some endpoints send and UTF-8 cannot hold, becomes U+FFFD.

        Raises:
            OSError: the record could not be written whole, for example because the disk is full; the file then ends
                with the record before.
            RunFailed: another process has written to the file since it was read.
        """
        record = {"key": key, **values}
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
        """Whether there is a record of that key that is no failure; failures are tried again by the next start."""
        record = self.records.get(key)
        return record is not None and record.get("failure") is None

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records.values())

    def close(self) -> None:
        """Close the file; records that were added are in it anyway."""
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


def _read(path: Path) -> tuple[dict[str, Record], int, int]:
    """(records by key, bytes of the whole lines, bytes of the file)."""
    content = path.read_bytes() if path.exists() else b""
    whole = content.rfind(b"\n") + 1
    records: dict[str, Record] = {}
    for number, line in enumerate(content[:whole].split(b"\n")[:-1], 1):
        record = _record(path, number, line)
        records[record["key"]] = record
    return records, whole, len(content)


def _record(path: Path, number: int, line: bytes) -> Record:
    """
    Raises:
        BadInput: the line is no JSON object with a key.
    """
    where = f"{path}, line {number}"
    try:
        record = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{where}: expected a JSON object with a key ({error})") from None
    if not isinstance(record, dict) or not isinstance(record.get("key"), str):
        raise BadInput(f"{where}: expected a JSON object with a key, found {line[:60].decode('utf-8', 'replace')!r}")
    return record
