"""Runs of a reader that says what a test wants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench.journals.answers import ANSWERS, ask
from epbench.models.protocol import Reply, Request
from epbench.progress import no_progress
from epbench.runs.folder import open_run
from epbench.tulving.evaluate import judge_and_score
from epbench.tulving.judging.lexical import LexicalJudge

FAILURE = "429 too many requests"


class Told:
    """Says what it was told to, by id and repeat of the question, and fails on all others; it remembers what it was asked."""

    name = identity = "told"

    def __init__(self, answers: Mapping[tuple[str, int], str]) -> None:
        self.answers, self.asked = answers, list[str]()

    def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
        for request in requests:
            self.asked.append(request.id)
            text = self.answers.get((request.id, request.repeat))
            reply = {"failure": FAILURE} if text is None else {"text": text}
            yield Reply(request.key(self.name), request.id, **reply)


def made_run(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    reader: Any,
    judge: Any = None,
    repeats: int = 1,
    chapters: Any = None,
) -> dict[str, Any]:
    """Ask the reader and have its answers judged and scored, by rules if no judge is given."""
    requests = [Request(row["id"], "s", "c", row["question"], repeat=n) for row in rows for n in range(repeats)]
    with open_run(folder, {"memory": "none", "repeats": repeats}, {"book": "b"}):
        ask(folder / ANSWERS, requests, reader, no_progress)
        return judge_and_score(folder, rows, judge or LexicalJudge(), "made", repeats=repeats, chapters=chapters)
