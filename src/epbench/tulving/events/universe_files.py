"""The files that list what a universe holds, read and checked; a user's own folder has the form of ours.

- `universe.toml`: `start` and `end` (the first and the last day, as dates), `kind` (`novel`, `news` or `scifi`: the tone
  of the chapters), the table `styles` (three adjectives for each style), and the table `qualifiers` with the lists
  `spaces` and `contents` (words that are put before names if a book needs more of them than there are).
- `locations.csv`: the column `name`, and for real locations `latitude` and `longitude` in degrees.
- `contents.json`: for each kind of event, at least 30 things that a person may do there.
- `first.txt` and `last.txt`, which are optional: first and last names of main characters, separated by white space.
- `scenes.json` and `places.json`, which books of level 2 and higher need: how each kind of event goes, and what the
  locations are like (see `scenes.scene_files`).

A cue must identify one thing. So no name may occur twice or be part of another name, in upper or lower case, and all can
stand in a chapter.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.text import read_csv, read_text, shown
from epbench.files.typed import typed

NAMES = packaged("epbench.tulving", "names")


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse a list in which a name occurs twice or is part of another one, in any case, so that a cue identifies one thing."""
    ordered = sorted((f" {name.casefold()} ", name) for name in names)
    for (key, name), (next_key, again) in itertools.pairwise(ordered):
        if key == next_key:
            raise BadInput(f"{where}: found {again!r} twice ({name!r}), expected each name once")
    everything = "\n".join(folded for folded, _ in ordered)
    for folded, name in ordered:
        if everything.count(folded.strip()) > 1:
            outer = next(n for f, n in ordered if folded.strip() in f and n != name)
            raise BadInput(f"{where}: found {name!r} inside {outer!r}, expected names that do not contain one another")


def check_text(where: str, text: Any) -> None:
    """Refuse a name or a detail that cannot stand in a chapter word for word."""
    if not isinstance(text, str):
        raise BadInput(f"{where}: expected a text, found {shown(text)}")
    if not text or not text.isprintable() or " ".join(text.split()) != text:
        raise BadInput(f"{where}: expected one line of text with single blanks between words, found {shown(text)}")
    if "entity" in text.lower() or "$" in text:  # in drafts, `$entity_1` stands for a side character
        raise BadInput(f"{where}: expected a text without '$' and the letters 'entity', found {shown(text)}")


@cache
def words_in(path: Path) -> tuple[str, ...]:
    """Return the words of a packaged list, separated by white space."""
    return tuple(path.read_text("utf-8").split())


def own_names(path: Path) -> tuple[str, ...]:
    """Return the names of a user's `first.txt` or `last.txt`; none if the file does not exist."""
    if not path.exists():
        return ()
    names = read_text(path).split()
    if not names:
        raise BadInput(f"{path}: expected at least one name, found none")
    seen: set[str] = set()
    for number, name in enumerate(names):
        check_own_name(f"{path}, name {number}", name, path.name, seen)
        seen.add(name.casefold())
    return tuple(names)


def check_own_name(where: str, name: str, file: str, seen: Container[str]) -> None:
    """Refuse a name for `first.txt` or `last.txt` that side characters have, or that is among those case-folded before it."""
    check_text(where, name)
    if name.casefold() in seen:
        raise BadInput(f"{where}: found {name!r} twice, expected each name once")
    if name in words_in(NAMES / f"secondary_{file}"):
        raise BadInput(f"{where}: found {name!r}, a name of side characters, expected another name")


DATA = packaged("epbench.tulving")

_FILES = ("universe.toml", "locations.csv", "contents.json")
SCENE_FILES = ("scenes.json", "places.json")
OWN_NAMES = ("first.txt", "last.txt")
_FOLDER_NAME = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*")  # also valid in the name of a dataset on the Hub
_LONGEST_NAME = 64  # characters


