"""A user's own answers: a JSONL file of {"id", "answer"}."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from epbench.errors import BadInput
from epbench.files.text import kind_of, parse_json, shown

EMPTY = "empty answer"
"""Why an empty answer counts as a failure: a system that says nothing has not said that nothing happened."""

MAX_ANSWER = 1_000_000
"""The most characters of an answer. A whole chapter, the longest true item, has about 10,000."""

MAX_LINE_BYTES = 8 * MAX_ANSWER  # an answer whose characters are all escaped (six bytes each), and its id


def is_empty(answer: str) -> bool:
    """Whether an answer is empty, or only white space."""
    return not answer.strip()


def check_length(where: str, answer: str) -> None:
    """Refuse an answer that is longer than any book.

    Raises:
        BadInput: The answer has more than `MAX_ANSWER` characters.
    """
    if len(answer) > MAX_ANSWER:
        raise BadInput(f"{where}: expected at most {MAX_ANSWER:,} characters, found {len(answer):,}")


def read_answers(path: Path, ids: Collection[str]) -> dict[str, str]:
    """Read answers by the id of the question.

    Args:
        path: A file in UTF-8 with one JSON object per line; fields other than id and answer are ignored. An answer may be
            empty; see `is_empty`.
        ids: The ids of the questions that may be answered.

    Raises:
        BadInput: There is no such file, a line is not such an object, or an id is unknown or occurs twice.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; expected a JSONL file of {{'id': …, 'answer': …}}")
    known = frozenset(ids)
    answers: dict[str, str] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = parse_json(line)
        except ValueError as error:
            raise BadInput(f"{where}: expected JSON in UTF-8 ({error})") from None
        if not isinstance(record, dict):
            raise BadInput(f"{where}: expected an object with id and answer, found {kind_of(record)}")
        for field in ("id", "answer"):
            if not isinstance(record.get(field), str):
                raise BadInput(f"{where}, field {field!r}: expected a text, found {shown(record.get(field))}")
        if record["id"] not in known:
            raise BadInput(f"{where}, field 'id': no question of this dataset has the id {shown(record['id'])}")
        if record["id"] in answers:
            raise BadInput(f"{where}, field 'id': {shown(record['id'])} is answered twice; expected one answer")
        check_length(f"{where}, field 'answer'", record["answer"])
        answers[record["id"]] = record["answer"]
    if not answers:
        raise BadInput(f"{path}: expected answers, found none")
    return answers


def _lines(path: Path) -> Iterator[bytes]:
    """Split the file at line feeds only, as JSON may hold the other characters that Python takes for ends of lines.

    Raises:
        BadInput: A line has more than `MAX_LINE_BYTES` bytes; no more than that is read.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise BadInput(
                    f"{path}, line {number}: expected at most {MAX_LINE_BYTES:,} bytes, enough for an answer of "
                    f"{MAX_ANSWER:,} characters, found more"
                )
            yield line.rstrip(b"\n")
