"""Which dates and which names of a universe a text mentions, found in one pass over its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from epbench.tulving.events.dates import find_dates
from epbench.tulving.events.universe import Universe

_WORD = re.compile(r"\w+")


class Found(NamedTuple):
    """A mention in a text.

    Attributes:
        fact: `date`, `location`, `entity` or `content`.
        name: The name, or the date as it is written.
    """

    fact: str
    name: str


class Vocabulary:
    """The names of the spaces, entities and contents of a universe, by their first words."""

    def __init__(self, universe: Universe) -> None:
        self._by_first_word: dict[str, list[tuple[str, Found]]] = {}
        for fact, names in (
            ("location", universe.spaces),
            ("entity", universe.entities),
            ("content", universe.contents),
        ):
            self._add(fact, names)

    def _add(self, fact: str, names: Iterable[str]) -> None:
        for name in names:
            lowered = name.lower()
            first = _WORD.search(lowered)
            assert first is not None, "names have letters"
            self._by_first_word.setdefault(first[0], []).append((lowered, Found(fact, name)))

    def mentions(self, text: str) -> Iterator[Found]:
        """Yield the dates in any format, then the names as whole words in any case, in the order of the text."""
        for _, _, written in find_dates(text):
            yield Found("date", written)
        lowered = text.lower()
        if self._by_first_word.keys().isdisjoint(_WORD.findall(lowered)):
            return
        for match in _WORD.finditer(lowered):
            for name, found in self._by_first_word.get(match[0], ()):
                end = match.start() + len(name)
                if lowered.startswith(name, match.start()) and not lowered[end : end + 1].isalnum():
                    yield found