@dataclass(frozen=True)
class UniverseFiles:
    """The content of a universe's files."""

    name: str  # the name of a universe of the package, or of the user's folder
    folder: Path  # where the files are
    settings: Mapping[str, Any]  # the content of universe.toml
    locations: Mapping[str, tuple[float, float] | None]  # latitude and longitude by name, or None
    details: Mapping[str, tuple[str, ...]]  # what a person may do there, by content
    first_names: Sequence[str]  # first names of main characters
    last_names: Sequence[str]  # their last names
    hash: str | None  # a hash of all files in a user's folder; None for a universe of the package


def universe_names() -> list[str]:
    """Return the names of the universes that come with the package."""
    return sorted(path.parent.name for path in DATA.glob("universes/*/universe.toml"))


def universe_name(universe: str) -> str:
    """Return the name of a universe: that of a packaged one, or else that of the folder whose path is given."""
    return universe if universe in universe_names() else Path(universe).resolve().name


def read_universe_files(universe: str) -> UniverseFiles:
    """Read and check the files of a universe: a packaged one by its name, or else the path of a folder; else BadInput."""
    is_own = universe not in universe_names()
    folder = Path(universe) if is_own else DATA / "universes" / universe
    name = universe_name(universe)
    if is_own:
        _check_folder(universe, folder, name)
    settings = read_settings(folder / "universe.toml")
    locations, details = read_locations(folder / "locations.csv"), read_contents(folder / "contents.json")
    if is_own:
        _check_across(folder, locations, details)
    return UniverseFiles(
        name=name,
        folder=folder,
        settings=settings,
        locations=locations,
        details=details,
        first_names=own_names(folder / "first.txt") or words_in(NAMES / "first.txt"),
        last_names=own_names(folder / "last.txt") or words_in(NAMES / "last.txt"),
        hash=_hash_of(folder) if is_own else None,
    )


def _check_folder(universe: str, folder: Path, name: str) -> None:
    if not folder.is_dir():
        raise BadInput(
            f"unknown universe {universe!r}: expected {', '.join(universe_names())}, or a folder with {', '.join(_FILES)}"
        )
    check_folder_name(folder, name)
    for file in _FILES:
        if not (folder / file).is_file():
            raise BadInput(f"{folder / file}: the file is missing; a universe has {', '.join(_FILES)}")


def check_folder_name(folder: Path, name: str) -> None:
    """Refuse a name of a universe's folder that cannot be part of a dataset's name."""
    if not _FOLDER_NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise BadInput(
            f"{folder}: the folder's name becomes part of the dataset's name; expected at most {_LONGEST_NAME} letters "
            f"a-z, digits, and single '-', '_' or '.' between them, found {shown(name)}"
        )


def _check_across(folder: Path, locations: Iterable[str], details: Mapping[str, Sequence[str]]) -> None:
    """Refuse a location that is part of a content or of a detail, or the reverse: a chapter would tell two of them."""
    check_names([*locations, *details], f"{folder}, locations.csv and contents.json")
    for content, listed in details.items():
        check_no_location(f"{folder / 'contents.json'}, key {shown(content)}", "\n".join(listed), locations)


def check_no_location(where: str, details: str, locations: Iterable[str]) -> None:
    """Refuse details that name a location."""
    folded = details.casefold()
    for location in locations:
        if location.casefold() in folded:
            raise BadInput(
                f"{where}: found the location {location!r} in a detail, expected details without names of locations"
            )


def _hash_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in (*_FILES, *OWN_NAMES, *SCENE_FILES):
        if (folder / name).exists():
            content = (folder / name).read_bytes()
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


KINDS = ("novel", "news", "scifi")
LEAST_DETAILS = 30
N_ADJECTIVES = 3

_KEYS = ("start", "end", "kind", "styles", "qualifiers")


