"""Short books of every level, each made once for all tests."""

from functools import cache

import pytest

from epbench.tulving.dataset.build import Outline, Recipe, draw_outline, make_book
from epbench.tulving.dataset.schema import BookData

LEVELS = (2, 3, 4, 5)
UNIVERSE = "ward"
UNIVERSES = ("default", "family", "news", "scifi", "software", "ward")
_SLOW = {(2, "news"), (3, "software"), (4, "default"), (4, "scifi"), (5, "family"), (5, "ward")}


def _marks(level: int, universe: str) -> tuple[pytest.MarkDecorator, ...]:
    return (pytest.mark.slow,) if (level, universe) in _SLOW else (pytest.mark.slow, pytest.mark.nightly)


EVERY_BOOK = [
    pytest.param(level, universe, marks=_marks(level, universe)) for level in LEVELS for universe in UNIVERSES
]
"""Each level of each universe: all levels and all universes are among the slow tests, the other pairs among the nightly ones."""

GRADED = [pytest.param(4, "middle"), *(pytest.param(level, "long", marks=pytest.mark.slow) for level in (4, 5))]
"""Levels and books whose facts take other chapters."""


def recipe(level: int, name: str, universe: str) -> Recipe:
    """The recipe of a book; `middle` has the first 60 events of `long`, made in a third of the time."""
    return Recipe("long", universe, level, events=60) if name == "middle" else Recipe(name, universe, level)


@cache
def outline(level: int, name: str = "short", universe: str = UNIVERSE) -> Outline:
    return draw_outline(recipe(level, name, universe))


@cache
def book(level: int, name: str = "short", universe: str = UNIVERSE) -> BookData:
    return make_book(recipe(level, name, universe), outline(level, name, universe))
