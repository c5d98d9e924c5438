"""Which passages of the book a reader was shown for each question, noted so that the page of a run can show them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from epbench.journals.journal import Journal, read_journal
from epbench.models.protocol import Request
from epbench.tulving.context.requests import chunks_of
from epbench.tulving.dataset.load import Book

PASSAGES = "passages.jsonl"
_HEAD = re.compile(r"Chapter (\d+)(?:, Paragraph (\d+))?\n\n")
"""The line above each passage; see `chunks_of`."""

Places = Sequence[Sequence[int]]
"""The number of the chapter and of the paragraph, from 1, of each passage; paragraph 0 is the whole chapter."""


def note_passages(folder: Path, requests: Iterable[Request]) -> None:
    """Note the passages of each request with retrieved passages, in the order in which they are shown.

    Args:
        folder: The folder of an open run.
        requests: The requests of memory `rag-paragraph` or `rag-chapter`; repeats have the passages of the first.
    """
    journal = Journal(folder / PASSAGES)
    for request in requests:
        if not journal.done(request.id):
            places = [[int(chapter), int(paragraph or 0)] for chapter, paragraph in _HEAD.findall(request.context)]
            journal.add(request.id, id=request.id, passages=places)
    journal.close()


def read_passages(folder: Path, chapters: Sequence[tuple[int, str]]) -> Mapping[str, list[str]]:
    """The texts of the noted passages by id of the question, as a reader was shown them.

    Args:
        folder: The folder of a run.
        chapters: The number and the text of each chapter; passages of others are left out, and without a
            chapter nothing is known of any question.
    """
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