def read_settings(path: Path) -> dict[str, Any]:
    """Return the content of `universe.toml`, with the keys and types that it must have."""
    text = read_text(path)
    try:
        settings = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not TOML ({error})") from None
    _check_keys(str(path), settings, _KEYS)
    for key in ("start", "end"):
        if type(settings[key]) is not date or settings[key].year < 1000:  # datetime is a kind of date
            raise BadInput(f"{path}, key {key!r}: expected a date such as 2024-01-31, found {shown(settings[key])}")
    if settings["end"] < settings["start"]:
        raise BadInput(f"{path}, key 'end': expected a day from {settings['start']} on, found {settings['end']}")
    if settings["kind"] not in KINDS:
        raise BadInput(f"{path}, key 'kind': expected {', '.join(KINDS)}, found {shown(settings['kind'])}")
    styles = _table(f"{path}, key 'styles'", settings["styles"])
    if not styles:
        raise BadInput(f"{path}, key 'styles': expected at least one style, found none")
    for style, adjectives in styles.items():
        check_text(f"{path}, key 'styles'", style)
        _check_words(f"{path}, key {f'styles.{style}'!r}", adjectives)
        if (n := len(adjectives)) != N_ADJECTIVES:
            raise BadInput(f"{path}, key {f'styles.{style}'!r}: expected {N_ADJECTIVES} adjectives, found {n}")
    qualifiers = _table(f"{path}, key 'qualifiers'", settings["qualifiers"])
    _check_keys(f"{path}, key 'qualifiers'", qualifiers, ("spaces", "contents"))
    for key, words in qualifiers.items():
        _check_words(f"{path}, key {f'qualifiers.{key}'!r}", words)
    return settings


def _check_keys(where: str, content: Mapping[str, Any], expected: Sequence[str]) -> None:
    for key in expected:
        if key not in content:
            raise BadInput(f"{where}: the key {key!r} is missing; expected {', '.join(expected)}")
    for key in content:
        if key not in expected:
            raise BadInput(f"{where}: found the unknown key {shown(key)}, expected only {', '.join(expected)}")


def _table(where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise BadInput(f"{where}: expected a table, found {shown(value)}")
    return value


def _check_words(where: str, words: Any) -> None:
    """A list of different texts, with at least one."""
    if not isinstance(words, list) or not words:
        raise BadInput(f"{where}: expected a list of texts, found {shown(words)}")
    for word in words:
        check_text(where, word)
    check_names(words, where)


def read_locations(path: Path) -> dict[str, tuple[float, float] | None]:
    """Return the names in `locations.csv` with their coordinates; None for a location without any."""
    locations: dict[str, tuple[float, float] | None] = {}
    for number, row in enumerate(read_csv(path, ["name"])):
        where, name = f"{path}, row {number}", row["name"]
        check_text(f"{where}, field 'name'", name)
        if name in locations:
            raise BadInput(f"{where}, field 'name': found {name!r} twice, expected each name once")
        south, west = row.get("latitude") or "", row.get("longitude") or ""
        locations[name] = None
        if south or west:
            locations[name] = _degrees(where, "latitude", south, 90), _degrees(where, "longitude", west, 180)
    if not locations:
        raise BadInput(f"{path}: expected at least one location, found no rows below the header")
    check_names(locations, str(path))
    return locations


def _degrees(where: str, field: str, text: str, limit: int) -> float:
    try:
        degrees = float(text)
    except ValueError:
        degrees = math.nan
    if not -limit <= degrees <= limit:
        raise BadInput(f"{where}, field {field!r}: expected degrees from -{limit} to {limit}, found {shown(text)}")
    return degrees


def read_contents(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the contents of `contents.json` with their details."""
    contents = typed(str(path), _parse(path), dict[str, list[str]])
    if not contents:
        raise BadInput(f"{path}: expected an object with a list of details for each kind of event, found none")
    for content, details in contents.items():
        where = f"{path}, key {shown(content)}"
        check_text(where, content)
        for number, detail in enumerate(details):
            check_text(f"{where}, detail {number}", detail)
        if len(details) < LEAST_DETAILS:
            raise BadInput(f"{where}: expected {LEAST_DETAILS} details or more, found {len(details)}")
        check_names(details, where)
    check_names(contents, str(path))
    return {content: tuple(details) for content, details in contents.items()}


def _parse(path: Path) -> Any:
    """The value of a JSON file in which no object has a key twice."""
    text, repeated = read_text(path), list[str]()

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.extend(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        return dict(pairs)

    try:
        value = json.loads(text, object_pairs_hook=table)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not JSON ({error})") from None
    if repeated:
        raise BadInput(f"{path}: found the key {shown(repeated[0])} twice, expected each key once")
    return value
