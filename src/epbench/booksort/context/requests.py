"""From pairs to requests: what is remembered is the context, the task is the question (Equation 1).

The pairs of an excerpt have the same context and follow one another, so that it is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from epbench.booksort.context.passages import Passage
from epbench.booksort.context.prompts import SEARCH_RESULTS, Pack, Prompt
from epbench.booksort.context.retrieved import MEMORIES, Retrieved
from epbench.booksort.dataset.load import BookText, Pair
from epbench.errors import BadInput
from epbench.models.protocol import Request, Sampling
from epbench.models.scheduling import by_context

LABELS = ("A", "B")


@dataclass(frozen=True, slots=True)
class Store:
    """What the memories `full-book` and `rag` draw from.

    Attributes:
        books: whole.
        passages: of these.
        found: for each pair, which of the passages.
        reading: number of the instruction to read them, from 0.
    """

    books: Sequence[BookText] = ()
    passages: Sequence[Passage] = ()
    found: Sequence[Retrieved] = ()
    reading: int = SEARCH_RESULTS


def requests_for(
    memory: str, pairs: Sequence[Pair], pack: Pack, number: int, *, store: Store | None = None, max_tokens: int = 1
) -> list[Request]:
    """One request for each pair, those of one context after one another.

    Args:
        memory: one of `MEMORIES`.
        pairs: the questions.
        pack: how to ask.
        number: of the prompt in the pack.
        store: for the memories that need one.
        max_tokens: of an answer at an endpoint, at least 1; other models answer by the first token.

    Raises:
        BadInput: no such memory, prompt or reading, or the set lacks the text of an excerpt or a book.
    """
    prompt, store = prompt_of(pack, number), store or Store()
    if memory == "none":
        contexts = [""] * len(pairs)
    elif memory == "in-context":
        contexts = _excerpts(pairs, prompt)
    elif memory == "full-book":
        contexts = _books(pairs, store.books, pack)
    elif memory == "rag":
        contexts = _passages(pairs, store, pack)
    else:
        raise BadInput(f"unknown memory {memory!r}; there are: {', '.join(MEMORIES)}")
    requests = [
        Request(
            pair.id,
            prompt.system,
            context,
            prompt.task.format(title=pair.title, segments=_segments(pair, pack)),
            Sampling(max_tokens),
            labels=LABELS,
            answer_start=prompt.answer_start,
        )
        for pair, context in zip(pairs, contexts, strict=True)
    ]
    return [request for group in by_context(requests) for request in group]


def prompt_of(pack: Pack, number: int) -> Prompt:
    """The prompt of that number.

    Raises:
        BadInput: there is none.
    """
    if number not in pack.prompts:
        raise BadInput(f"--prompt {number}: the pack has {', '.join(map(str, pack.prompts))}")
    return pack.prompts[number]


def _segments(pair: Pair, pack: Pack) -> str:
    first, second = pair.shown
    return pack.segments.format(first=first, second=second)


def _excerpts(pairs: Sequence[Pair], prompt: Prompt) -> list[str]:
    contexts: dict[tuple[str, int, int], str] = {}
    for pair in pairs:
        if pair.excerpt is None:
            raise BadInput(
                f"pair {pair.id!r}: the set has no text of its excerpt; only --memory none is possible with {pair.config}"
            )
        key = pair.config, pair.book_idx, pair.excerpt_idx
        if key not in contexts:
            contexts[key] = prompt.reading.format(title=pair.title, excerpt=pair.excerpt)
    return [contexts[pair.config, pair.book_idx, pair.excerpt_idx] for pair in pairs]


def _books(pairs: Sequence[Pair], books: Sequence[BookText], pack: Pack) -> list[str]:
    contexts = {book.book_idx: pack.full_book.format(title=book.title, book=book.text) for book in books}
    for pair in pairs:
        if pair.book_idx not in contexts:
            raise BadInput(f"pair {pair.id!r}, field 'book_idx': config 'books' has no book {pair.book_idx}")
    return [contexts[pair.book_idx] for pair in pairs]


def _passages(pairs: Sequence[Pair], store: Store, pack: Pack) -> list[str]:
    if not 0 <= store.reading < len(pack.passage_readings):
        raise BadInput(f"--reading {store.reading}: a number from 0 to {len(pack.passage_readings) - 1} expected")
    found = {one.id: one.passages for one in store.found}
    return [
        pack.passage_readings[store.reading].format(
            title=pair.title, passages="\n\n".join(store.passages[place].text for place in found[pair.id])
        )
        for pair in pairs
    ]
