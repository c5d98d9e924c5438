"""Short books of every level, each made once for all tests."""

from functools import cache

import pytest

from epbench.tulving.dataset.build import Outline, Recipe, draw_outline, make_book
from epbench.tulving.dataset.schema import BookData

LEVELS = (2, 3, 4, 5)
UNIVERSE = "ward"
UNIVERSES = ("default", "family", "news", "scifi", "software", "ward")
_FAST = {(2, "news"), (3, "software"), (4, "default"), (5, "family")}
_SLOW = {(4, "scifi"), (5, "ward")}


def _marks(level: int, universe: str) -> tuple[pytest.MarkDecorator, ...]:
    if (level, universe) in _FAST:
        return ()
    return (pytest.mark.slow,) if (level, universe) in _SLOW else (pytest.mark.slow, pytest.mark.nightly)


EVERY_BOOK = [
    pytest.param(level, universe, marks=_marks(level, universe)) for level in LEVELS for universe in UNIVERSES
]
"""Each level of each universe: one of each level is among the fast tests, and one of each universe among them or the slow ones."""


@cache
def outline(level: int, book: str = "short", universe: str = UNIVERSE) -> Outline:
    return draw_outline(Recipe(book, universe, level=level))


@cache
def book(level: int, name: str = "short", universe: str = UNIVERSE) -> BookData:
    return make_book(Recipe(name, universe, level=level), outline(level, name, universe))
