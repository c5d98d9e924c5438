"""The outcome of each question of a run, as its scores count it: one JSON object per line, for comparing runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.shapes import Shape, check
from epbench.files.text import parse_json, shown
from epbench.files.writing import write_text

OUTCOMES = "outcomes.jsonl"


def write_outcomes(folder: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write `outcomes.jsonl` of a run; like the scores, it is computed from the journals each time."""
    lines = [json.dumps(dict(record), ensure_ascii=False, allow_nan=False) + "\n" for record in records]
    write_text(folder / OUTCOMES, "".join(lines))


def read_outcomes(
    folder: Path, fields: Mapping[str, tuple[type, ...]], more: Mapping[str, tuple[type, ...]] | None = None
) -> list[dict[str, Any]]:
    """Read `outcomes.jsonl` of a run.

    Args:
        folder: The run's folder.
        fields: The fields that each record has, with the types of their values.
        more: The fields that it may also have; no others.

    Raises:
        BadInput: There is no such file, or a line does not have these fields.
    """
    path = folder / OUTCOMES
    if not path.is_file():
        raise BadInput(
            f"{folder} has no {OUTCOMES}; start the run again with the same command, which writes it and asks nothing twice"
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: expected a file of JSON lines that can be read ({error.strerror})") from None
    shape = Shape(fields, more or {})
    records = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line:
            continue
        where = f"{path}, line {number}"
        try:
            record = parse_json(line)
        except ValueError as error:
            raise BadInput(f"{where}: expected a JSON object ({error})") from None
        if not isinstance(record, dict) or not fields.keys() <= record.keys() <= fields.keys() | shape.optional.keys():
            raise BadInput(f"{where}: expected an object with {', '.join(fields)}, found {shown(record)}")
        check(where, record, shape)
        records.append(record)
    return records
