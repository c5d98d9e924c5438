"""Universes, ours and one's own: what is right is read, and every fault is one clear line."""

import json
import shutil
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from epbench import BadInput
from epbench.tulving.chapters.load import load_writer
from epbench.tulving.dataset.build import Recipe, draw_outline, make_book
from epbench.tulving.events import universe_files as module
from epbench.tulving.events.universe import load_universe, secondary_names
from epbench.tulving.events.universe_files import check_names, universe_names
from tests.refusals import refusal
from tests.tulving.own_universe import EVENTS, PLACES, QUALIFIERS, STYLES, details_of, toml, write_universe


@pytest.fixture
def folder(tmp_path):
    return write_universe(tmp_path / "harbour")


def refused(folder, size=12):
    return refusal(load_universe, str(folder), size)


def test_a_universe_of_ones_own_has_what_its_files_say(folder):
    universe = load_universe(str(folder), 12)
    assert (universe.name, universe.kind, universe.size) == ("harbour", "novel", 12)
    assert set(universe.spaces) < set(PLACES) and set(universe.contents) == set(EVENTS)
    assert all(date(2031, 3, 1) <= day <= date(2031, 12, 31) for day in universe.times)
    assert universe.details == {event: tuple(details_of(event)) for event in universe.contents}
    assert universe.coordinates.keys() == set(universe.spaces) and dict(universe.styles).keys() == STYLES.keys()
    assert universe.files_hash and load_universe("news").files_hash is None


def test_the_same_files_give_the_same_universe_anywhere(folder, tmp_path, monkeypatch):
    copy = shutil.copytree(folder, tmp_path / "elsewhere/harbour")
    monkeypatch.chdir(copy)
    assert load_universe(".", 12) == load_universe(str(folder), 12) == load_universe(f"{copy}/", 12)
    (copy / "universe.toml").write_text(toml() + "# a comment\n")
    changed = load_universe(str(copy), 12)
    assert changed.spaces == load_universe(str(folder), 12).spaces
    assert changed.files_hash != load_universe(str(folder), 12).files_hash


def test_a_packaged_name_means_the_packaged_universe(tmp_path, monkeypatch):
    write_universe(tmp_path / "news")
    monkeypatch.chdir(tmp_path)
    assert load_universe("news").files_hash is None and load_universe("./news", 12).files_hash


def test_qualifiers_fill_a_larger_universe(folder):
    universe = load_universe(str(folder), 48)
    assert {space.split()[0] for space in universe.spaces} == set(QUALIFIERS["spaces"])
    message = refused(folder, 49)
    assert message.startswith("a universe of 49 needs 49 names; ") and message.endswith(
        "contents.json, with the qualifiers of universe.toml, gives 48; make the universe smaller, or list more names"
    )


def test_locations_need_no_coordinates(folder):
    (folder / "locations.csv").write_text("name\n" + "\n".join(PLACES))
    assert load_universe(str(folder), 12).coordinates == {}


def test_main_characters_may_have_names_of_ones_own(folder):
    (folder / "first.txt").write_text("Aadi\nBrom Cato\n")
    (folder / "last.txt").write_text("Okonkwo-Lind\nPereira\nQuist\nRask\n")
    names = load_universe(str(folder), 12).entities
    assert {name.split()[0] for name in names} == {"Aadi", "Brom", "Cato"} and len(set(names)) == 12
    (folder / "last.txt").unlink()
    assert len(set(load_universe(str(folder), 12).entities)) == 12


@pytest.mark.parametrize("file", ["universe.toml", "locations.csv", "contents.json"])
def test_a_missing_file_is_named(folder, file):
    (folder / file).unlink()
    assert refused(folder).startswith(f"{folder / file}: the file is missing")


TOML_FAULTS = {
    "not TOML": ("kind = ", "not TOML ("),
    "a missing key": (toml(kind=None), ": the key 'kind' is missing; expected start, end, kind, styles, qualifiers"),
    "an unknown key": (toml(sort='"novel"'), ": found the unknown key 'sort', expected only start, end, kind"),
    "an unknown kind": (toml(kind='"western"'), "key 'kind': expected novel, news, scifi, found 'western'"),
    "a time for a date": (toml(end="2031-03-01T10:00:00"), "key 'end': expected a date such as 2024-01-31, found datet"),
    "an end before the start": (toml(end="2031-02-28"), "key 'end': expected a day from 2031-03-01 on, found 2031-02-28"),
    "no styles": (toml(styles={}), "key 'styles': expected at least one style, found none"),
    "styles of another type": (toml(styles=None).replace("[qual", 'styles = 3\n[qual'), "key 'styles': expected a table, found 3"),
    "a text for adjectives": (toml({"horror": "dark"}), "key 'styles.horror': expected a list of texts, found 'dark'"),
    "a number for an adjective": (toml({"horror": ["x", "y", 3]}), "key 'styles.horror': expected a text, found 3"),
    "two adjectives": (toml({"horror": ["a", "b"]}), "key 'styles.horror': expected 3 adjectives, found 2"),
    "a qualifier twice": (toml(qualifiers=QUALIFIERS | {"spaces": ["Old", "old"]}), "'old' twice"),
}  # fmt: skip


