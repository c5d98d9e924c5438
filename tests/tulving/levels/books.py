"""Short books of every level, each made once for all tests."""

from functools import cache

from epbench.tulving.dataset.build import Outline, Recipe, draw_outline, make_book
from epbench.tulving.dataset.schema import BookData

LEVELS = (2, 3, 4, 5)
UNIVERSE = "ward"


@cache
def outline(level: int, book: str = "short") -> Outline:
    return draw_outline(Recipe(book, UNIVERSE, level=level))


@cache
def book(level: int, name: str = "short") -> BookData:
    return make_book(Recipe(name, UNIVERSE, level=level), outline(level, name))
