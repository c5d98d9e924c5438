"""Short books of every level, each made once for all tests."""

from functools import cache

from epbench.tulving.dataset.build import Outline, Recipe, draw_outline, make_book
from epbench.tulving.dataset.schema import BookData

LEVELS = (2, 3, 4, 5)
UNIVERSE = "ward"


@cache
def outline(level: int, book: str = "short", universe: str = UNIVERSE) -> Outline:
    return draw_outline(Recipe(book, universe, level=level))


@cache
def book(level: int, name: str = "short", universe: str = UNIVERSE) -> BookData:
    return make_book(Recipe(name, universe, level=level), outline(level, name, universe))
