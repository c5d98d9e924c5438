"""Reading the three files that every universe has, with a check of each value."""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.csv_tables import read_csv
from epbench.files.text import read_text, shown
from epbench.tulving.events.names import check_names, check_text

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
        if len(adjectives) != N_ADJECTIVES:
            raise BadInput(
                f"{path}, key {f'styles.{style}'!r}: expected {N_ADJECTIVES} adjectives, found {len(adjectives)}"
            )
    qualifiers = _table(f"{path}, key 'qualifiers'", settings["qualifiers"])
    _check_keys(f"{path}, key 'qualifiers'", qualifiers, ("spaces", "contents"))
    for key, words in qualifiers.items():
        _check_words(f"{path}, key {f'qualifiers.{key}'!r}", words)
    return settings


def _check_keys(where: str, found: Mapping[str, Any], expected: Sequence[str]) -> None:
    for key in expected:
        if key not in found:
            raise BadInput(f"{where}: the key {key!r} is missing; expected {', '.join(expected)}")
    for key in found:
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
        given = {field: row.get(field) or "" for field in ("latitude", "longitude")}
        locations[name] = (
            (_degrees(where, "latitude", given["latitude"], 90), _degrees(where, "longitude", given["longitude"], 180))
            if any(given.values())
            else None
        )
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
    contents = _parse(path)
    if not isinstance(contents, dict) or not contents:
        raise BadInput(
            f"{path}: expected an object with a list of details for each kind of event, found {shown(contents)}"
        )
    for content, details in contents.items():
        where = f"{path}, key {shown(content)}"
        check_text(where, content)
        if not isinstance(details, list):
            raise BadInput(f"{where}: expected a list of details, found {shown(details)}")
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
