"""The map of New York on which Figure 6 is drawn: outlines of the boroughs, and where well-known spaces are.

Our own universes have their coordinates with them; the spaces of the file are further ones, since published books are
about New York too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec import Struct

from epbench.files.json_files import read_typed
from epbench.files.packaged import packaged
from epbench.files.typed import Number
from epbench.tulving.events.universe_files import read_universe_files

Point = tuple[Number, Number]
"""Latitude and longitude in degrees."""

CITY = ((40.49, -74.26), (40.92, -73.69))
"""The south-western and the north-eastern corner of New York City."""


class _NewYork(Struct, frozen=True):
    boroughs: dict[str, list[list[Point]]]
    spaces: dict[str, Point]


@cache
def _content() -> _NewYork:
    return read_typed(packaged("epbench.tulving", "new_york.json"), _NewYork)


def boroughs() -> Mapping[str, Sequence[Sequence[Point]]]:
    """Return the outlines of the boroughs, simplified: by name, polygons whose first point closes them."""
    return _content().boroughs


def known_spaces(names: Iterable[str]) -> Mapping[str, Point]:
    """Return the coordinates of those names that are well-known spaces of the city, to about a hundred metres.

    They are those of the file and of our `default`.
    """
    ours = read_universe_files("default").locations
    known = _content().spaces | {name: point for name, point in ours.items() if point is not None}
    return {name: known[name] for name in names if name in known}


def in_city(point: Point) -> bool:
    """Whether a point lies in the rectangle around the city."""
    return all(low <= value <= high for low, value, high in zip(CITY[0], point, CITY[1], strict=True))
