"""A universe: the finite sets of times, spaces, entities and contents of which events are drawn.

Paper: Section 4.1, Appendices B.1.1 and B.1.2. The lists are plain files under `data/`, our own.
"""

from __future__ import annotations

import csv
import itertools
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.tulving.events.dates import in_words

DATA = packaged("epbench.tulving")
PUBLISHED_SIZE = 100
LEAST_DETAILS = 30
N_SECONDARY = 100_000


@dataclass(frozen=True)
class Universe:
    """What can happen, when, where and to whom; the order of each list is the order of its probability."""

    name: str
    kind: str  # "novel", "news" or "scifi": how its writers should sound
    times: tuple[date, ...]
    spaces: tuple[str, ...]
    entities: tuple[str, ...]  # full names: first name, blank, last name
    contents: tuple[str, ...]
    details: Mapping[str, tuple[str, ...]]  # of each content, what one may do there: "Demonstrated a backflip"
    styles: Mapping[str, tuple[str, ...]]  # of each style, three adjectives
    coordinates: Mapping[str, tuple[float, float]]  # latitude and longitude of the real places

    @property
    def size(self) -> int:
        return len(self.times)


def universe_names() -> list[str]:
    """The universes that come with the package."""
    return sorted(path.parent.name for path in DATA.glob("universes/*/universe.toml"))


def load_universe(name: str = "default", size: int = PUBLISHED_SIZE, seed: int = 0) -> Universe:
    """Draw a universe from the lists of one world.

    Args:
        name: `default` (New York), `news` or `scifi`.
        size: number of times, of spaces, of entities and of contents; 100 in the paper.
            Above the number of listed places, each place and content takes a qualifier (`Upper`, `Grand`).
        seed: the same seed gives the same universe on any machine.

    Raises:
        BadInput: unknown name, a size that the lists cannot fill, or a list with repeated or nested names.
    """
    if name not in universe_names():
        raise BadInput(f"unknown universe {name!r}; there are: {', '.join(universe_names())}")
    folder = DATA / "universes" / name
    settings = tomllib.loads((folder / "universe.toml").read_text("utf-8"))
    coordinates = _read_locations(folder / "locations.csv")
    details = {key: tuple(value) for key, value in json.loads((folder / "contents.json").read_text("utf-8")).items()}
    _check_lists(folder, list(coordinates), details)

    draws = RandomStream("universe", name, seed)
    days = (settings["end"] - settings["start"]).days + 1
    span = [settings["start"] + timedelta(days=d) for d in range(days)]
    times = _take(draws, span, size, "days between start and end", folder / "universe.toml")
    spaces = _names(draws, list(coordinates), settings["qualifiers"]["spaces"], size, folder / "locations.csv")
    contents = _names(draws, list(details), settings["qualifiers"]["contents"], size, folder / "contents.json")
    entities = _full_names(draws, size)
    for names, where in ((spaces, "locations.csv"), (contents, "contents.json")):
        check_names([full for full, _ in names], f"{folder / where}, qualified")
    check_names(entities, str(DATA / "names"))
    return Universe(
        name=name,
        kind=settings["kind"],
        times=tuple(times),
        spaces=tuple(full for full, _ in spaces),
        entities=tuple(entities),
        contents=tuple(full for full, _ in contents),
        details={full: details[plain] for full, plain in contents},
        styles={style: tuple(words) for style, words in settings["styles"].items()},
        coordinates={full: place for full, plain in spaces if (place := coordinates[plain]) is not None},
    )


def secondary_names(seed: int = 0) -> list[str]:
    """100,000 full names for side characters, disjoint from the main ones (Appendix B.1.8), in random order."""
    first, last = _lines("secondary_first.txt"), _lines("secondary_last.txt")
    if len(first) * len(last) < N_SECONDARY:
        raise BadInput(
            f"{DATA / 'names'}: {len(first)} × {len(last)} side names found, {N_SECONDARY} full names expected"
        )
    numbers = RandomStream("secondary names", seed).sample(range(len(first) * len(last)), N_SECONDARY)
    return [f"{first[n // len(last)]} {last[n % len(last)]}" for n in numbers]


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse a list in which a name stands twice or inside another one: a cue must name one thing only.

    Raises:
        BadInput: naming the list and the two names.
    """
    ordered = sorted((f" {name.casefold()} ", name) for name in names)
    for (one, name), (other, again) in itertools.pairwise(ordered):
        if one == other:
            raise BadInput(f"{where}: {again!r} stands there twice ({name!r}), each name is expected once")
    everything = "\n".join(folded for folded, _ in ordered)
    for folded, name in ordered:
        if everything.count(folded.strip()) > 1:
            outer = next(n for f, n in ordered if folded.strip() in f and n != name)
            raise BadInput(f"{where}: {name!r} stands inside {outer!r}; no name may contain another")


def _check_lists(folder: Path, places: list[str], details: Mapping[str, Sequence[str]]) -> None:
    check_names(places, str(folder / "locations.csv"))
    check_names(details, str(folder / "contents.json"))
    for content, sentences in details.items():
        where = f"{folder / 'contents.json'}: {content!r}"
        if len(sentences) < LEAST_DETAILS:
            raise BadInput(f"{where} has {len(sentences)} details, {LEAST_DETAILS} or more expected")
        check_names(sentences, where)


@cache
def _lines(name: str) -> list[str]:
    return (DATA / "names" / name).read_text("utf-8").split()


def _read_locations(path: Path) -> dict[str, tuple[float, float] | None]:
    with path.open(encoding="utf-8", newline="") as file:
        return {
            row["name"]: (float(row["latitude"]), float(row["longitude"])) if row.get("latitude") else None
            for row in csv.DictReader(file)
        }


def _take(draws: RandomStream, items: Sequence[Any], size: int, what: str, where: Path) -> list[Any]:
    if not 1 <= size <= len(items):
        raise BadInput(f"a universe of {size} needs {size} {what}; {where} gives {len(items)}")
    return draws.sample(items, size)


def _names(
    draws: RandomStream, plain: Sequence[str], qualifiers: Sequence[str], size: int, where: Path
) -> list[tuple[str, str]]:
    """(full name, listed name) for `size` names; all of them qualified where the list alone is too short."""
    if size <= len(plain):
        return [(name, name) for name in _take(draws, plain, size, "names", where)]
    pairs = [(f"{word} {name}", name) for word in qualifiers for name in plain]
    return _take(draws, pairs, size, "names", where)


def _full_names(draws: RandomStream, size: int) -> list[str]:
    first, last = _lines("first.txt"), _lines("last.txt")
    numbers = _take(draws, range(len(first) * len(last)), size, "full names", DATA / "names")
    return [f"{first[n // len(last)]} {last[n % len(last)]}" for n in numbers]


def as_texts(universe: Universe) -> dict[str, list[str]]:
    """The four lists as the books write them, keyed by cue letter `t s e c`."""
    return {
        "t": [in_words(day) for day in universe.times],
        "s": list(universe.spaces),
        "e": list(universe.entities),
        "c": list(universe.contents),
    }
