"""The order in which an engine with a prefix cache gets requests, so that every context is computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from epbench.models.protocol import Request

Batch = tuple[list[Request], list[Request]]
"""The first request of each context, and all others with these contexts."""


def batches_by_context(requests: Iterable[Request], tokens: Callable[[Request], int], room: int) -> Iterator[Batch]:
    """Split requests into batches: the first of each context and, once these are answered, the others of these contexts.

    A context that takes all the room, such as a book, is a batch of its own: its first question goes alone, then the
    others. Short contexts share a batch. One after the other they would leave the engine idle, and if each had only one
    question, nothing would run at the same time.

    Args:
        requests: in any order. Contexts come in the order of their first requests.
        tokens: counts the tokens of a prompt.
        room: tokens that the first prompts of a batch may have together; a longer prompt goes alone.
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
    """Group requests that share a prompt up to the question, in order; a request without context is a group of its own."""
    groups: dict[object, list[Request]] = {}
    for number, request in enumerate(requests):
        # Without a context only the system message is shared, which is not worth waiting for.
        shared = (request.system, request.context) if request.context else number
        groups.setdefault(shared, []).append(request)
    return list(groups.values())
