"""A baseline that needs no model: it looks up both segments in the context that it is given.

In-context it must always be right; where the context does not hold both segments it guesses, and must be right by
chance. It knows nothing but the requests.
"""

from __future__ import annotations

import re
import string
from collections.abc import Generator, Sequence
from functools import lru_cache

from epbench.booksort.context.prompts import Pack
from epbench.draws import RandomStream
from epbench.models.protocol import Reply, Request


class Oracle:
    """Answers by the places of the segments in the request's context.

    Args:
        pack: by which the requests were written: it tells how the segments stand in a question.
    """

    name = identity = "oracle"

    def __init__(self, pack: Pack) -> None:
        parts = [
            re.escape(text) + (f"(?P<{field}>.+{'?' if field == 'first' else ''})" if field else "")
            for text, field, _, _ in string.Formatter().parse(pack.segments)
        ]
        self._segments = re.compile("".join(parts), re.DOTALL)

    def window(self) -> int | None:
        """None: a text of any length is searched."""
        return None

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """Words of the prompt, and of its shared part."""
        shared = len(request.context.split())
        return shared + len(request.question.split()), shared

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`."""
        for request in requests:
            first, second = self._places(request)
            found = first >= 0 and second >= 0
            earlier = first < second if found else RandomStream("oracle", request.id).unit() < 0.5
            yield Reply(request.key(self.identity), request.id, "A" if earlier else "B")

    def _places(self, request: Request) -> tuple[int, int]:
        """Where both segments begin in the context; -1 for one that is not in it.

        What follows the second one in the question cannot be told from it, but both have the same number of words.
        """
        shown = self._segments.search(request.question)
        if not shown:
            return -1, -1
        first, second = shown["first"].split(), shown["second"].split()
        context = _spaced(request.context)
        return context.find(f" {' '.join(first)} "), context.find(f" {' '.join(second[: len(first)])} ")


@lru_cache(maxsize=4)
def _spaced(text: str) -> str:
    """Words with single spaces between and around them."""
    return f" {' '.join(text.split())} "
