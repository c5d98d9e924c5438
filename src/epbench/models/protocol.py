"""The protocol of a reader: what it is asked and what it gives back."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model. Requests with the same context should follow one another: it is read once.

    Attributes:
        id: of the question.
        system: what the model is told to be.
        context: the shared part of the prompt: instructions and the book, or what was retrieved of it.
        question: the part of the prompt that differs.
    """

    id: str
    system: str
    context: str
    question: str

    def key(self, model: str) -> str:
        """Hash of all that the answer depends on; the journal's key."""
        parts = (model, self.id, self.system, _digest(self.context), self.question)
        return _digest("\x1e".join(parts))[:24]


@lru_cache(maxsize=64)  # one long context stands in many requests
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: a text, or the reason why none did. A failure is neither right nor wrong."""

    id: str
    text: str = ""
    failure: str | None = None


class Model(Protocol):
    """Answers requests, in their order."""

    @property
    def name(self) -> str: ...

    def answer(self, requests: Iterable[Request]) -> Iterator[Reply]:
        """One reply for each request, as soon as it is there."""
        ...
