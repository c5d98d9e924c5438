"""The files of scenes and spaces: ours are sound, and a faulty one is refused by name."""

import json
import re
import shutil
from pathlib import Path

import pytest

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.tulving.events.universe import load_universe
from epbench.tulving.scenes.patterns import Sentence, expansions, longest_literal, with_right_articles
from epbench.tulving.scenes.scene_files import (
    MOST_LITERAL_WORDS,
    SCENE_SLOTS,
    TALES,
    load_scenery,
    read_places,
    read_scenes,
    sentences_of,
    tale_styles,
    tales,
)
from tests.tulving.own_universe import write_universe

TOLD = (
    "[The host|A girl|One man] [read|called] out [a name|a number|one word] [twice|again], and {who} [laughed|waited]."
)


def sentences(n=8):
    """Different sentences, each varied enough."""
    return [f"{TOLD[:-1]} in way {letter}." for letter in "abcdefgh"[:n]]


def scene(**fields):
    told = {"begin": sentences(), "middle": sentences(), "end": sentences()}
    return {"people": "the guests", "what": ["odd thing", "strange thing"], "things": list("abcdef"), **told, **fields}


@pytest.fixture
def scenes(tmp_path):
    path = tmp_path / "scenes.json"

    def read(**fields):
        path.write_text(json.dumps({"Knot Contest": scene(**fields)}))
        return read_scenes(path, ["Knot Contest"])

    return read


def test_a_scene_is_read(scenes):
    read = scenes(begin=[f"out: {one}" for one in sentences(4)])["Knot Contest"]
    assert read.people == "the guests" and len(read.middle) == 8
    assert not sentences_of(read.begin, True) and len(sentences_of(read.begin, False)) == 4
    assert len(sentences_of(read.middle, True)) == len(sentences_of(read.middle, False)) == 8


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"begin": [TOLD] * 2}, "begin: expected at least 4"),
        ({"begin": [TOLD] * 4}, "each text once"),
        ({"people": "the {thing}"}, "without marks"),
        ({"things": ["the identity card", *"bcdef"]}, "without marks"),
        ({"what": ["a knot contest by night", "other"]}, "found the name of the event"),
        ({"end": [TOLD.replace("{who}", "{other}"), *sentences(3)]}, "unknown slot 'other'"),
        ({"end": [TOLD.replace("{who}", "{his}"), *sentences(3)]}, "expected {who}"),
        (
            {"end": ["[A man|One girl] [came|went], and {who} left.", *sentences(3)]},
            "choices for at least 8 texts, found",
        ),
        (
            {"end": ["[A|B|C|D] [a|b|c] [d|e] and one two three four five six seven.", *sentences(3)]},
            "at most 6 words in a row",
        ),
        ({"end": [TOLD.removesuffix("."), *sentences(3)]}, "a full stop"),
        ({"end": [TOLD.replace("out", "2026"), *sentences(3)]}, "digits"),
        ({"end": [f"[{TOLD}", *sentences(3)]}, "in pairs"),
    ],
)
def test_a_faulty_scene_is_refused_by_name(scenes, fields, message):
    with pytest.raises(BadInput, match="Knot Contest") as error:
        scenes(**fields)
    assert message in str(error.value)


def test_a_kind_of_event_may_be_told_with_the_sentences_of_another(tmp_path):
    path, short = tmp_path / "scenes.json", {key: scene()[key] for key in ("people", "what", "things")}

    def read(**gull_count):
        path.write_text(
            json.dumps({"Knot Contest": scene(), "Gull Count": {**short, "people": "the counters", **gull_count}})
        )
        return read_scenes(path, ["Knot Contest", "Gull Count"])

    found = read(told_like="Knot Contest")
    assert found["Gull Count"].middle == found["Knot Contest"].middle and found["Gull Count"].people == "the counters"
    for faulty, message in (
        (
            {"told_like": "Gull Count"},
            "told_like: expected a kind of event with sentences of its own, found 'Gull Count'",
        ),
        (
            {"told_like": "Crab Race"},
            "told_like: expected a kind of event with sentences of its own, found 'Crab Race'",
        ),
        ({"told_like": "Knot Contest", "end": sentences()}, "found told_like and end, expected one or the other"),
        ({"begin": sentences()}, "middle: expected at least 6, found 0"),
    ):
        with pytest.raises(BadInput, match="Gull Count") as error:
            read(**faulty)
        assert message in str(error.value)


def test_every_kind_of_event_and_every_location_is_there(tmp_path, scenes):
    with pytest.raises(BadInput, match="kind of event 'Gull Count' is missing"):
        scenes()
        read_scenes(tmp_path / "scenes.json", ["Knot Contest", "Gull Count"])
    kind = {"indoors": False, "features": [f"the {x}" for x in "abcdefgh"], "air": sentences()}
    path = tmp_path / "places.json"
    path.write_text(json.dumps({"kinds": {"quay": kind}, "kind_of": {"Crane Quay": "quay"}}))
    assert read_places(path, ["Crane Quay"])["Crane Quay"].preposition == "at"
    with pytest.raises(BadInput, match="location 'Rope Loft' is missing"):
        read_places(path, ["Crane Quay", "Rope Loft"])
    path.write_text(json.dumps({"kinds": {"quay": kind}, "kind_of": {"Crane Quay": "loft"}}))
    with pytest.raises(BadInput, match="location 'Crane Quay': expected quay, found 'loft'"):
        read_places(path, ["Crane Quay"])


