"""What each text of a proposed universe must be, and the pack that asks for them."""

import pytest

from epbench.files.packaged import packaged
from epbench.tulving.events.universe_files import KINDS, LEAST_DETAILS
from epbench.tulving.proposing import Part, check, load_pack
from epbench.tulving.scenes.scene_files import FEWEST, tale_styles
from tests.refusals import refusal

PACK = load_pack()
AIR = "[Salt|Fog|Rain] [blew|came|drifted] over {feature} [at dawn|at night|all day]."
OK = [
    ("settings", "first_day", "2024-01-31", {}, ["9"]),
    ("settings", "last_day", "2024-02-08", {"first_day": ["2024-01-31"]}, ["9"]),
    ("settings", "events", "Late", {"events": ["Grand"]}, ["9"]),
    ("kinds", "kinds", "market square", {"kinds": ["kitchen"]}, []),
    ("place", "features", "the back door", {}, []),
    ("place", "air", AIR, {}, []),
    ("locations", "quay", "Rope Quay", {"yard": ["Rope Yard"]}, []),
    ("contents", "contents", "Gull Count", {}, ["Rope Quay"]),
    ("review", "keep", "Rope Quay", {}, ["Rope Quay"]),
    ("details", "details", "Tied a bowline", {"details": ["Tied a knot"]}, ["Rope Quay"]),
    ("scene", "what", "tally of the birds", {}, ["Gull Count"]),
    ("names", "first", "Zora", {"last": ["Quack"]}, {"rope"}),
]
REFUSED = [
    ("settings", "first_day", "31 January 2024", {}, ["9"], "expected a date such as 2024-01-31"),
    ("settings", "first_day", "2024-02-31", {}, ["9"], "expected a day of the calendar"),
    ("settings", "last_day", "2024-02-07", {"first_day": ["2024-01-31"]}, ["9"], "at least 9 days after"),
    ("settings", "last_day", "2024-02-07", {}, ["9"], "at least 9 days after"),
    ("settings", "kind", "western", {}, ["9"], "expected novel, news or scifi"),
    ("settings", "styles", "western", {}, ["9"], "expected one of the ten styles"),
    ("settings", "spaces", "Old", {"spaces": ["Old"]}, ["9"], "twice"),
    ("kinds", "kinds", "Market Square", {}, [], "one or two words in small letters"),
    ("place", "setting", "outside", {}, [], "expected indoors or outdoors"),
    ("place", "features", "back door", {}, [], "begins with the, a or an"),
    ("place", "features", "the [back|front] door", {}, [], "expected a phrase without marks"),
    ("place", "air", "It [rained|snowed].", {}, [], "at least 8 texts"),
    ("place", "air", AIR[:-1], {}, [], "a full stop"),
    ("locations", "quay", "Quay", {"yard": ["Old Quay"]}, [], "inside 'Old Quay'"),
    ("locations", "quay", "Old Quay.", {}, [], "without a mark at its end"),
    ("contents", "contents", "Old Quay Race", {}, ["Old Quay"], "found 'Old Quay' inside"),
    ("contents", "contents", "Entity Hunt", {}, [], "the letters 'entity'"),
    ("review", "keep", "Quay", {}, ["Old Quay"], "expected one of the texts"),
    ("details", "details", "Swept the old quay twice", {}, ["Old Quay"], "the location 'Old Quay'"),
    ("details", "details", "tied a knot", {"details": ["Tied a knot"]}, [], "twice"),
    ("scene", "what", "the tally of the birds", {}, ["Gull Count"], "without an article"),
    ("scene", "what", "one two three four five six seven", {}, ["Gull Count"], "up to six words"),
    ("scene", "things", "the gull count book", {}, ["Gull Count"], "the name of the event"),
    ("scene", "begin", "{hero} [sat|stood|knelt] [here|there|near].", {}, ["Gull Count"], "unknown slot 'hero'"),
    ("names", "first", "Zora Ann", {}, set(), "one word"),
    ("names", "first", "Quack", {"last": ["Quack"]}, set(), "twice"),
    ("names", "last", "Rope", {}, {"rope"}, "found 'Rope' twice"),
]


def form_of(task, part):
    word = Part(1, 1, r"\S+", "one word") if task == "names" else Part(1, 1)
    text = Part(1, 1, ".+", "one of the texts")
    return PACK.parts.get(task, {}).get(part, text if task == "review" else word)


@pytest.mark.parametrize(("task", "part", "text", "kept", "beside"), OK, ids=lambda value: str(value)[:20])
def test_a_good_text_passes(task, part, text, kept, beside):
    check(task, part, form_of(task, part), text, {"first_day": [], part: [], **kept}, beside)


@pytest.mark.parametrize(("task", "part", "text", "kept", "beside", "why"), REFUSED, ids=lambda value: str(value)[:20])
def test_a_faulty_text_is_refused_with_a_reason(task, part, text, kept, beside, why):
    refused = refusal(check, task, part, form_of(task, part), text, {"first_day": [], part: [], **kept}, beside)
    assert why in refused and part in refused


def test_side_characters_keep_their_names():
    name = packaged("epbench.tulving", "names/secondary_last.txt").read_text("utf-8").split()[0]
    refused = refusal(check, "names", "last", form_of("names", "last"), name, {"first": [], "last": []}, set())
    assert "a name of side characters" in refused


def test_the_pack_asks_for_what_the_files_need():
    """The numbers and choices that it states are those of the checks of the files."""
    parts = PACK.parts
    assert parts["details"]["details"].needed == LEAST_DETAILS
    for task in ("place", "scene"):
        for part in parts[task].keys() & FEWEST.keys():
            assert parts[task][part].needed == FEWEST[part] < parts[task][part].asked
    assert {part for task in ("place", "scene") for part in parts[task]} >= FEWEST.keys()
    assert parts["settings"]["styles"].form.split("|") == tale_styles()
    assert set(parts["settings"]["kind"].form.split("|")) == set(KINDS)
    assert all(style in PACK.prompts["settings"] for style in tale_styles())


def test_another_pack_takes_its_place(tmp_path):
    text = packaged("epbench.tulving", "proposing.toml").read_text("utf-8")
    own = tmp_path / "own.toml"
    own.write_text(text.replace("Plan a world", "Sketch a world").replace("asked = 36", "asked = 5"))
    assert "Sketch a world" in load_pack(own).prompts["settings"]
    assert load_pack(own).parts == PACK.parts
    own.write_text(text.replace("Plan a world about this theme: {theme}", "Plan a world."))
    assert "prompts.settings: expected a prompt with {theme}" in refusal(load_pack, own)
    own.write_text(text.replace("repair = ", "mend = "))
    assert "own.toml, field 'repair'" in refusal(load_pack, own)
