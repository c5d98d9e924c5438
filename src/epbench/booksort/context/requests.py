"""Turn pairs into requests: the context is what the model remembers, the question is the task (Equation 1).

A memory decides what the context holds: nothing, the excerpt, retrieved passages or memories, or the whole book. The pairs
of an excerpt have the same context and follow one another, so the context is processed once.

Paper: Section 3.2, Appendix C.4 (retrieval) and D.5 (whole books).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from epbench.booksort.context.prompts import SEARCH_RESULTS, Pack, Prompt
from epbench.booksort.context.retrieval import Passage, Retrieved
from epbench.booksort.dataset.load import BookText, Pair, excerpt_of, group_of
from epbench.errors import BadInput
from epbench.memories.between import read_after
from epbench.models.protocol import Request, Sampling, by_context

LABELS = ("A", "B")


@dataclass(frozen=True, slots=True)
class Store:
    """What a memory draws from, if it needs it; see `Memory`."""

    books: Sequence[BookText] = ()  # the whole books
    passages: Sequence[Passage] = ()  # the passages of all books
    found: Sequence[Retrieved] = ()  # the passages that were retrieved for each pair
    reading: int = SEARCH_RESULTS  # number of the instruction that presents passages or memories, counted from 0
    # By the id of each pair, what a memory system retrieved for it; None without a memory system.
    memories: Mapping[str, Sequence[str]] | None = None
    between: Sequence[str] = ()  # sentences that are read after an excerpt or a book, and have nothing to do with it


def requests_for(
    memory: str, pairs: Sequence[Pair], pack: Pack, number: int, *, store: Store | None = None, max_tokens: int = 1
) -> list[Request]:
    """Return one request for each pair; requests with the same context follow one another.

    `memory` is a name in `MEMORIES`, or that of a memory system whose memories are in the store. An endpoint's answer
    has at most `max_tokens` tokens; other models answer with the first token. BadInput if the memory, prompt or reading
    does not exist, or the set lacks the text of an excerpt or a book.
    """
    prompt = prompt_of(pack, number)
    store = store or Store()
    if memory not in MEMORIES and store.memories is None:
        raise BadInput(f"memory: expected one of {', '.join(MEMORIES)}, got {memory!r}")
    contexts = memory_named(memory).contexts(pairs, store, pack, prompt)
    if memory_named(memory).whole_text:
        contexts = [read_after(context, store.between) for context in contexts]
    requests = [
        Request(
            pair.id,
            prompt.system,
            context,
            prompt.task.format(title=pair.title, segments=segments),
            Sampling(max_tokens),
            labels=LABELS,
            answer_start=prompt.answer_start,
        )
        for pair, context in zip(pairs, contexts, strict=True)
        for segments in [pack.segments.format(first=pair.shown[0], second=pair.shown[1])]
    ]
    return [request for group in by_context(requests) for request in group]


def prompt_of(pack: Pack, number: int) -> Prompt:
    """Return the prompt with that number; BadInput if the pack has none."""
    if number not in pack.prompts:
        raise BadInput(f"prompt: expected one of {', '.join(map(str, pack.prompts))}, got {number}")
    return pack.prompts[number]


def _excerpts(pairs: Sequence[Pair], store: Store, pack: Pack, prompt: Prompt) -> list[str]:
    contexts: dict[str, str] = {}  # the pairs of an excerpt share one string
    for pair in pairs:
        if group_of(pair) not in contexts:
            contexts[group_of(pair)] = prompt.reading.format(title=pair.title, excerpt=excerpt_of(pair))
    return [contexts[group_of(pair)] for pair in pairs]


def _books(pairs: Sequence[Pair], store: Store, pack: Pack, prompt: Prompt) -> list[str]:
    contexts = {book.book_idx: pack.full_book.format(title=book.title, book=book.text) for book in store.books}
    for pair in pairs:
        if pair.book_idx not in contexts:
            raise BadInput(
                f"pair {pair.id!r}, field 'book_idx': expected a book of config 'books', got {pair.book_idx}"
            )
    return [contexts[pair.book_idx] for pair in pairs]


def _retrieved(pairs: Sequence[Pair], store: Store, pack: Pack, prompt: Prompt) -> list[str]:
    """Memories are shown as passages are; where nothing came back, the model is shown no text."""
    if not 0 <= store.reading < len(pack.passage_readings):
        raise BadInput(f"reading: expected a number from 0 to {len(pack.passage_readings) - 1}, got {store.reading}")
    frame, found = pack.passage_readings[store.reading], store.memories
    if found is None:
        found = {one.id: [store.passages[i].text for i in one.passages] for one in store.found}
    joined = {pair.id: "\n\n".join(found[pair.id]) for pair in pairs}
    return [frame.format(title=pair.title, passages=joined[pair.id]) if found[pair.id] else "" for pair in pairs]


@dataclass(frozen=True, slots=True)
class Memory:
    """What a memory shows a model, and what it needs for this."""

    # Returns the context of each pair, from the pairs, the store, the pack and the prompt.
    contexts: Callable[[Sequence[Pair], Store, Pack, Prompt], list[str]]
    excerpts: bool = False  # whether it shows the excerpt of each pair, which becomes shorter with another config
    books: bool = False  # whether it needs the texts of the whole books
    passages: bool = False  # whether it needs the books split into passages, and those that a search finds
    searched: bool = False  # whether it shows what was retrieved for the segments: passages, or memories of a system

    @property
    def whole_text(self) -> bool:
        """Whether it shows the whole text that a pair is about."""
        return self.excerpts or self.whole_books

    @property
    def whole_books(self) -> bool:
        """Whether it shows the whole book of a pair."""
        return self.books and not self.passages


MEMORIES: Mapping[str, Memory] = {
    "none": Memory(lambda pairs, store, pack, prompt: [""] * len(pairs)),
    "in-context": Memory(_excerpts, excerpts=True),
    "rag": Memory(_retrieved, books=True, passages=True, searched=True),
    "full-book": Memory(_books, books=True),
}
"""The memories that a model can be given, beside memory systems."""


def memory_named(name: str) -> Memory:
    """Return the memory of this name in `MEMORIES`; any other name is that of a memory system."""
    return MEMORIES.get(name, Memory(_retrieved, searched=True))
