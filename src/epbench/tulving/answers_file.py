"""Answers of one's own: a JSONL file of {"id", "answer"}."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from epbench.errors import BadInput

EMPTY = "empty answer"
"""The reason of the failure that an empty answer is: a system that says nothing has not said that nothing happened."""


def is_empty(answer: str) -> bool:
    """Whether an answer holds nothing but white space."""
    return not answer.strip()


def read_answers(path: Path, ids: Collection[str]) -> dict[str, str]:
    """Answers by question id.

    Args:
        path: UTF-8, one JSON object a line; other fields are ignored. An answer may be empty; see `is_empty`.
        ids: of the questions that may be answered.

    Raises:
        BadInput: no such file, a line that is no such object, an unknown id, or an id that stands there twice.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; a JSONL file of {{'id': …, 'answer': …}} is expected")
    known = frozenset(ids)
    answers: dict[str, str] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except ValueError as error:
            raise BadInput(f"{where}: no JSON ({error})") from None
        if not isinstance(record, dict):
            raise BadInput(f"{where}: {type(record).__name__} found, an object with id and answer expected")
        for field in ("id", "answer"):
            if not isinstance(record.get(field), str):
                raise BadInput(f"{where}, field {field!r}: {record.get(field)!r} found, a text expected")
        if record["id"] not in known:
            raise BadInput(f"{where}, field 'id': {record['id']!r} is the id of no question of this dataset")
        if record["id"] in answers:
            raise BadInput(f"{where}, field 'id': {record['id']!r} stands there twice, one answer expected")
        answers[record["id"]] = record["answer"]
    if not answers:
        raise BadInput(f"{path}: no answers in it")
    return answers


def _lines(path: Path) -> list[str]:
    """Cut at line feeds alone: a JSON text may hold the other characters that Python takes for ends of lines."""
    try:
        return path.read_text("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: no UTF-8 ({error})") from None
