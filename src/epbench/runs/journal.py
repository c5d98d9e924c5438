"""An append-only file of records, one JSON object a line, that survives `kill -9` at any byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from epbench.errors import BadInput

Record = dict[str, Any]


class Journal:
    """Records by key; the last one of a key counts.

    A line is written in one call and ends in a newline, so that a torn record can only be the last: it is cut off
    when the journal is opened again, and its work is done again.
    """

    def __init__(self, path: Path) -> None:
        """
        Raises:
            BadInput: a line before the last is no record; the file was edited or is no journal.
        """
        self.path = path
        self.records: dict[str, Record] = {}
        content = path.read_bytes() if path.exists() else b""
        whole = content.rfind(b"\n") + 1
        for number, line in enumerate(content[:whole].splitlines(), 1):
            self._read(line, number)
        self._file = path.open("ab", buffering=0)
        self._file.truncate(whole)

    def _read(self, line: bytes, number: int) -> None:
        try:
            record = json.loads(line)
            self.records[record["key"]] = record
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(f"{self.path}, line {number}: a JSON object with a key is expected ({error})") from None

    def add(self, key: str, **values: Any) -> None:
        """Append one record; it is in the file when this returns."""
        record = {"key": key, **values}
        self._file.write((json.dumps(record, ensure_ascii=False) + "\n").encode())
        self.records[key] = record

    def done(self, key: str) -> bool:
        """Whether there is a record of that key that is no failure; failures are tried again by the next start."""
        record = self.records.get(key)
        return record is not None and record.get("failure") is None

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records.values())

    def close(self) -> None:
        self._file.close()
