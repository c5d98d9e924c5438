"""In which order an engine with a prefix cache gets its requests, so that every context is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from epbench.models.protocol import Request

Batch = tuple[list[Request], list[Request]]


def batches_by_context(requests: Iterable[Request], tokens: Callable[[Request], int], room: int) -> Iterator[Batch]:
    """Requests in waves: the first of each context, and, once these are answered, all others of the same contexts.

    A context that takes the whole room, such as a book, is a wave of its own: its first question goes alone, then the
    rest, book after book. Short contexts share a wave: one after the other they would leave the engine idle, and where
    each has but one question nothing would ever be batched.

    Args:
        requests: in any order; contexts come in that of their first request.
        tokens: of a prompt.
        room: tokens that the first prompts of a wave may have together. One that is longer goes alone.
    """
    first: list[Request] = []
    rest: list[Request] = []
    taken = 0
    for group in by_context(requests):
        needed = tokens(group[0])
        if first and taken + needed > room:
            yield first, rest
            first, rest, taken = [], [], 0
        first.append(group[0])
        rest += group[1:]
        taken += needed
    if first:
        yield first, rest


def by_context(requests: Iterable[Request]) -> list[list[Request]]:
    """Requests that share a prompt up to the question, in order; one without a context shares nothing."""
    groups: dict[object, list[Request]] = {}
    for number, request in enumerate(requests):
        # Without a context at most the system text is shared, and that is not worth a wait.
        shared = (request.system, request.context) if request.context else number
        groups.setdefault(shared, []).append(request)
    return list(groups.values())
