"""What readers that answer by rules have in common: they cost nothing and read texts of any length."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence

from epbench.models.protocol import Reply, Request


class RuleBasedReader(ABC):
    """A `Model` without a language model."""

    name: str
    costs_nothing = True
    continues_prompts = True

    @property
    def identity(self) -> str:
        """The name: there are no weights."""
        return self.name

    def window(self) -> int | None:
        """Return None, because rules read a text of any length."""
        return None

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """Count words: those of the prompt, and those of its shared part."""
        shared = len(request.context.split())
        return shared + len(request.question.split()), shared

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`; the replies come in the order of the requests."""
        for request in requests:
            yield Reply(request.key(self.identity), request.id, self.answer_to(request))

    @abstractmethod
    def answer_to(self, request: Request) -> str:
        """Answer one request."""
