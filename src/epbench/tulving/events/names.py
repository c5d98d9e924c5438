"""Names that a cue can identify: each occurs once, none is part of another, and all can stand in a chapter."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.files.text import read_text, shown

NAMES = packaged("epbench.tulving", "names")


def check_names(names: Iterable[str], where: str) -> None:
    """Refuse a list in which a name occurs twice or is part of another one, so that a cue identifies one thing.

    Args:
        names: The names, compared without regard to case.
        where: How the message names the list.

    Raises:
        BadInput: Two names are equal or nested; the message has both.
    """
    ordered = sorted((f" {name.casefold()} ", name) for name in names)
    for (one, name), (other, again) in itertools.pairwise(ordered):
        if one == other:
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
    side_characters = frozenset(words_in(NAMES / f"secondary_{path.name}"))
    seen: set[str] = set()
    for number, name in enumerate(names):
        check_text(f"{path}, name {number}", name)
        if name.casefold() in seen:
            raise BadInput(f"{path}, name {number}: found {name!r} twice, expected each name once")
        if name in side_characters:
            raise BadInput(f"{path}, name {number}: found {name!r}, a name of side characters, expected another name")
        seen.add(name.casefold())
    return tuple(names)
