"""A memory system reads a Tulving book: told chapter by chapter, then asked for what it remembers of each question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from epbench.memories.guard import Limits
from epbench.memories.load import SystemSpec
from epbench.memories.recall import read_recall
from epbench.memories.session import Conversation, Query, fill_and_ask
from epbench.models.protocol import Request, Sampling
from epbench.runs.answers import Progress
from epbench.tulving.context.prompts import Prompts
from epbench.tulving.context.requests import Book, QuestionView

FIRST, BETWEEN = datetime(2025, 1, 6, 9), timedelta(minutes=10)
"""When the first chapter is told, and how long it is to the next; simulated, as no chapter's date is that of its telling."""


@dataclass(frozen=True)
class Remembered:
    """What a system made of a book.

    Attributes:
        found: by id of the question, what it remembers, best first.
        failures: by id of the question, why there is nothing to show a reader: the question has failed.
        warnings: what a reader of the results has to know.
    """

    found: Mapping[str, list[str]]
    failures: Mapping[str, str]
    warnings: Sequence[str]


def remember(
    folder: Path,
    system: SystemSpec,
    book: Book,
    questions: Sequence[QuestionView],
    matching: Mapping[str, Sequence[int]],
    k: int,
    progress: Progress,
    limits: Limits | None = None,
) -> Remembered:
    """Tell the book to a system and put the questions to it; what the folder's journals hold is not done again.

    Args:
        folder: of the run.
        system: of which one instance is made.
        book: its chapters are told, each in a conversation of its own.
        questions: that are asked.
        matching: by id of the question, numbers of the chapters that it is about.
        k: most memories that are wanted.
        progress: shows a bar.
        limits: of one call, and of the memory of the system's process; the usual ones unless given.

    Raises:
        BadInput: the system cannot be made.
    """
    told = [
        Conversation(
            f"{number}",
            "",
            (f"{number}",),
            (
                {
                    "role": "user",
                    "content": f"Chapter {number}\n\n{text}",
                    "timestamp": (FIRST + i * BETWEEN).isoformat(),
                },
            ),
        )
        for i, (number, text) in enumerate(book.chapters)
    ]
    queries = [Query(f"{question.id}@{k}", question.id, "", question.question, k) for question in questions]
    fill_and_ask(folder, system, told, queries, limits=limits or Limits(), progress=progress)
    recall = read_recall(folder, system, told, queries)
    failures = {query.question: recall.failures[query.id] for query in queries if query.id in recall.failures}
    for question in questions:
        for chapter in matching[question.id]:
            if reason := recall.untold.get(("", f"{chapter}")):
                failures[question.id] = f"memory system: could not store chapter {chapter}: {reason}"
    found = {query.question: recall.found[query.id] for query in queries if query.question not in failures}
    return Remembered(found, failures, recall.warnings)


def remembered_requests(
    remembered: Remembered, questions: Sequence[QuestionView], prompts: Prompts, sampling: Sampling, repeats: int
) -> Iterator[Request]:
    """What the reader is asked: the memories stand where passages of the book stand in retrieval."""
    for question in questions:
        if question.id in remembered.found:
            passages = [prompts.passage.format(passage=memory) for memory in remembered.found[question.id]]
            context = prompts.passages.format(passages="\n\n\n".join(passages))
            text = prompts.question.format(question=question.question)
            for repeat in range(repeats):
                yield Request(question.id, prompts.system, context, text, sampling, repeat)