CSV_FAULTS = {
    "no name": ("place\nRope Walk", "column 'name' is missing; found: place"),
    "a short row": ("name,latitude,longitude\nRope Walk,1", "row 0: found 2 cells, expected 3"),
    "no rows": ("name\n", "expected at least one location, found no rows below the header"),
    "an empty name": ("name,latitude\nRope Walk,\n,\n", "row 1, field 'name': expected one line of text with"),
    "the mark of placeholders": ("name\nIdentity Lane", "row 0, field 'name': expected a text without '$' and the letters 'ent"),
    "a name twice": ("name\nRope Walk\nRope Walk", "row 1, field 'name': found 'Rope Walk' twice, expected each name once"),
    "a name inside another": ("name\nRope Walk\nOld Rope Walk", "found 'Rope Walk' inside 'Old Rope Walk', expected names that"),
    "no longitude": ("name,latitude,longitude\nRope Walk,3,", "row 0, field 'longitude': expected degrees from -180 to 180, found ''"),
    "a latitude out of range": ("name,latitude,longitude\nRope Walk,90.5,3", "row 0, field 'latitude': expected degrees from -90 to 90, found '90.5'"),
    "not a number": ("name,latitude,longitude\nRope Walk,3,nan", "row 0, field 'longitude': expected degrees from -180 to 180, found 'nan'"),
    "a kind of event": ("name\nKnot Contest", "contents.json: found 'Knot Contest' twice"),
}  # fmt: skip


KNOTS = details_of("Knot Contest")
JSON_FAULTS = {
    "not JSON": ("{", "not JSON ("),
    "a list": ("[]", "expected an object, found []"),
    "nothing": ("{}", "expected an object with a list of details for each kind of event, found none"),
    "a key twice": (f'{{"Gala": {json.dumps(KNOTS)}, "Gala": {json.dumps(KNOTS)}}}', "found the key 'Gala' twice, expected each key once"),
    "a text for details": ({"Gala": "Sang"}, "field 'Gala': expected a list, found 'Sang'"),
    "too few details": ({"Gala": KNOTS[:29]}, "key 'Gala': expected 30 details or more, found 29"),
    "a detail inside another": ({"Gala": [*KNOTS, f"{KNOTS[0]} and back"]}, f"key 'Gala': found {KNOTS[0]!r} inside"),
    "an event inside another": ({"Gala": KNOTS, "Gala Night": details_of("Night")}, "found 'Gala' inside 'Gala Night'"),
    "a location in a detail": ({"Gala": [*KNOTS, "Sang at the crane quay"]}, "key 'Gala': found the location 'Crane Quay' in a detail"),
    "half a character": ('{"\\ud83d": []}', "expected one line of text"),
}  # fmt: skip


NAME_FAULTS = {
    "no name": (" \n", "first.txt: expected at least one name, found none"),
    "a first name twice": ("Ann ANN", "first.txt, name 1: found 'ANN' twice, expected each name once"),
    "a mark": ("$x", "first.txt, name 0: expected a text without '$'"),
}
FAULTS = {
    "universe.toml": TOML_FAULTS, "locations.csv": CSV_FAULTS, "contents.json": JSON_FAULTS, "first.txt": NAME_FAULTS,
}  # fmt: skip


@pytest.mark.parametrize(("file", "fault"), [(file, fault) for file, faults in FAULTS.items() for fault in faults])
def test_a_fault_is_one_line_with_its_file_and_place(folder, file, fault):
    content, message = FAULTS[file][fault]
    (folder / file).write_text(content if isinstance(content, str) else json.dumps(content))
    found = refused(folder, 12 if file == "universe.toml" else 1)
    assert found.startswith(str(folder)) and file in found and message in found


def test_main_characters_are_never_named_like_side_characters(folder):
    taken = (module.NAMES / "secondary_last.txt").read_text().split()[7]
    (folder / "last.txt").write_text(f"Quist {taken}")
    assert f"last.txt, name 1: found {taken!r}, a name of side characters" in refused(folder)


