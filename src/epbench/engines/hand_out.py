"""Which requests a free replica gets next, so that a shared context is read as rarely as possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from epbench.models.protocol import Request
from epbench.models.scheduling import by_context

MOST_DEATHS = 3
"""How many replicas may end over the same work until its requests have failed: one of them may be what ends replicas."""

_SHARE = 4
"""A replica gets at most one part in `_SHARE` of its fair share of what is left, so that all end at about the same time."""


@dataclass(eq=False)
class Work:
    """Requests that one replica answers at a time.

    Attributes:
        requests: All requests of one or several contexts, or a part of those of one.
        size: What it takes, in characters to be read; a shared context counts once.
        deaths: How many replicas have ended with this work.
    """

    requests: list[Request]
    size: int
    deaths: int = 0


@dataclass
class HandOut:
    """Hands out work until every request has been answered.

    The requests of one context stay together, so that one replica reads it once. Only if there are fewer contexts than
    replicas are they divided among several. Large contexts come first, and small ones are handed out several at a time:
    an engine that gets them together computes them together.

    Attributes:
        requests: What is asked, in any order.
        replicas: The number of replicas, at least 1.
    """

    requests: Sequence[Request]
    replicas: int
    _waiting: list[Work] = field(init=False)  # the largest last

    def __post_init__(self) -> None:
        parts = _divided(by_context(self.requests), self.replicas)
        self._waiting = sorted((Work(part, _size(part)) for part in parts), key=lambda work: work.size)

    @property
    def waits(self) -> bool:
        """Whether there is work that no replica has."""
        return bool(self._waiting)

    def next(self) -> Work | None:
        """Return the work for a free replica; None if all is handed out."""
        if not self._waiting:
            return None
        work = self._waiting.pop()
        room = sum(waiting.size for waiting in self._waiting) // (self.replicas * _SHARE)
        while (
            not work.deaths
            and self._waiting
            and not self._waiting[-1].deaths
            and work.size + self._waiting[-1].size <= room
        ):
            more = self._waiting.pop()
            work.requests += more.requests
            work.size += more.size
        return work

    def lost(self, work: Work, unanswered: Sequence[Request]) -> list[Request]:
        """Take back what a replica has not answered that has ended.

        It is handed out again, each context alone, so that what ends replicas is found.

        Args:
            work: What the replica was given.
            unanswered: Those of its requests whose replies have not arrived.

        Returns:
            The requests that have failed for good, because too many replicas have ended over them.
        """
        deaths = work.deaths + 1
        if deaths >= MOST_DEATHS:
            return list(unanswered)
        self._waiting += [Work(group, _size(group), deaths) for group in by_context(unanswered)]
        self._waiting.sort(key=lambda waiting: waiting.size)
        return []


def _divided(groups: Sequence[list[Request]], replicas: int) -> list[list[Request]]:
    """Divide the largest groups into equal parts until there are as many parts as replicas."""
    n_parts = [1] * len(groups)
    while groups and sum(n_parts) < min(replicas, sum(map(len, groups))):
        largest = max(range(len(groups)), key=lambda i: len(groups[i]) / n_parts[i])
        n_parts[largest] += 1
    return [group[i::n] for group, n in zip(groups, n_parts, strict=True) for i in range(n)]


def _size(group: Sequence[Request]) -> int:
    """Characters that are read: the context once, and what differs from request to request."""
    first = group[0]
    shared = len(first.system) + len(first.context)
    return shared + sum(len(request.question) for request in group)
