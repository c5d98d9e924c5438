"""What became of each question of a run, as its scores count it: one JSON object a line, for comparing runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.runs.folder import write_text

OUTCOMES = "outcomes.jsonl"


def write_outcomes(folder: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write a run's `outcomes.jsonl` anew; it is made from the journals, as the scores are."""
    lines = [json.dumps(dict(record), ensure_ascii=False, allow_nan=False) + "\n" for record in records]
    write_text(folder / OUTCOMES, "".join(lines))


def read_outcomes(folder: Path, fields: Mapping[str, tuple[type, ...]]) -> list[dict[str, Any]]:
    """The records of a run's `outcomes.jsonl`.

    Args:
        folder: of the run.
        fields: that each record must have, with the types of their values.

    Raises:
        BadInput: there is no such file, or a line is not as it should be.
    """
    path = folder / OUTCOMES
    if not path.is_file():
        raise BadInput(
            f"{folder} has no {OUTCOMES}; start the run again with the same command to write it, nothing is asked twice"
        )
    records = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except ValueError as error:
            raise BadInput(f"{where}: a JSON object expected ({error})") from None
        if not isinstance(record, dict) or record.keys() != fields.keys():
            raise BadInput(f"{where}: an object with {', '.join(fields)} expected, {line[:80]} found")
        for field, types in fields.items():
            if not isinstance(record[field], types):
                names = " or ".join("null" if type_ is type(None) else type_.__name__ for type_ in types)
                raise BadInput(f"{where}, field {field!r}: {record[field]!r} found, {names} expected")
        records.append(record)
    return records
