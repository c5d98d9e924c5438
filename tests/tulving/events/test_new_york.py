"""The map of Figure 6: boroughs, and the coordinates of well-known spaces."""

import pytest

from epbench.tulving.events.new_york import CITY, _content, boroughs, in_city, known_spaces
from epbench.tulving.events.universe import load_universe


def test_every_space_of_our_new_york_has_coordinates_in_or_around_the_city():
    universe = load_universe()
    assert universe.coordinates.keys() == set(universe.spaces)
    outside = {name for name, point in universe.coordinates.items() if not in_city(point)}
    assert len(universe.spaces) - len(outside) >= 90
    for south, west in universe.coordinates.values():
        assert 40.4 < south < 41.5 and -74.3 < west < -73.4  # day trips: Storm King, Jones Beach
    assert known_spaces(universe.spaces) == universe.coordinates


def test_the_map_has_five_boroughs_in_the_city():
    assert boroughs().keys() == {"Manhattan", "Bronx", "Brooklyn", "Queens", "Staten Island"}
    for name, polygons in boroughs().items():
        for polygon in polygons:
            assert len(polygon) >= 10 and len(set(polygon)) == len(polygon), name
            assert all(in_city(point) for point in polygon), name
    (south, west), (north, east) = CITY
    assert (south, west) < (north, east) and not in_city((41.0, -73.9))
    assert all(40.4 < s < 41.5 and -74.3 < w < -71.8 for s, w in _content().spaces.values())


@pytest.mark.parametrize(
    ("space", "borough"),
    [
        ("Empire State Building", "Manhattan"), ("Central Park", "Manhattan"), ("Yankee Stadium", "Bronx"),
        ("Prospect Park", "Brooklyn"), ("Coney Island", "Brooklyn"), ("Citi Field", "Queens"),
        ("Rockaway Beach", "Queens"), ("Historic Richmond Town", "Staten Island"), ("Statue of Liberty", None),
        ("Brooklyn Museum", "Brooklyn"), ("Hoboken Terminal", None), ("Bronx Zoo", "Bronx"),
    ],
)  # fmt: skip
def test_spaces_lie_in_their_boroughs(space, borough):
    from matplotlib.path import Path as Outline

    point = known_spaces([space])[space]
    inside = [name for name, polygons in boroughs().items() if any(Outline(p).contains_point(point) for p in polygons)]
    assert inside == ([borough] if borough else [])
