"""How events go, what spaces are like, and how facts are told: the files of sentences, checked.

`scenes.json` of a universe has an object for each kind of event:

- `people`: who takes part, as a plural with an article (`the poets`);
- `what`: phrases that tell what it is without its name, without an article (`evening of spoken verse`);
- `things`: what is there, with an article (`the microphone stand`);
- `begin`, `middle`, `end`: sentences with choices (see `patterns`) that tell it in its order; or instead of these
  `told_like`, another kind of event whose sentences tell this one, too, with its own people and things.

Its `places.json` has `kinds` (for each kind of space `indoors`, its `features`, sentences on its `air`, and the `preposition`
of its names if that is not `at`), and `kind_of`, the kind of each location.

Every universe shares `data/tales/facts_<tone>.json` (tone `gathering` or `emergency`: how facts are told) and
`data/tales/style_<style>.json` (what each style adds): lists of sentences with choices by what they tell. A sentence that
begins with `in: ` or `out: ` is only told indoors or outdoors.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from epbench.errors import BadInput
from epbench.files.json_files import read_typed
from epbench.files.packaged import packaged
from epbench.files.text import shown
from epbench.tulving.events.universe import Universe
from epbench.tulving.events.universe_files import SCENE_FILES, read_universe_files
from epbench.tulving.scenes.patterns import Sentence, expansions, has_doubled_word, longest_literal

SCENE_SLOTS = frozenset(["who", "him", "his", "himself", "thing", "feature", "people"])
FEWEST = {"what": 2, "things": 6, "begin": 4, "middle": 6, "end": 4, "features": 8, "air": 8}
FEWEST_TEXTS = 8
"""A sentence stands for at least so many texts, or chapters of one kind would repeat one another."""
MOST_LITERAL_WORDS = 6

_PARTS = ("begin", "middle", "end")


class Scene(Struct, frozen=True):
    """How a kind of event goes; see the module for the fields."""

    people: str
    what: list[str]
    things: list[str]
    begin: list[str] = []
    middle: list[str] = []
    end: list[str] = []
    told_like: str = ""


class PlaceKind(Struct, frozen=True):
    """What spaces of a kind are like."""

    indoors: bool
    features: list[str]
    air: list[str]
    preposition: str = "at"


class _Places(Struct, frozen=True):
    kinds: dict[str, PlaceKind]
    kind_of: dict[str, str]


def sentences_of(texts: Iterable[str], indoors: bool) -> list[Sentence]:
    """Return the sentences that can be told of a space indoors, or outdoors."""
    return [_sentence(text) for text in texts if not text.startswith("out: " if indoors else "in: ")]


@cache
def _sentence(text: str) -> Sentence:
    return Sentence(re.sub("^(in|out): ", "", text))


def read_scenes(path: Path, contents: Iterable[str]) -> Mapping[str, Scene]:
    """Read and check `scenes.json`, which must have a scene for each of the contents of the universe."""
    listed = read_typed(path, dict[str, Scene])
    scenes = {}
    for content, scene in listed.items():
        where = f"{path}, key {shown(content)}"
        parts = _parts_of(where, scene, listed)
        for field, texts in (("what", scene.what), ("things", scene.things), *parts.items()):
            _check_number(where, field, texts)
        phrases = (*scene.what, *scene.things, scene.people)
        for text in phrases:
            check_phrase(where, text)
        for part, texts in parts.items():
            for text in texts:
                check_sentence(f"{where}, {part}", text)
        everything = "\n".join((*phrases, *(text for texts in parts.values() for text in texts)))
        check_unnamed(where, everything, content)
        scenes[content] = replace(scene, **parts)
    _check_keys(path, "kind of event", scenes, contents)
    return scenes


def _parts_of(where: str, scene: Scene, listed: Mapping[str, Scene]) -> Mapping[str, list[str]]:
    """The sentences by part: a scene's own, or those of the kind of event that it is told like."""
    like = scene
    if scene.told_like:
        if filled := [part for part in _PARTS if getattr(scene, part)]:
            raise BadInput(f"{where}: found told_like and {filled[0]}, expected one or the other")
        like = listed.get(scene.told_like, scene)
        if like.told_like:
            raise BadInput(
                f"{where}, told_like: expected a kind of event with sentences of its own, found {shown(scene.told_like)}"
            )
    return {part: getattr(like, part) for part in _PARTS}


def read_places(path: Path, locations: Iterable[str]) -> Mapping[str, PlaceKind]:
    """Read and check `places.json`, and return the kind of each of the locations of the universe, by its name."""
    listed = read_typed(path, _Places)
    kinds = listed.kinds
    for name, kind in kinds.items():
        where = f"{path}, kind {shown(name)}"
        _check_number(where, "features", kind.features)
        _check_number(where, "air", kind.air)
        for text in kind.features:
            check_phrase(where, text)
        for text in kind.air:
            check_sentence(f"{where}, air", text)
    _check_keys(path, "location", listed.kind_of, locations)
    for location, name in listed.kind_of.items():
        if name not in kinds:
            raise BadInput(f"{path}, location {shown(location)}: expected {', '.join(kinds)}, found {shown(name)}")
    return {location: kinds[name] for location, name in listed.kind_of.items()}