@pytest.mark.parametrize("name", ["har bour", "-harbour", "a--b", "häfen", "h" * 65])
def test_a_folder_whose_name_cannot_name_a_dataset_is_refused(tmp_path, name):
    assert "the folder's name becomes part of the dataset's name" in refused(write_universe(tmp_path / name))


@pytest.mark.parametrize(("name", "book"), [("news", "short"), ("default", "long"), ("very", "long")])
def test_a_folder_whose_book_would_have_the_name_of_ours_is_refused(tmp_path, name, book):
    recipe = Recipe(book, str(write_universe(tmp_path / name)), universe_size=12)
    message = refusal(draw_outline, recipe)
    assert f"would be named {recipe.name}, which is the " in message and message.endswith("; rename the folder")


def test_templates_refuse_a_style_without_sentences_and_a_model_does_not(folder):
    (folder / "universe.toml").write_text(toml({"western": ["dusty", "laconic", "wide"]}))
    universe = load_universe(str(folder), 12)
    message = refusal(load_writer, "template", universe)
    assert "universe harbour, style 'western': the template writer has no sentences in this style" in message
    assert load_writer("hf:x", universe, folder=folder).name == "hf:x"


@pytest.mark.parametrize("kind", ["novel", "news", "scifi"])
def test_a_book_from_a_universe_of_ones_own_tells_every_event(folder, kind):
    (folder / "universe.toml").write_text(toml(kind=f'"{kind}"'))
    recipe = Recipe("short", str(folder), universe_size=12)
    data = make_book(recipe)
    assert recipe.name == "harbour-short"
    assert len(data.chapters) == 20 and data.writing and not data.writing.dropped
    assert data.universe_hash == load_universe(str(folder), 12).files_hash


names = st.text(st.sampled_from("ab $\n\u00e9\ud800"), max_size=6) | st.sampled_from([*PLACES, *EVENTS])
values = st.none() | st.integers() | names | st.lists(names, max_size=3)
details = values | st.just(KNOTS) | st.lists(names, min_size=30, max_size=32)
contents = st.dictionaries(names, details, max_size=4) | values


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    places=st.none() | st.lists(names, max_size=5),
    points=st.lists(st.sampled_from(["", "1", "-91", "x", "1e400"]), min_size=2, max_size=2),
    contents=st.none() | contents,
    keys=st.dictionaries(st.sampled_from(["start", "end", "kind", "other"]), st.sampled_from(["1", '"news"', "2031-05-01"])),
    styles=st.just(STYLES) | st.dictionaries(st.sampled_from(["horror", "b"]), values, max_size=2),
    size=st.integers(0, 15),
)  # fmt: skip
def test_any_universe_is_read_or_refused_in_one_line(tmp_path, places, points, contents, keys, styles, size):
    """Whatever the files hold; and what is read has distinct names of the size asked for."""
    folder = tmp_path / "harbour"
    shutil.rmtree(folder, ignore_errors=True)
    write_universe(folder)
    if places is not None:
        rows = [",".join([json.dumps(name), *points]) for name in places]
        (folder / "locations.csv").write_text("\n".join(["name,latitude,longitude", *rows]))
    if contents is not None:
        (folder / "contents.json").write_text(json.dumps(contents))
    plain = {name: words for name, words in styles.items() if "\ud800" not in str(words) and words is not None}
    (folder / "universe.toml").write_text(toml(plain, **keys))
    try:
        universe = load_universe(str(folder), size)
    except BadInput as error:
        assert "\n" not in str(error) and len(str(error)) < 1000
        return
    for items in (universe.times, universe.spaces, universe.contents, universe.entities):
        assert len(set(items)) == size >= 1
    assert not any("$" in name or "\n" in name for name in (*universe.spaces, *universe.contents))


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


def test_the_seed_changes_the_universe_and_a_large_one_qualifies_every_name():
    assert load_universe(seed=1).spaces != load_universe(seed=2).spaces
    assert load_universe(seed=3) == load_universe(seed=3)
    universe = load_universe("default", 1000)
    assert len(set(universe.spaces)) == len(set(universe.contents)) == len(set(universe.entities)) == 1000
    check_names(universe.spaces, "spaces")
    check_names(universe.contents, "contents")


def test_a_universe_larger_than_the_dates_is_refused_with_the_numbers():
    assert "gives 1096; make the universe smaller, or move start and end" in refused("default", 2000)
    assert refused("default", 0) == "universe size 0: expected at least 1"
    assert "default, family, news, scifi" in refused("mars")
