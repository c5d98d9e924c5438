"""A universe: the finite sets of times, spaces, entities and contents from which events are drawn.

Paper: Section 4.1, Appendices B.1.1 and B.1.2. The lists are files: ours are in `data/universes/`, and a user's own are
in a folder of the same form; `universe_files` reads and checks both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.tulving.events.dates import in_words
from epbench.tulving.events.universe_files import (
    NAMES,
    OWN_NAMES,
    UniverseFiles,
    check_names,
    read_universe_files,
    words_in,
)

PUBLISHED_SIZE = 100
N_SECONDARY = 100_000

_MORE_NAMES = "list more names"


@dataclass(frozen=True)
class Universe:
    """What can happen, when, where and to whom. The order of each list is the order of its probabilities."""

    name: str  # the name of a universe of the package, or of the user's folder
    kind: str  # `novel`, `news` or `scifi`: the tone of its chapters
    times: tuple[date, ...]  # the days on which events happen
    spaces: tuple[str, ...]  # the names of locations
    entities: tuple[str, ...]  # full names of people: first name, blank, last name
    contents: tuple[str, ...]  # the kinds of event
    # For each content, what a person may do there, such as `Demonstrated a backflip`
    details: Mapping[str, tuple[str, ...]]
    styles: Mapping[str, tuple[str, ...]]  # three adjectives for each style of a chapter
    coordinates: Mapping[str, tuple[float, float]]  # latitude and longitude of the real locations, in degrees
    files_hash: str | None  # a hash of the files of a user's own universe; None for one of the package
    folder: Path = field(compare=False)  # where its files are
    # The name in the files of each location and content; another one only if names have qualifiers
    listed: Mapping[str, str]

    @property
    def size(self) -> int:
        """The number of times, of spaces, of entities and of contents."""
        return len(self.times)


def load_universe(name: str = "default", size: int = PUBLISHED_SIZE, seed: int = 0) -> Universe:
    """Draw a universe from the lists of a world; the same seed gives the same one on any machine.

    Args:
        name: `default` (New York), `family`, `news`, `scifi`, `software`, `ward` (a hospital), or a folder of one's own
            (see `universe_files`).
        size: The number of times, of spaces, of entities and of contents; 100 in the paper. If there are fewer listed
            locations or contents, each of them gets a qualifier (`Upper`, `Grand`).

    Raises:
        BadInput: The universe does not exist, its lists are faulty, or they are too short for the size.
    """
    if size < 1:
        raise BadInput(f"universe size {size}: expected at least 1")
    files = read_universe_files(name)
    draws = RandomStream("universe", files.name, seed)
    days = [files.start + timedelta(days=day) for day in range((files.end - files.start).days + 1)]
    kind, folder = "days between start and end", files.folder
    times = _take(draws, days, size, kind, f"{folder / 'universe.toml'}", "move start and end apart")
    spaces = _names(draws, list(files.locations), files.space_qualifiers, size, f"{folder / 'locations.csv'}")
    contents = _names(draws, list(files.details), files.content_qualifiers, size, f"{folder / 'contents.json'}")
    entities = _full_names(draws, files, size)
    if files.hash:  # our own lists are known to be disjoint
        names = [*(full for full, _ in spaces), *(full for full, _ in contents), *entities]
        check_names(names, f"{files.folder}, locations, contents and people")
    return Universe(
        name=files.name,
        kind=files.kind,
        times=tuple(times),
        spaces=tuple(full for full, _ in spaces),
        entities=tuple(entities),
        contents=tuple(full for full, _ in contents),
        details={full: files.details[plain] for full, plain in contents},
        styles=files.styles,
        coordinates={full: point for full, plain in spaces if (point := files.locations[plain]) is not None},
        files_hash=files.hash,
        folder=files.folder,
        listed=dict([*spaces, *contents]),
    )


def secondary_names(seed: int = 0, also: Sequence[str] = ()) -> Iterator[str]:
    """Yield 100,000 full names for side characters in random order, none of them a main name (Appendix B.1.8).

    They may have `also` first names of main characters, with other last names.
    """
    first, last = words_in(NAMES / "secondary_first.txt"), words_in(NAMES / "secondary_last.txt")
    first = (*first, *dict.fromkeys(also))
    if len(first) * len(last) < N_SECONDARY:
        raise BadInput(f"{NAMES}: expected {N_SECONDARY} names of side characters, found {len(first)} × {len(last)}")
    numbers = RandomStream("secondary names", seed).one_by_one(range(len(first) * len(last)))
    for n in islice(numbers, N_SECONDARY):
        yield f"{first[n // len(last)]} {last[n % len(last)]}"


def as_texts(universe: Universe) -> dict[str, list[str]]:
    """Return the four lists as the books write them, keyed by the letters `t s e c` of cues."""
    return {
        "t": [in_words(day) for day in universe.times],
        "s": list(universe.spaces),
        "e": list(universe.entities),
        "c": list(universe.contents),
    }


def _take(draws: RandomStream, items: Sequence[Any], size: int, kind: str, where: str, remedy: str) -> list[Any]:
    if size > len(items):
        raise BadInput(
            f"a universe of {size} needs {size} {kind}; {where} gives {len(items)}; make the universe smaller, or {remedy}"
        )
    return draws.sample(items, size)


def _names(
    draws: RandomStream, plain: Sequence[str], qualifiers: Sequence[str], size: int, where: str
) -> list[tuple[str, str]]:
    """(full name, listed name) for `size` names; all of them are qualified if the list alone is too short."""
    pairs = [(name, name) for name in plain]
    if size > len(plain):
        pairs = [(f"{word} {name}", name) for word in qualifiers for name in plain]
        where += ", with the qualifiers of universe.toml,"
    taken = _take(draws, pairs, size, "names", where, _MORE_NAMES)
    check_names([full for full, _ in taken], where.removesuffix(","))
    return taken


def _full_names(draws: RandomStream, files: UniverseFiles, size: int) -> list[str]:
    first, last = files.first_names, files.last_names
    own = any((files.folder / name).exists() for name in OWN_NAMES)
    where = f"{files.folder / 'first.txt and last.txt' if own else NAMES}"
    numbers = _take(draws, range(len(first) * len(last)), size, "full names", where, _MORE_NAMES)
    names = [f"{first[n // len(last)]} {last[n % len(last)]}" for n in numbers]
    check_names(names, where)
    return names
