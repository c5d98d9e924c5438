"""What of a Tulving book is retrieved for a question: its passages, which a run notes, or the memories of a system.

A memory system reads the book: it stores chapter after chapter, and then retrieves memories for each question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from epbench.hub.rows import Row
from epbench.journals.journal import Journal, read_journal
from epbench.memories.between import told_after
from epbench.memories.guard import Limits
from epbench.memories.price import Budget, fit
from epbench.memories.protocol import SystemSpec
from epbench.memories.recall import read_recall
from epbench.memories.session import Conversation, Query, fill_and_ask
from epbench.models.protocol import Request
from epbench.progress import Progress
from epbench.tulving.dataset.load import Book


def chunks_of(book: Book, memory: str) -> list[str]:
    """Split the book into chapters or paragraphs, each under a line with its numbers."""
    if memory == "rag-chapter":
        return [chapter_passage(number, text) for number, text in book.chapters]
    return list(paragraphs_of(book).values())


def paragraphs_of(book: Book) -> dict[tuple[int, int], str]:
    """Return the paragraphs by chapter and number, each under a line with both."""
    return {
        (number, i): f"Chapter {number}, Paragraph {i}\n\n{paragraph}"
        for number, text in book.chapters
        for i, paragraph in enumerate(filter(str.strip, text.split("\n")), 1)
    }


def chapter_passage(number: int, text: str) -> str:
    """Put the line `Chapter N` before the text of a chapter, as memories store it and searches find it."""
    return f"Chapter {number}\n\n{text}"


PASSAGES = "passages.jsonl"
_HEAD = re.compile(r"Chapter (\d+)(?:, Paragraph (\d+))?\n\n")
"""The line above each passage; see `chunks_of`."""


def note_passages(folder: Path, requests: Iterable[Request]) -> None:
    """Note the passages of each request with retrieved passages, in the order in which they are shown; repeats have the same.

    Each is noted by the number of its chapter and of its paragraph, from 1; paragraph 0 is the whole chapter.
    """
    journal = Journal(folder / PASSAGES)
    for request in requests:
        if not journal.done(request.id):
            places = [[int(chapter), int(paragraph or 0)] for chapter, paragraph in _HEAD.findall(request.context)]
            journal.add(request.id, id=request.id, passages=places)
    journal.close()


def read_passages(folder: Path, chapters: Sequence[tuple[int, str]]) -> Mapping[str, list[str]]:
    """The texts of the noted passages by id of the question, as a reader was shown them, if they are of one of these chapters."""
    records = read_journal(folder / PASSAGES) if chapters else {}
    texts: dict[tuple[int, int], str] = {}
    for memory in ("rag-chapter", "rag-paragraph") if records else ():
        for chunk in chunks_of(Book("", chapters, ""), memory):
            if head := _HEAD.match(chunk):
                texts[int(head[1]), int(head[2] or 0)] = chunk
    return {
        id_: [texts[place[0], place[1]] for place in record["passages"] if (place[0], place[1]) in texts]
        for id_, record in records.items()
    }


FIRST, BETWEEN = datetime(2025, 1, 6, 9), timedelta(minutes=10)
"""The simulated time at which the first chapter is stored, and the time to the next; the events have other dates."""


def gold_texts(
    book: Book, rows: Sequence[Row], evidence: Mapping[str, Sequence[tuple[int, int]]] | None = None
) -> dict[str, list[str]]:
    """Find what each question needs. This is what the oracle returns.

    Args:
        evidence: By id of the question, the chapters and paragraphs that answer it; None for a book without evidence.

    Returns:
        By text of the question, in the order of the book: the paragraphs of the evidence, or without evidence the
        matching chapters as they are stored.
    """
    needed: dict[str, set[tuple[int, int]]] = {}
    for row in rows:
        places = [(number, 0) for number in row["chapters"]] if evidence is None else evidence[row["id"]]
        needed.setdefault(row["question"], set()).update(places)
    text_of = paragraphs_of(book)
    if evidence is None:
        text_of = {(number, 0): chapter_passage(number, text) for number, text in book.chapters}
    return {query: [text for place, text in text_of.items() if place in wanted] for query, wanted in needed.items()}


def stand_in(system: SystemSpec) -> str:
    """Name the memory whose requests are about as long as those with the memories of a system that holds none yet."""
    return "in-context" if system.beyond_k and not system.knows_gold else "rag-chapter"


def remember(
    folder: Path,
    system: SystemSpec,
    book: Book,
    rows: Sequence[Row],
    k: int,
    progress: Progress,
    limits: Limits | None = None,
    budget: Budget | None = None,
    unrelated: Sequence[str] = (),
) -> tuple[Mapping[str, list[str]], Sequence[str]]:
    """Store the book in a system and retrieve memories for the questions; what is journaled is not done again.

    Args:
        system: What stores and retrieves; one instance of it is made. BadInput if none can be made.
        book: Its chapters are stored, each in a conversation of its own.
        k: The largest number of memories for a question.
        limits: Of one call, and of the memory of the system's process; by default 300 s and 8 GB.
        budget: How many tokens of memories the reader is shown; None counts none.
        unrelated: Sentences that are stored after the book.

    Returns:
        By id of the question, the memories that were retrieved, best first; a question has failed and is left out if
        there are none to show, or one of its chapters could not be stored. And what a reader of the results has to know.
    """
    conversations = []
    for i, (number, text) in enumerate(book.chapters):
        turn = {"content": chapter_passage(number, text), "timestamp": (FIRST + i * BETWEEN).isoformat()}
        conversations.append(Conversation(f"{number}", "", (f"{number}",), ({"role": "user", **turn},)))
    queries = [Query(f"{row['id']}@{k}", row["id"], "", row["question"], k) for row in rows]
    stored = told_after(conversations, unrelated)
    fill_and_ask(folder, system, stored, queries, limits=limits or Limits(), progress=progress)
    recall = read_recall(folder, system, conversations, queries)
    if budget is not None:
        recall = replace(recall, found=fit(folder, recall.found, queries, budget))
    lost = {query.question for query in queries if query.id in recall.failures}
    lost |= {row["id"] for row in rows if any(("", f"{chapter}") in recall.unstored for chapter in row["chapters"])}
    found = {query.question: recall.found[query.id] for query in queries if query.question not in lost}
    return found, recall.warnings
