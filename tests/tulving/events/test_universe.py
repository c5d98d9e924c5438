import pytest

from epbench import BadInput
from epbench.tulving.events.universe import load_universe, secondary_names
from epbench.tulving.events.universe_files import check_names, universe_names


@pytest.mark.parametrize("name", universe_names())
def test_every_universe_has_what_the_paper_asks_for(name):
    universe = load_universe(name)
    for items in (universe.times, universe.spaces, universe.entities, universe.contents):
        assert len(items) == len(set(items)) == 100
    assert all(len(details) >= 30 == len(set(details)) for details in universe.details.values())
    assert all(len(adjectives) == 3 for adjectives in universe.styles.values())
    assert len(universe.styles) == 8 or name != "default"
    years = {day.year for day in universe.times}
    assert years <= ({2224, 2225, 2226} if name == "scifi" else {2024, 2025, 2026})


@pytest.mark.parametrize("name", universe_names())
def test_no_name_stands_inside_another_across_the_lists(name):
    universe = load_universe(name)
    check_names([*universe.spaces, *universe.contents, *universe.entities], name)
    forbidden = [word.lower() for word in (*universe.spaces, *universe.entities)]
    details = "\n".join(detail.lower() for details in universe.details.values() for detail in details)
    assert not [word for word in forbidden if word in details]


@pytest.mark.slow
def test_secondary_names_are_100_000_and_no_main_name():
    names = list(secondary_names())
    assert len(names) == len(set(names)) == 100_000
    everything = "\n".join(names)
    for universe in ("default", "news", "scifi"):
        assert not [name for name in load_universe(universe, 1000).entities if name in everything]


def test_seed_and_size_change_the_universe():
    assert load_universe(seed=1).spaces != load_universe(seed=2).spaces
    assert load_universe(seed=3) == load_universe(seed=3)


def test_a_large_universe_qualifies_every_name():
    universe = load_universe("default", 1000)
    assert len(set(universe.spaces)) == len(set(universe.contents)) == len(set(universe.entities)) == 1000
    check_names(universe.spaces, "spaces")
    check_names(universe.contents, "contents")


def test_a_universe_larger_than_the_dates_is_refused_with_the_numbers():
    with pytest.raises(
        BadInput, match=r"2000 needs 2000 days.* gives 1096; make the universe smaller, or move start and end"
    ):
        load_universe("default", 2000)


@pytest.mark.parametrize("size", [0, -1])
def test_a_universe_without_values_is_refused(size):
    with pytest.raises(BadInput, match=f"universe size {size}: expected at least 1"):
        load_universe("default", size)


def test_the_error_of_an_unknown_universe_lists_the_names():
    with pytest.raises(BadInput, match="default, family, news, scifi"):
        load_universe("mars")
