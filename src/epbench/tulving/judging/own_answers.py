"""Answers that come from elsewhere: a user's JSONL file of {"id", "answer"} or {"id", "failure"}, and a run's journal of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import parse_json, shown
from epbench.files.typed import fields, typed
from epbench.journals.answers import ANSWERS, fingerprint_of
from epbench.journals.journal import Journal
from epbench.judges.protocol import PEOPLE
from epbench.judges.replies import kind_of_reply
from epbench.models.protocol import Request

EMPTY = "empty answer"
"""The failure of an empty answer where every answer is given on purpose."""

UNKNOWN = "no reason given"
"""The failure of a question whose answer is null."""

MAX_ANSWER = 1_000_000
"""The most characters of an answer. A whole chapter, the longest true item, has about 10,000."""

MAX_LINE_BYTES = 8 * MAX_ANSWER  # an answer whose characters are all escaped (six bytes each), and its id

_LINE = fields({"id": str}, dict.fromkeys(("answer", "failure"), str | None), ("answer",), ("failure",))


@dataclass(frozen=True)
class OwnAnswers:
    """What somebody's system has said of some questions; to all others it has given no answer."""

    answers: dict[str, str] = field(default_factory=dict)  # answers by the id of the question; none of them is empty
    # Why there is no answer, by the id of the question: requests that failed, which say nothing about what the system
    # remembers
    failures: dict[str, str] = field(default_factory=dict)
    # Texts that only look like answers, such as `-`, by the id of the question; they count as no answer
    empty: dict[str, str] = field(default_factory=dict)
    by_people: bool = False  # whether people gave all of them

    @property
    def fingerprint(self) -> str:
        """A hash of all answers and failures, so that a run is continued only with the same ones."""
        return fingerprint_of({**self.answers, **self.empty, **({"": self.failures} if self.failures else {})})


def check_length(where: str, answer: str) -> None:
    """Refuse an answer of more than `MAX_ANSWER` characters, which is longer than any book."""
    if len(answer) > MAX_ANSWER:
        raise BadInput(f"{where}: expected at most {MAX_ANSWER:,} characters, found {len(answer):,}")


def read_answers(path: Path, ids: Collection[str]) -> OwnAnswers:
    """Read answers by the id of the question, which must be one of these.

    Each line of the file is a JSON object in UTF-8 with an id and either an answer, which may be empty (see `kind_of_reply`), or
    a failure; an answer of null is a failure, too. Other fields are ignored. An answer takes the place of an earlier failure.
    BadInput if a line is not such an object, an id is unknown or is answered twice, or there is no line or no such file.
    """
    if not path.is_file():
        raise BadInput(f"{path}: no such file; expected a JSONL file of {{'id': …, 'answer': …}}")
    known, by_people = frozenset(ids), True
    answers: dict[str, str] = {}
    failures: dict[str, str] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = parse_json(line)
        except ValueError as error:
            raise BadInput(f"{where}: expected JSON in UTF-8 ({error})") from None
        typed(where, record, _LINE)
        by_people &= record.get("answered_by") == PEOPLE
        answer, failure = record.get("answer"), record.get("failure")
        if answer is not None and failure is not None:
            both = f"{shown(answer)} and {shown(failure)}"
            raise BadInput(f"{where}: expected either an answer or a failure, found {both}")
        if record["id"] not in known:
            raise BadInput(f"{where}, field 'id': no question of this dataset has the id {shown(record['id'])}")
        if record["id"] in answers:
            raise BadInput(f"{where}, field 'id': {shown(record['id'])} is answered twice; expected one answer")
        if answer is None:
            failures[record["id"]] = failure or UNKNOWN
        else:
            check_length(f"{where}, field 'answer'", answer)
            answers[record["id"]] = answer
            failures.pop(record["id"], None)
    if not answers and not failures:
        raise BadInput(f"{path}: expected answers, found none")
    filled = _filled(answers)
    empty = {id_: answer for id_, answer in answers.items() if id_ not in filled and answer.strip()}
    return OwnAnswers(filled, failures, empty, by_people)


def _filled(answers: Mapping[str, str]) -> dict[str, str]:
    """The answers with something to read. A system that says nothing has not said either that nothing happened."""
    return {id_: answer for id_, answer in answers.items() if kind_of_reply(answer) != "empty"}


def _lines(path: Path) -> Iterator[bytes]:
    """Split the file at line feeds only, as JSON may hold the other characters that Python takes for ends of lines."""
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MAX_LINE_BYTES + 1), b""), 1):
            if len(line) > MAX_LINE_BYTES:
                raise BadInput(
                    f"{path}, line {number}: expected at most {MAX_LINE_BYTES:,} bytes, enough for an answer of "
                    f"{MAX_ANSWER:,} characters, found more"
                )
            yield line.rstrip(b"\n")


def record_answers(folder: Path, answers: Mapping[str, str], source: str) -> None:
    """Journal answers made for a judge, by the id of the question and with their source; an empty one is a failure."""
    filled = _filled(answers)
    failures = {id_: EMPTY for id_ in answers if id_ not in filled}
    record_own_answers(folder, OwnAnswers(filled, failures), list(answers), source)


def record_own_answers(folder: Path, own: OwnAnswers, ids: Sequence[str], source: str) -> None:
    """Journal somebody's answers and failures, and the other questions as missing, which is wrong; keys have the source."""
    journal = Journal(folder / ANSWERS)
    for id_ in ids:
        answer = own.answers.get(id_)
        key = Request(id_, "", "", answer or own.empty.get(id_, "")).key(source)
        before = journal.records.get(key)
        # Earlier versions journaled an empty answer as a failure, under the key of a missing one, and `-` as an answer.
        outdated = before and (before.get("failure") is not None or (id_ in own.empty and "answer" in before))
        if before is None or (id_ not in own.failures and outdated):
            outcome: dict[str, Any] = {"answer": answer}
            if answer is None:
                outcome = {"failure": own.failures[id_]} if id_ in own.failures else {"missing": True}
            journal.add(key, id=id_, repeat=0, **outcome)
    journal.close()
