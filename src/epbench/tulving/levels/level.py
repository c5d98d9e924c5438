"""What each level of a book adds to the one below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from epbench.errors import BadInput


@dataclass(frozen=True)
class Level:
    """A level of difficulty.

    Attributes:
        name: One word for it.
        adds: What it adds to the level below, as a full sentence.
    """

    name: str
    adds: str


LEVELS: Mapping[int, Level] = {
    1: Level(
        "template", "Every fact stands in one sentence, word for word, and nothing else in the chapter looks like it."
    ),
    2: Level(
        "coherent",
        "A chapter is a scene with a beginning, a middle and an end, told with what belongs to its kind of event and to its "
        "space; the main character is she or he where a reader can follow; side characters do other deeds of the same kind "
        "of event, and share first names with main characters of other chapters.",
    ),
    3: Level(
        "distracted",
        "Other dates, locations, people and kinds of event are mentioned in passing, plainly not as those of the chapter; "
        "dates have several formats; about half of the chapters tell the kind of event by what happens, without its name.",
    ),
    4: Level(
        "implicit",
        "Dates are told by their distance from another chapter's, locations by whom somebody had first met there, and people "
        "by nicknames that another chapter gave them. A reference may lead to a reference, over at most three links, and the "
        "book itself solves each.",
    ),
    5: Level(
        "entangled",
        "Events change later ones: people are barred from where they were, lose things and find some of them again. Some dates "
        "are wrong, and another chapter puts them right. Two witnesses disagree on where some events were, and the first chapter "
        "says whom to believe. Further questions ask for causes, and for what is still lost after an event.",
    ),
}
"""The levels by number."""


def check_level(level: int) -> None:
    """Refuse a level that does not exist.

    Raises:
        BadInput: There is no such level.
    """
    if level not in LEVELS:
        raise BadInput(f"level {level}: expected one of {', '.join(map(str, LEVELS))}")
