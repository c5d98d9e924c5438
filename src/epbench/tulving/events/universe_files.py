"""The files that list what a universe holds, read and checked; a user's own folder has the form of ours.

- `universe.toml`: `start` and `end` (the first and the last day, as dates), `kind` (`novel`, `news` or `scifi`: the tone
  of the chapters), the table `styles` (three adjectives for each style), and the table `qualifiers` with the lists
  `spaces` and `contents` (words that are put before names if a book needs more of them than there are).
- `locations.csv`: the column `name`, and for real locations `latitude` and `longitude` in degrees.
- `contents.json`: for each kind of event, at least 30 things that a person may do there.
- `first.txt` and `last.txt`, which are optional: first and last names of main characters, separated by white space.
- `scenes.json` and `places.json`, which books of level 2 and higher need: how each kind of event goes, and what the
  locations are like (see `scenes.scene_files`).

A cue must identify one thing. So no name may occur twice or be part of another name, in upper or lower case.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.text import shown
from epbench.tulving.events.names import NAMES, check_names, own_names, words_in
from epbench.tulving.events.universe_lists import read_contents, read_locations, read_settings

DATA = packaged("epbench.tulving")

_FILES = ("universe.toml", "locations.csv", "contents.json")
SCENE_FILES = ("scenes.json", "places.json")
_OWN_NAMES = ("first.txt", "last.txt")
_FOLDER_NAME = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*")  # also valid in the name of a dataset on the Hub
_LONGEST_NAME = 64  # characters


@dataclass(frozen=True)
class UniverseFiles:
    """The content of a universe's files.

    Attributes:
        name: The name of a universe of the package, or of the user's folder.
        folder: Where the files are.
        kind: `novel`, `news` or `scifi`.
        start: The first day.
        end: The last day.
        styles: Three adjectives by style.
        space_qualifiers: Words to put before names of locations.
        content_qualifiers: Words to put before names of contents.
        locations: Latitude and longitude by name; None for a location without coordinates.
        details: What a person may do there, by content.
        first_names: First names of main characters.
        last_names: Their last names.
        hash: A hash of all files in a user's folder; None for a universe of the package.
    """

    name: str
    folder: Path
    kind: str
    start: date
    end: date
    styles: Mapping[str, tuple[str, ...]]
    space_qualifiers: Sequence[str]
    content_qualifiers: Sequence[str]
    locations: Mapping[str, tuple[float, float] | None]
    details: Mapping[str, tuple[str, ...]]
    first_names: Sequence[str]
    last_names: Sequence[str]
    hash: str | None

    @property
    def has_own_names(self) -> bool:
        """Whether the folder has lists of first or last names."""
        return any((self.folder / name).exists() for name in _OWN_NAMES)

    def where(self, name: str) -> str:
        """How messages name a file."""
        return str(self.folder / name)


def universe_names() -> list[str]:
    """Return the names of the universes that come with the package."""
    return sorted(path.parent.name for path in DATA.glob("universes/*/universe.toml"))


def universe_name(universe: str) -> str:
    """Return the name of a universe: that of a packaged one, or else that of the folder whose path is given."""
    return universe if universe in universe_names() else Path(universe).resolve().name


def read_universe_files(universe: str) -> UniverseFiles:
    """Read and check the files of a universe.

    Args:
        universe: The name of a packaged universe, or else the path of a folder.

    Raises:
        BadInput: The universe does not exist, or a file is missing or faulty. The message names the file and the key,
            row or name, what was found there and what was expected.
    """
    own = universe not in universe_names()
    folder = Path(universe) if own else DATA / "universes" / universe
    name = universe_name(universe)
    if own:
        _check_folder(universe, folder, name)
    settings = read_settings(folder / "universe.toml")
    locations, details = read_locations(folder / "locations.csv"), read_contents(folder / "contents.json")
    if own:
        _check_across(folder, locations, details)
    return UniverseFiles(
        name=name,
        folder=folder,
        kind=settings["kind"],
        start=settings["start"],
        end=settings["end"],
        styles={style: tuple(adjectives) for style, adjectives in settings["styles"].items()},
        space_qualifiers=settings["qualifiers"]["spaces"],
        content_qualifiers=settings["qualifiers"]["contents"],
        locations=locations,
        details=details,
        first_names=own_names(folder / "first.txt") or words_in(NAMES / "first.txt"),
        last_names=own_names(folder / "last.txt") or words_in(NAMES / "last.txt"),
        hash=_hash_of(folder) if own else None,
    )


def _check_folder(universe: str, folder: Path, name: str) -> None:
    if not folder.is_dir():
        raise BadInput(
            f"unknown universe {universe!r}: expected {', '.join(universe_names())}, or a folder with {', '.join(_FILES)}"
        )
    if not _FOLDER_NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise BadInput(
            f"{folder}: the folder's name becomes part of the dataset's name; expected at most {_LONGEST_NAME} letters "
            f"a-z, digits, and single '-', '_' or '.' between them, found {shown(name)}"
        )
    for file in _FILES:
        if not (folder / file).is_file():
            raise BadInput(f"{folder / file}: the file is missing; a universe has {', '.join(_FILES)}")


def _check_across(folder: Path, locations: Iterable[str], details: Mapping[str, Sequence[str]]) -> None:
    """Refuse a location that is part of a content or of a detail, or the reverse: a chapter would tell two of them."""
    check_names([*locations, *details], f"{folder}, locations.csv and contents.json")
    for content, listed in details.items():
        text = "\n".join(listed).casefold()
        for location in locations:
            if location.casefold() in text:
                raise BadInput(
                    f"{folder / 'contents.json'}, key {shown(content)}: found the location {location!r} in a detail, "
                    "expected details without names of locations"
                )


def _hash_of(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in (*_FILES, *_OWN_NAMES, *SCENE_FILES):
        if (folder / name).exists():
            content = (folder / name).read_bytes()
            digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
