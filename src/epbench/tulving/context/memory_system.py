"""A memory system reads a Tulving book: it stores chapter after chapter, and then retrieves memories for each question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from epbench.memories.guard import Limits
from epbench.memories.protocol import SystemSpec
from epbench.memories.recall import read_recall
from epbench.memories.session import Conversation, Query, fill_and_ask
from epbench.models.protocol import Request, Sampling
from epbench.progress import Progress
from epbench.tulving.context.prompts import Prompts
from epbench.tulving.context.requests import QuestionView, chapter_passage, paragraphs_of
from epbench.tulving.dataset.load import Book

FIRST, BETWEEN = datetime(2025, 1, 6, 9), timedelta(minutes=10)
"""The simulated time at which the first chapter is stored, and the time to the next; the events have other dates."""


@dataclass(frozen=True)
class Remembered:
    """What a system remembers of a book.

    Attributes:
        found: by id of the question, the memories that were retrieved, best first.
        failures: by id of the question, why there are no memories to show a reader: the question has failed.
        warnings: what a reader of the results has to know.
    """

    found: Mapping[str, list[str]]
    failures: Mapping[str, str]
    warnings: Sequence[str]


def gold_texts(
    book: Book,
    questions: Sequence[QuestionView],
    matching: Mapping[str, Sequence[int]],
    evidence: Mapping[str, Sequence[tuple[int, int]]] | None = None,
) -> dict[str, list[str]]:
    """Find what each question needs. This is what the oracle returns.

    Args:
        book: with all chapters.
        questions: those that may be asked.
        matching: by id of the question, the numbers of the chapters that match it.
        evidence: by id of the question, the chapters and paragraphs that answer it; None for a book without evidence.

    Returns:
        By text of the question, in the order of the book: the paragraphs of the evidence, or without evidence the matching
        chapters as they are stored.
    """
    if evidence is not None:
        text_of, places = paragraphs_of(book), dict[str, set[tuple[int, int]]]()
        for question in questions:
            places.setdefault(question.question, set()).update(evidence[question.id])
        return {query: [text_of[place] for place in sorted(needed)] for query, needed in places.items()}
    stored = {number: chapter_passage(number, text) for number, text in book.chapters}
    needed: dict[str, set[int]] = {}
    for question in questions:
        needed.setdefault(question.question, set()).update(matching[question.id])
    return {query: [text for number, text in stored.items() if number in numbers] for query, numbers in needed.items()}


def stand_in(system: SystemSpec) -> str:
    """Name the memory whose requests are about as long as those with the memories of a system that holds none yet."""
    return "in-context" if system.beyond_k and not system.knows_gold else "rag-chapter"


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
    """Store the book in a system and retrieve memories for the questions; what is journaled is not done again.

    Args:
        folder: of the run.
        system: what stores and retrieves; one instance of it is made.
        book: its chapters are stored, each in a conversation of its own.
        questions: for which memories are retrieved.
        matching: by id of the question, the numbers of the chapters that match it.
        k: the largest number of memories for a question.
        progress: shows a progress bar.
        limits: of one call, and of the memory of the system's process; by default 300 s and 8 GB.

    Raises:
        BadInput: no instance of the system can be made.
    """
    conversations = [
        Conversation(
            f"{number}",
            "",
            (f"{number}",),
            (
                {
                    "role": "user",
                    "content": chapter_passage(number, text),
                    "timestamp": (FIRST + i * BETWEEN).isoformat(),
                },
            ),
        )
        for i, (number, text) in enumerate(book.chapters)
    ]
    queries = [Query(f"{question.id}@{k}", question.id, "", question.question, k) for question in questions]
    fill_and_ask(folder, system, conversations, queries, limits=limits or Limits(), progress=progress)
    recall = read_recall(folder, system, conversations, queries)
    failures = {query.question: recall.failures[query.id] for query in queries if query.id in recall.failures}
    for question in questions:
        for chapter in matching[question.id]:
            if reason := recall.unstored.get(("", f"{chapter}")):
                failures[question.id] = f"memory system: could not store chapter {chapter}: {reason}"
    found = {query.question: recall.found[query.id] for query in queries if query.question not in failures}
    return Remembered(found, failures, recall.warnings)


def remembered_requests(
    remembered: Remembered, questions: Sequence[QuestionView], prompts: Prompts, sampling: Sampling, repeats: int
) -> Iterator[Request]:
    """Build the requests to the reader, with the memories in the place of retrieved passages."""
    for question in questions:
        if question.id in remembered.found:
            passages = [prompts.passage.format(passage=memory) for memory in remembered.found[question.id]]
            context = prompts.passages.format(passages="\n\n\n".join(passages))
            text = prompts.question.format(question=question.question)
            for repeat in range(repeats):
                yield Request(question.id, prompts.system, context, text, sampling, repeat)