def test_a_universe_without_scenes_has_level_one_only(tmp_path):
    universe = load_universe(str(write_universe(tmp_path / "harbour")), 12)
    with pytest.raises(BadInput, match=r"scenes\.json: the file is missing; books of level 2 and higher need"):
        load_scenery(universe)


@pytest.mark.parametrize("name", ["default", "family", "news", "scifi", "software", "ward"])
def test_our_universes_have_scenes_for_everything(name):
    universe = load_universe(name)
    scenery = load_scenery(universe)
    assert set(scenery.scenes) == set(universe.contents) and set(scenery.places) == set(universe.spaces)
    assert set(universe.styles) <= set(tale_styles())


def test_the_examples_in_the_docs_are_files_of_scenes_and_places(tmp_path):
    """Each list that ends with "…" is filled up with sentences of ours."""
    page = (Path(__file__).parents[3] / "docs/tulving.md").read_text("utf-8")
    examples = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    scenes, places = (example for example in examples if "Poetry Slam" in example or "kinds" in example)
    for told in (scenes["Poetry Slam"], places["kinds"]["stage"]):
        for part in set(told) & {"begin", "middle", "end", "air"}:
            assert told[part].pop() == "…"
            told[part] += sentences(7)
    (tmp_path / "scenes.json").write_text(json.dumps(scenes))
    (tmp_path / "places.json").write_text(json.dumps(places))
    read = read_scenes(tmp_path / "scenes.json", ["Poetry Slam", "Open Stage"])
    assert read["Open Stage"].begin == read["Poetry Slam"].begin
    assert (
        read_places(tmp_path / "places.json", ["Old Vaudeville", "Lantern Cellar"])["Old Vaudeville"].preposition
        == "on"
    )


def test_names_with_qualifiers_have_the_scenes_of_the_plain_names():
    universe = load_universe("ward", 200)
    scenery = load_scenery(universe)
    content = universe.contents[0]
    assert content != universe.listed[content] and content.endswith(universe.listed[content])
    assert len({id(scenery.scenes[one]) for one in universe.contents}) < 200


FILL = {
    "who": "Amrita", "him": "her", "his": "her", "himself": "herself", "thing": "the old table", "feature": "the gate",
    "people": "the guests", "when": "on May 3, 2026", "where": "at Rope Loft", "name": "Amrita Bangura",
    "deed": "sang a song", "event": "the Knot Contest", "other": "Jonas Weir",
}  # fmt: skip


FACT_SLOTS = {
    "time": {"when"}, "space": {"where"}, "name": {"name"}, "detail": {"deed"}, "event": {"event"}, "side": {"other", "deed"},
    "talk": {"other"},
}  # fmt: skip
"""The slots that a sentence on each fact must have."""


def assert_varied(texts, slots, fewest, fewest_texts):
    for told in (Sentence(text.removeprefix("in: ").removeprefix("out: ")) for text in texts):
        assert told.slots <= slots and expansions(told.pattern) >= fewest_texts
        assert longest_literal(told.pattern) <= MOST_LITERAL_WORDS
        assert not re.search(r"entity(?!\})|[$\d]", told.text) and told.text.rstrip(']"”')[-1] in ".!?"
        assert "who" in told.slots or not told.slots & {"him", "his", "himself"}
    assert len(set(texts)) >= fewest


@pytest.mark.parametrize("tone", sorted(path.stem.removeprefix("facts_") for path in TALES.glob("facts_*.json")))
def test_sentences_on_facts_are_whole(tone):
    for what, slots in FACT_SLOTS.items():
        texts, slot = tales(f"facts_{tone}")[what], min(slots - {"deed"} or slots)
        assert_varied(texts, SCENE_SLOTS.union(*FACT_SLOTS.values()), 24, 6)
        for sentence in sentences_of(texts, True) + sentences_of(texts, False):
            assert slots <= sentence.slots
            for seed in range(3):
                text = sentence.write(RandomStream(seed), FILL.__getitem__)
                assert FILL[slot] in text.replace("On May", "on May").replace("At Rope", "at Rope").replace(
                    "The Knot", "the Knot"
                )
                assert text == with_right_articles(text) and not set(text) & set("[]{}|")


@pytest.mark.parametrize("style", tale_styles())
def test_every_style_has_sentences_that_are_whole(style):
    for part, fewest in {"hero": 16, "thought": 10, "air": 12, "closing": 8}.items():
        texts = tales(f"style_{style}")[part]
        assert_varied(texts, SCENE_SLOTS, fewest, 12)
        for sentence in sentences_of(texts, True) + sentences_of(texts, False):
            text = sentence.write(RandomStream(style, part), FILL.__getitem__)
            assert "  " not in text and text[-1] in '.!?"' and not set(text) & set("[]{}|")


def test_a_copy_of_our_universe_is_a_universe_of_ones_own(tmp_path):
    folder = shutil.copytree(load_universe("ward").folder, tmp_path / "town")
    assert set(load_scenery(load_universe(str(folder))).scenes) == set(load_universe(str(folder)).contents)


def test_sentences_may_be_bound_to_indoors_or_outdoors():
    told = {where: sentences_of([TOLD, f"in: {TOLD}", f"out: {TOLD}"], where) for where in (True, False)}
    assert [sentence.text for sentence in told[True] + told[False]] == [TOLD] * 4
