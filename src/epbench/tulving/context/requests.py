"""What a reader gets to see of the book: all of it, passages found for the question, or nothing.

Paper: Section 5.1 and Appendix D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from epbench.errors import BadInput
from epbench.models.protocol import Request, Sampling
from epbench.retrieval.bm25 import Bm25
from epbench.tulving.context.prompts import Prompts, load_prompts

MEMORIES = ("in-context", "rag-paragraph", "rag-chapter", "none")
PARAGRAPHS_PER_CHAPTER = 4
"""How many times more paragraphs than chapters are retrieved: 17 chapters and 68 paragraphs on the published book."""


class Searcher(Protocol):
    """An index over chunks; see `epbench.retrieval`."""

    def search(self, queries: Sequence[str], k: int) -> Iterator[list[int]]: ...


MakeSearcher = Callable[[Sequence[str]], Searcher]


@dataclass(frozen=True)
class Book:
    """What the memories read: the whole text, and (number, text) of each chapter in order."""

    text: str
    chapters: Sequence[tuple[int, str]]


@dataclass(frozen=True)
class QuestionView:
    """A question as the memories see it."""

    id: str
    question: str
    n_chapters: int


def published_top_k(memory: str, questions: Sequence[QuestionView]) -> int | None:
    """As many chapters as any asked question has matches, and four times as many paragraphs; None without search."""
    most = max([1, *(question.n_chapters for question in questions)])
    return {"rag-chapter": most, "rag-paragraph": PARAGRAPHS_PER_CHAPTER * most}.get(memory)


def requests_for(
    memory: str,
    book: Book,
    questions: Sequence[QuestionView],
    *,
    top_k: int | None = None,
    keep_order: bool = False,
    search: MakeSearcher = Bm25,
    prompts: Prompts | None = None,
    sampling: Sampling | None = None,
    repeats: int = 1,
) -> Iterator[Request]:
    """The requests of a run, those of one context after one another.

    Args:
        memory: one of `MEMORIES`.
        book: what is remembered.
        questions: in the order in which they are asked.
        top_k: number of chunks; as published unless given.
        keep_order: show the chunks in the order of the book instead of best first.
        search: makes the index over the chunks; BM25 unless given.
        prompts: the pack; ours unless given.
        sampling: of the answers; greedy unless given. Readers draw each repeat by a seed of its own.
        repeats: how often each question is asked.

    Raises:
        BadInput: unknown memory, or top_k or repeats below 1.
    """
    if memory not in MEMORIES:
        raise BadInput(f"unknown memory {memory!r}; there are: {', '.join(MEMORIES)}, module:Class")
    for option, number in (("--top-k", top_k), ("--repeats", repeats)):
        if number is not None and number < 1:
            raise BadInput(f"{option} {number}: at least 1 expected")
    prompts, sampling = prompts or load_prompts(), sampling or Sampling()
    if memory == "none":
        contexts = iter([prompts.nothing] * len(questions))
    elif memory == "in-context":
        contexts = iter([prompts.book.format(book=book.text)] * len(questions))
    else:
        k = top_k or published_top_k(memory, questions) or 1
        contexts = _retrieved(chunks_of(book, memory), questions, k, keep_order, search, prompts)
    for question, context in zip(questions, contexts, strict=True):
        text = prompts.question.format(question=question.question)
        for repeat in range(repeats):
            yield Request(question.id, prompts.system, context, text, sampling, repeat)


def chunks_of(book: Book, memory: str) -> list[str]:
    """The book in chapters or paragraphs, each under a line that tells its place."""
    if memory == "rag-chapter":
        return [f"Chapter {number}\n\n{text}" for number, text in book.chapters]
    return [
        f"Chapter {number}, Paragraph {i}\n\n{paragraph}"
        for number, text in book.chapters
        for i, paragraph in enumerate(filter(str.strip, text.split("\n")), 1)
    ]


def _retrieved(
    chunks: Sequence[str],
    questions: Sequence[QuestionView],
    k: int,
    keep_order: bool,
    search: MakeSearcher,
    prompts: Prompts,
) -> Iterator[str]:
    for found in search(chunks).search([question.question for question in questions], k):
        places = sorted(found) if keep_order else found
        passages = [prompts.passage.format(passage=chunks[place]) for place in places]
        yield prompts.passages.format(passages="\n\n\n".join(passages))
