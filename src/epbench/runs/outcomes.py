"""What became of each question of a run, as its scores count it: one JSON object a line, for comparing runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import parse_json, shown
from epbench.runs.folder import write_text
from epbench.runs.shapes import Shape, check

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
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: expected a file of JSON lines that can be read ({error.strerror})") from None
    shape = Shape(fields)
    records = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line:
            continue
        where = f"{path}, line {number}"
        try:
            record = parse_json(line)
        except ValueError as error:
            raise BadInput(f"{where}: a JSON object expected ({error})") from None
        if not isinstance(record, dict) or record.keys() != fields.keys():
            raise BadInput(f"{where}: an object with {', '.join(fields)} expected, {shown(record)} found")
        check(where, record, shape)
        records.append(record)
    return records
