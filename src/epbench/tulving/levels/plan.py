"""What each level of a book adds, the plan of a chapter beyond the template, and a book that is being planned.

A plan says in which words the chapter tells each fact, and which sentences it must have. A `Book` holds what all chapters tell
so far, and finds words in one of them that point to another.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.json_files import read_typed
from epbench.files.packaged import packaged
from epbench.tulving.events.universe import Event, Layout, Universe
from epbench.tulving.levels.banks import patterns_of, phrase
from epbench.tulving.scenes.scene_files import Scenery
from epbench.tulving.scenes.spread import Spread, write_freshly


@dataclass(frozen=True)
class Level:
    """A level of difficulty."""

    name: str  # one word for it
    adds: str  # what it adds to the level below, as a full sentence
    elsewhere: Mapping[str, float] = field(default_factory=dict)  # how often another chapter tells a fact, where it can


LEVELS: Mapping[int, Level] = {
    int(number): level
    for number, level in read_typed(packaged("epbench.tulving", "levels.json"), dict[str, Level]).items()
}
"""The levels by number."""


def check_level(level: int) -> None:
    """Refuse a level that does not exist."""
    if level not in LEVELS:
        raise BadInput(f"level {level}: expected one of {', '.join(map(str, LEVELS))}")


FACTS = ("location", "date", "entity", "content")


def paragraphs_by_fact(layout: Layout) -> dict[str, int]:
    """Return, for each fact, the number of the only paragraph that may tell it."""
    return dict(zip(FACTS, (layout.space, layout.time, layout.entity, layout.content), strict=True))


# The numbers of side characters per chapter in the published long book (Table 8); 7 is not reported, 8 occurs once.
SIDE_CHARACTERS = (1, 2, 3, 4, 5, 6, 7, 8)
SIDE_CHARACTER_WEIGHTS = (22, 74, 60, 27, 8, 2, 1, 1)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A sentence that a chapter has word for word."""

    paragraph: int  # the paragraph, from 1, that alone has it
    text: str


class Spot(NamedTuple):
    """A paragraph of a book."""

    number: int  # that of the event that its chapter tells, from 0; in a written book, that of the chapter, from 1
    paragraph: int  # from 1


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a reader must have read to know a fact."""

    links: int  # the number of steps from chapter to chapter; 0 if the chapter says it itself
    spots: frozenset[Spot]  # the paragraphs, each of which is needed


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an event changes for its main character, at level 5."""

    kind: str  # `lost`, `found` or `barred` (from the location of the chapter, for good)
    thing: str  # what is lost or found; the location from which somebody is barred
    spot: Spot  # where it is told


@dataclass(slots=True)
class ChapterPlan:
    """What any writer of a chapter must keep to; the layout says in which paragraph each fact is told."""

    level: int  # the level of the book, 2 to 5
    when: str  # the words that tell the date, such as `on May 07, 2024`
    where: str  # the words that tell the location, such as `at Belvedere Castle`
    name: str  # the words that tell who the main character is: the full name, or a description of one person
    hero: str  # what the main character is called elsewhere: the first name, `the optimist`, or a part of a title
    what: str  # what the event is called: `the Poetry Slam`, or `the evening of spoken verse` if it is not named
    named: bool  # whether the kind of event is named; if not, only what happens tells it
    deeds: tuple[str, ...]  # what the side characters do, that of `$entity_1` first, each as part of a sentence
    fixed: list[Fixed] = field(default_factory=list)  # sentences that the chapter has word for word
    # The facts that a fixed sentence tells, beside a value that is not so; nothing else tells them
    contrasted: set[str] = field(default_factory=set)
    firm: set[str] = field(default_factory=set)  # no such sentence may tell these: another chapter says more
    refers: dict[str, int] = field(default_factory=dict)  # the event that the words for a fact refer to, if it is one
    # The chapters that withdraw what another one says on this one's date
    withdrawn: set[int] = field(default_factory=set)
    # Whom the main character met for the first time, and where that is told; None if that is of no use elsewhere
    met: tuple[str, Spot] | None = None
    outcomes: list[Outcome] = field(default_factory=list)  # what the event changes for its main character
    # What tells each fact, by the names of the exact checks
    evidence: dict[str, Evidence] = field(default_factory=dict)

    def needs(self) -> set[int]:
        """Return the chapters without which the book would not tell all facts of this one, or tell them wrong."""
        return self.withdrawn | {spot.number for evidence in self.evidence.values() for spot in evidence.spots}

    def words(self, event: Event) -> Mapping[str, str]:
        """Return the words that tell each fact, by the names of the exact checks."""
        return dict(zip(FACTS, (self.where, self.when, self.name, event.detail), strict=True))


