"""Who answers: a language model, or the oracle, a baseline without one that looks up both segments in its context.

With the excerpt in context the oracle must always be right. If the context does not have both segments it guesses, and must
be right by chance. It knows nothing but the requests.
"""

from __future__ import annotations

import re
import string
from functools import lru_cache

from epbench.booksort.context.prompts import Pack
from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.models.load import Options, load_model, refuse_variant
from epbench.models.protocol import Model, Request, RuleBasedReader


class Oracle(RuleBasedReader):
    """Answers by the positions of the segments in the request's context.

    Args:
        pack: the prompts with which the requests were written; they say where the segments are in a question.
    """

    name = "oracle"

    def __init__(self, pack: Pack) -> None:
        parts = [
            re.escape(text) + (f"(?P<{field}>.+{'?' if field == 'first' else ''})" if field else "")
            for text, field, _, _ in string.Formatter().parse(pack.segments)
        ]
        self._segments = re.compile("".join(parts), re.DOTALL)

    def answer_to(self, request: Request) -> str:
        """Answer with the label of the segment that comes first in the context."""
        first, second = self._positions(request)
        both_present = first >= 0 and second >= 0
        earlier = first < second if both_present else RandomStream("oracle", request.id).unit() < 0.5
        return "A" if earlier else "B"

    def _positions(self, request: Request) -> tuple[int, int]:
        """Return where the segments begin in the context, -1 for a segment that is not in it.

        The question does not show where the second segment ends, but both segments have the same number of words.
        """
        shown = self._segments.search(request.question)
        if not shown:
            return -1, -1
        first, second = shown["first"].split(), shown["second"].split()
        context = _spaced(request.context)
        return context.find(f" {' '.join(first)} "), context.find(f" {' '.join(second[: len(first)])} ")


@lru_cache(maxsize=4)
def _spaced(text: str) -> str:
    """Put single spaces between and around all words."""
    return f" {' '.join(text.split())} "


def load_reader(name: str, pack: Pack, options: Options | None = None) -> Model:
    """Find the reader of this name. The weights of a model are not loaded yet.

    Args:
        name: `oracle`, or a model; see `load_model`.
        pack: the prompts by which the oracle is asked.
        options: how a model is run or reached.

    Raises:
        BadInput: the name is unknown, or something that the model needs is not installed.
    """
    if name == Oracle.name:
        refuse_variant(name, options)
        return Oracle(pack)
    if name == "lexical":
        raise BadInput(
            "model 'lexical': it answers questions about events and knows nothing of order; the offline baseline is "
            "oracle"
        )
    return load_model(name, options, also=["oracle (offline)"])
