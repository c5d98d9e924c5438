"""What a reader gets to see of the book: the whole book, passages retrieved for the question, or nothing.

Paper: Section 5.1 and Appendix D.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from epbench.errors import BadInput
from epbench.models.protocol import Request, Sampling
from epbench.retrieval.load import Bm25
from epbench.retrieval.protocol import MakeSearcher
from epbench.tulving.context.prompts import Prompts, load_prompts
from epbench.tulving.dataset.load import Book

MEMORIES = ("in-context", "rag-paragraph", "rag-chapter", "none")
PARAGRAPHS_PER_CHAPTER = 4
"""How many paragraphs are retrieved for each chapter: the published book has 68 paragraphs and 17 chapters."""


@dataclass(frozen=True)
class QuestionView:
    """What the memories see of a question.

    Attributes:
        id: of the question.
        question: its text.
        n_chapters: number of the chapters that match it.
    """

    id: str
    question: str
    n_chapters: int


def published_top_k(memory: str, questions: Sequence[QuestionView]) -> int | None:
    """Return how many passages the paper retrieves: as many chapters as match any of the questions, at the most.

    Of paragraphs it is four times as many. Memories without a search have None.
    """
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
    """Build the requests of a run; those with one context follow one another.

    Args:
        memory: one of `MEMORIES`.
        book: what is remembered.
        questions: in the order in which they are asked.
        top_k: number of chunks for a question, at least 1; by default as published.
        keep_order: whether the chunks are shown in the order of the book instead of best first.
        search: builds the index over the chunks; by default BM25.
        prompts: the prompt pack; by default ours.
        sampling: how answers are drawn; by default greedily. Readers draw each repeat with a seed of its own.
        repeats: how often each question is asked, at least 1.

    Raises:
        BadInput: the memory is unknown, or top_k is below 1.
    """
    if memory not in MEMORIES:
        raise BadInput(f"unknown memory {memory!r}; expected one of: {', '.join(MEMORIES)}")
    if top_k is not None and top_k < 1:
        raise BadInput(f"top-k: expected at least 1, got {top_k}")
    prompts, sampling = prompts or load_prompts(), sampling or Sampling()
    if memory == "none":
        # On one line: a title is no place for a heading, and thus for a chapter.
        contexts = iter([prompts.nothing.format(title=" ".join(book.title.split()))] * len(questions))
    elif memory == "in-context":
        contexts = iter([prompts.book.format(book=book.text)] * len(questions))
    else:
        k = top_k or published_top_k(memory, questions) or 1
        contexts = _retrieved(chunks_of(book, memory), questions, k, keep_order, search, prompts)
    for question, context in zip(questions, contexts, strict=True):
        text = prompts.question.format(question=question.question)
        yield from repeated([Request(question.id, prompts.system, context, text, sampling)], repeats)


def repeated(requests: Iterable[Request], repeats: int) -> list[Request]:
    """Return each request as often as its question is asked, one after another; they share their texts."""
    return [replace(request, repeat=repeat) for request in requests for repeat in range(repeats)]


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


def _retrieved(
    chunks: Sequence[str],
    questions: Sequence[QuestionView],
    k: int,
    keep_order: bool,
    search: MakeSearcher,
    prompts: Prompts,
) -> Iterator[str]:
    for found in search(chunks).search([question.question for question in questions], k):
        positions = sorted(found) if keep_order else found
        passages = [prompts.passage.format(passage=chunks[position]) for position in positions]
        yield prompts.passages.format(passages="\n\n\n".join(passages))