MOST_LINKS = 3
MOST_USES = 0.02
"""The largest share of chapters that refer to the same one for one fact; at least two may."""
BY_ANOTHER = 0.8
"""How often words that another chapter explains are explained by such words again: for kinds of event, and at level 5 more."""
TRIES = 8
"""How many wordings are tried for one that the book does not have too often."""


@dataclass(frozen=True)
class Book:
    """What the chapters of a book tell, which each kind of reference changes."""

    events: Sequence[Event]  # of each chapter, as in the next two
    layouts: Sequence[Layout]
    plans: Sequence[ChapterPlan]
    universe: Universe
    scenery: Scenery
    spread: Spread  # what the book has told so far
    phrases: Spread  # the words that refer to other chapters so far, which the sentences around them must keep
    seed: int  # of all draws
    # By chapter, over how many links its date may follow where that is fewer than `MOST_LINKS`. Who holds an office depends
    # on such a date, and would be the same by a wrong one.
    most_links: dict[int, int] = field(default_factory=dict)
    # The chapters that others name by their kind of event and location, which must therefore tell it themselves
    named: set[int] = field(default_factory=set)
    # Paragraphs that tell a wrong date, and so nothing that another chapter needs
    misdated: set[Spot] = field(default_factory=set)

    @property
    def most_uses(self) -> int:
        """How many chapters may refer to the same one for one fact."""
        return max(2, int(MOST_USES * len(self.events)))

    @cached_property
    def _times_held(self) -> Counter[tuple[str, str]]:
        return Counter((event.content, event.space) for event in self.events)

    def by_day(self) -> list[int]:
        """Return the numbers of the chapters in the order of their dates."""
        return sorted(range(len(self.events)), key=lambda number: (self.events[number].time, number))

    def by_person(self) -> dict[str, list[int]]:
        """Return the numbers of the chapters by main character, in the order of their dates."""
        chapters: dict[str, list[int]] = defaultdict(list)
        for number in self.by_day():
            chapters[self.events[number].entity].append(number)
        return chapters

    def tell(
        self, number: int, part: str, known: Mapping[str, str], draws: RandomStream, at: int | None = None
    ) -> Spot:
        """Fix a sentence of a part of the bank in a paragraph of a chapter, by default any, and return where it is."""
        spot = Spot(number, at or draws.between(1, self.layouts[number].n_paragraphs))
        while at is None and spot in self.misdated:
            spot = Spot(number, draws.between(1, self.layouts[number].n_paragraphs))
        text = write_freshly(patterns_of(part), known, self.spread, draws)
        self.plans[number].fixed.append(Fixed(spot.paragraph, text))
        return spot

    def phrase(self, part: str, known: Mapping[str, str], draws: RandomStream) -> str:
        """Return a phrase of a part of the bank that the book does not have too often, if there is one, and count it."""
        for _ in range(TRIES):
            words = phrase(part, known, draws)
            if self.phrases.allows(words):
                break
        self.phrases.add(words)
        return words

    def host(self, draws: RandomStream, fits: Callable[[int], bool]) -> int | None:
        """Draw a chapter that fits, for a sentence that it tells in passing; None if none does."""
        return next(filter(fits, draws.one_by_one(range(len(self.events)))), None)

    def deny(self, part: str, known: Mapping[str, str], fact: str, wrong: str, true: str, draws: RandomStream) -> None:
        """Tell in passing that words do not mean what they might, in a chapter of neither, if there is one."""
        host = self.host(draws, lambda number: getattr(self.events[number], fact) not in (wrong, true))
        if host is not None:
            self.tell(host, part, {**known, fact: wrong}, draws)

    def by_content(self, number: int, draws: RandomStream) -> tuple[str, list[Spot]] | None:
        """Name an event by its kind, or what its kind is called, and its location, with the paragraphs that tell both.

        None if these do not name it alone, or other chapters tell them.
        """
        event, layout, plan = self.events[number], self.layouts[number], self.plans[number]
        if plan.evidence["location"].links or self._times_held[event.content, event.space] > 1:
            return None
        words = phrase("anchor", {"content": plan.what.removeprefix("the "), "where": plan.where}, draws)
        return words, [Spot(number, layout.content), Spot(number, layout.space)]

    def by_meeting(self, number: int, draws: RandomStream) -> tuple[str, list[Spot]] | None:
        """Name the day of a chapter by whom its main character meets in it; None if nobody is met."""
        plan = self.plans[number]
        if plan.met is None:
            return None
        return phrase("landmark", {"hero": plan.hero, "group": plan.met[0]}, draws), [plan.met[1]]

    def linked(self, anchor: int, fact: str, own_spot: Spot, also: Sequence[Spot]) -> Evidence:
        """The evidence of a fact that another chapter tells: that of the other's, how to find the other, and one's own words."""
        evidence = self.plans[anchor].evidence[fact]
        return Evidence(evidence.links + 1, evidence.spots | {own_spot, *also})
