"""What each level of a book adds, and the plan of a chapter beyond the template.

A plan says in which words the chapter tells each fact, and which sentences it must have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from epbench.errors import BadInput
from epbench.files.json_files import read_typed
from epbench.files.packaged import packaged
from epbench.tulving.events.events import Event


@dataclass(frozen=True)
class Level:
    """A level of difficulty.

    Attributes:
        name: One word for it.
        adds: What it adds to the level below, as a full sentence.
        elsewhere: How often a fact (`date`, `location` or `entity`) is told by reference to another chapter where it can be.
    """

    name: str
    adds: str
    elsewhere: Mapping[str, float] = field(default_factory=dict)


LEVELS: Mapping[int, Level] = {
    int(number): level
    for number, level in read_typed(packaged("epbench.tulving", "levels.json"), dict[str, Level]).items()
}
"""The levels by number."""


def check_level(level: int) -> None:
    """Refuse a level that does not exist.

    Raises:
        BadInput: There is no such level.
    """
    if level not in LEVELS:
        raise BadInput(f"level {level}: expected one of {', '.join(map(str, LEVELS))}")


FACTS = ("location", "date", "entity", "content")

# The numbers of side characters per chapter in the published long book (Table 8); 7 is not reported, 8 occurs once.
SIDE_CHARACTERS = (1, 2, 3, 4, 5, 6, 7, 8)
SIDE_CHARACTER_WEIGHTS = (22, 74, 60, 27, 8, 2, 1, 1)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A sentence that a chapter has word for word.

    Attributes:
        paragraph: The paragraph, from 1, that alone has it.
        text: The sentence.
    """

    paragraph: int
    text: str


class Spot(NamedTuple):
    """A paragraph of a book.

    Attributes:
        number: The number of the event that its chapter tells, from 0.
        paragraph: The number of the paragraph, from 1.
    """

    number: int
    paragraph: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a reader must have read to know a fact.

    Attributes:
        links: The number of steps from chapter to chapter; 0 if the chapter says it itself.
        spots: The paragraphs, each of which is needed.
    """

    links: int
    spots: frozenset[Spot]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an event changes for its main character, at level 5.

    Attributes:
        kind: `lost`, `found` or `barred` (from the location of the chapter, for good).
        thing: What is lost or found; the location from which somebody is barred.
        spot: Where it is told.
    """

    kind: str
    thing: str
    spot: Spot


@dataclass(slots=True)
class ChapterPlan:
    """What any writer of a chapter must keep to; the layout says in which paragraph each fact is told.

    Attributes:
        level: The level of the book, 2 to 5.
        when: The words that tell the date, such as `on May 07, 2024`.
        where: The words that tell the location, such as `at Belvedere Castle`.
        name: The words that tell who the main character is: the full name, or a description of one person.
        hero: What the main character is called elsewhere in the chapter: the first name, a word such as `the optimist`, or a
            part of a title.
        what: What the event is called, such as `the Poetry Slam`, or `the evening of spoken verse` if it is not named.
        named: Whether the kind of event is named; if not, only what happens tells it.
        deeds: What the side characters do, that of `$entity_1` first, each as part of a sentence (`recited a sonnet`).
        fixed: Sentences that the chapter has word for word.
        contrasted: The facts that a fixed sentence tells, beside a value that is not so; nothing else tells them.
        firm: The facts that no such sentence may tell, since another chapter says more on them.
        withdrawn: The chapters that withdraw what another one says on this one's date.
        met: Whom the main character met for the first time, and where that is told; None if that is of no use elsewhere.
        outcomes: What the event changes for its main character.
        evidence: What tells each fact, by the names of the exact checks (`content` for the kind of event).
    """

    level: int
    when: str
    where: str
    name: str
    hero: str
    what: str
    named: bool
    deeds: tuple[str, ...]
    fixed: list[Fixed] = field(default_factory=list)
    contrasted: set[str] = field(default_factory=set)
    firm: set[str] = field(default_factory=set)
    withdrawn: set[int] = field(default_factory=set)
    met: tuple[str, Spot] | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    evidence: dict[str, Evidence] = field(default_factory=dict)

    def needs(self) -> set[int]:
        """Return the chapters without which the book would not tell all facts of this one, or tell them wrong."""
        return self.withdrawn | {spot.number for evidence in self.evidence.values() for spot in evidence.spots}

    def words(self, event: Event) -> Mapping[str, str]:
        """Return the words that tell each fact, by the names of the exact checks."""
        return dict(zip(FACTS, (self.where, self.when, self.name, event.detail), strict=True))