def _check_number(where: str, field: str, items: Sequence[str]) -> None:
    if len(items) < FEWEST[field]:
        raise BadInput(f"{where}, {field}: expected at least {FEWEST[field]}, found {len(items)}")
    if len(set(items)) < len(items):
        raise BadInput(f"{where}, {field}: expected each text once")


def check_unnamed(where: str, text: str, content: str) -> None:
    """Refuse a text of a scene that names its kind of event."""
    if content.lower() in text.lower():
        raise BadInput(f"{where}: found the name of the event, expected sentences that tell it without its name")


def check_phrase(where: str, text: str) -> None:
    """Refuse a phrase that is empty, or has marks of patterns or of drafts."""
    if set(text) & set("[]{}|$") or text != " ".join(text.split()) or not text or "entity" in text.lower():
        raise BadInput(f"{where}: expected a phrase without marks, found {shown(text)}")


def check_sentence(where: str, text: str) -> None:
    """Refuse a sentence with choices, which may begin with `in: ` or `out: `, if it is faulty, or not varied enough."""
    try:
        _check_sentence(text)
    except BadInput as error:
        raise BadInput(f"{where}, {shown(text)}: {error}") from None


@cache
def _check_sentence(text: str) -> None:
    sentence = _sentence(text)
    written = re.sub(r"\{\w+\}", "", sentence.text)
    if "entity" in written.lower() or "$" in written or any(letter.isdigit() for letter in written):
        raise BadInput("expected a sentence without '$', digits and the letters 'entity'")
    if not sentence.text.rstrip(']"”').endswith((".", "!", "?")):
        raise BadInput("expected a full stop, an exclamation mark or a question mark at the end")
    if unknown := sentence.slots - SCENE_SLOTS:
        raise BadInput(f"unknown slot {min(unknown)!r}; there are {', '.join(sorted(SCENE_SLOTS))}")
    if {"him", "his", "himself"} & sentence.slots and "who" not in sentence.slots:
        raise BadInput("expected {who} in a sentence with a pronoun of the main character")
    if (n := expansions(sentence.pattern)) < FEWEST_TEXTS:
        raise BadInput(f"expected choices for at least {FEWEST_TEXTS} texts, found {n}")
    if (n := longest_literal(sentence.pattern)) > MOST_LITERAL_WORDS:
        raise BadInput(f"expected at most {MOST_LITERAL_WORDS} words in a row without a choice or a slot, found {n}")


def _check_keys(path: Path, kind: str, content: Mapping[str, object], expected: Iterable[str]) -> None:
    for name in expected:
        if name not in content:
            raise BadInput(f"{path}: {kind} {shown(name)} is missing")
    for name in content:
        if name not in set(expected):
            raise BadInput(f"{path}: found {shown(name)}, which is no {kind} of the universe")


@dataclass(frozen=True)
class Scenery:
    """How the events of a universe go, and where."""

    scenes: Mapping[str, Scene]  # the scene of each content
    places: Mapping[str, PlaceKind]  # the kind of each location


def load_scenery(universe: Universe) -> Scenery:
    """Read `scenes.json` and `places.json` of a universe; a name with a qualifier has the scene of the plain name."""
    for name in SCENE_FILES:
        if not (universe.folder / name).is_file():
            raise BadInput(
                f"{universe.folder / name}: the file is missing; books of level 2 and higher need {' and '.join(SCENE_FILES)}"
            )
    files = read_universe_files(str(universe.folder) if universe.files_hash else universe.name)
    scenes = read_scenes(universe.folder / "scenes.json", files.details)
    places = read_places(universe.folder / "places.json", files.locations)
    return Scenery(
        {content: scenes[universe.listed[content]] for content in universe.contents},
        {space: places[universe.listed[space]] for space in universe.spaces},
    )


def distinct_paraphrases(universe: Universe, scenery: Scenery) -> Mapping[str, Sequence[str]]:
    """Return phrases that tell each kind of event, and no other one, without its name, and are as short as names.

    If the name has a qualifier, so do they (`the second evening of spoken verse`), or it could not be told from the others.
    """
    listed = {}
    for content, scene in scenery.scenes.items():
        qualifier = content.removesuffix(universe.listed[content]).lower()
        phrases = [f"the {qualifier}{phrase}" for phrase in scene.what]
        listed[content] = [words for words in phrases if not has_doubled_word(words)]
    times_used = Counter(words for phrases in listed.values() for words in phrases)
    return {
        content: [words for words in phrases if times_used[words] == 1 and words.count(" ") < 7]
        for content, phrases in listed.items()
    }


TALES = packaged("epbench.tulving", "tales")

TONES: Mapping[str, str] = {"novel": "gathering", "news": "emergency", "scifi": "emergency"}
"""How facts are told in each kind of universe."""


@cache
def tales(name: str) -> Mapping[str, list[str]]:
    """Return the sentences of `facts_<tone>` or `style_<style>`, by what they tell."""
    return read_typed(TALES / f"{name}.json", dict[str, list[str]])


def tale_styles() -> list[str]:
    """Return the styles for which there are sentences."""
    return sorted(path.stem.removeprefix("style_") for path in TALES.glob("style_*.json"))
