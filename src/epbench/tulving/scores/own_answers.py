"""Answers of one's own: a JSONL file of {"id", "answer"}."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from epbench.errors import BadInput
from epbench.files.text import parse_json, shown

EMPTY = "empty answer"
"""The reason of the failure that an empty answer is: a system that says nothing has not said that nothing happened."""


MAX_ANSWER = 1_000_000
"""Characters of an answer. A whole chapter, the longest true item, has some 10,000."""

MAX_LINE_BYTES = 8 * MAX_ANSWER  # an answer whose characters are all escaped (six bytes each), and its id


def is_empty(answer: str) -> bool:
    """Whether an answer holds nothing but white space."""
    return not answer.strip()


def check_length(where: str, answer: str) -> None:
    """Refuse an answer that is longer than any book.

    Raises:
        BadInput: it has more than `MAX_ANSWER` characters.
    """
    if len(answer) > MAX_ANSWER:
        raise BadInput(f"{where}: {len(answer):,} characters found, at most {MAX_ANSWER:,} expected")


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
            record = parse_json(line)
        except ValueError as error:
            raise BadInput(f"{where}: no JSON in UTF-8 ({error})") from None
        if not isinstance(record, dict):
            raise BadInput(f"{where}: {type(record).__name__} found, an object with id and answer expected")
        for field in ("id", "answer"):
            if not isinstance(record.get(field), str):
                raise BadInput(f"{where}, field {field!r}: {shown(record.get(field))} found, a text expected")
        if record["id"] not in known:
            raise BadInput(f"{where}, field 'id': {shown(record['id'])} is the id of no question of this dataset")
        if record["id"] in answers:
            raise BadInput(f"{where}, field 'id': {shown(record['id'])} stands there twice, one answer expected")
        check_length(f"{where}, field 'answer'", record["answer"])
        answers[record["id"]] = record["answer"]
    if not answers:
        raise BadInput(f"{path}: no answers in it")
    return answers


def _lines(path: Path) -> Iterator[bytes]:
    """Cut at line feeds alone: a JSON text may hold the other characters that Python takes for ends of lines.

    Raises:
        BadInput: a line has more than `MAX_LINE_BYTES`; no more than that is read of it.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise BadInput(
                    f"{path}, line {number}: more than {MAX_LINE_BYTES:,} bytes found, at most so many expected of an "
                    f"answer of up to {MAX_ANSWER:,} characters"
                )
            yield line.rstrip(b"\n")
