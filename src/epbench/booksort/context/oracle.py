"""A baseline without a model, which looks up both segments in the context of the request.

With the excerpt in the context it must always be right. If the context does not contain both segments, it guesses and must
be right half of the time. It knows nothing but the requests.
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
    """Answers by the positions of the segments in the request's context.

    Args:
        pack: The prompt pack of the requests, which determines where in a question the segments are.
    """

    name = identity = "oracle"

    def __init__(self, pack: Pack) -> None:
        parts = [
            re.escape(text) + (f"(?P<{field}>.+{'?' if field == 'first' else ''})" if field else "")
            for text, field, _, _ in string.Formatter().parse(pack.segments)
        ]
        self._segments = re.compile("".join(parts), re.DOTALL)

    def window(self) -> int | None:
        """Return None, because a text of any length can be searched."""
        return None

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """Return the number of words of the prompt and of its shared part."""
        shared = len(request.context.split())
        return shared + len(request.question.split()), shared

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`."""
        for request in requests:
            first, second = self._positions(request)
            found = first >= 0 and second >= 0
            earlier = first < second if found else RandomStream("oracle", request.id).unit() < 0.5
            yield Reply(request.key(self.identity), request.id, "A" if earlier else "B")

    def _positions(self, request: Request) -> tuple[int, int]:
        """Return where both segments begin in the context, or -1 for a segment that is not in it.

        In the question, the second segment cannot be separated from what follows it, but both have the same number of
        words.
        """
        shown = self._segments.search(request.question)
        if not shown:
            return -1, -1
        first, second = shown["first"].split(), shown["second"].split()
        context = _spaced(request.context)
        return context.find(f" {' '.join(first)} "), context.find(f" {' '.join(second[: len(first)])} ")


@lru_cache(maxsize=4)
def _spaced(text: str) -> str:
    """Return the words with single spaces between and around them."""
    return f" {' '.join(text.split())} "
