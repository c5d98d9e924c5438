"""A book that is being planned: what its chapters tell so far, and how one of them can be pointed to from another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from epbench.draws import RandomStream
from epbench.tulving.events.events import Event, Layout
from epbench.tulving.events.universe import Universe
from epbench.tulving.levels.banks import patterns_of, phrase
from epbench.tulving.levels.plan import ChapterPlan, Evidence, Fixed, Spot
from epbench.tulving.scenes.scene_files import Scenery
from epbench.tulving.scenes.spread import Spread, write_freshly

MOST_LINKS = 3
MOST_USES = 0.02
"""The largest share of chapters that refer to the same one for one fact; at least two may."""
TRIES = 8
"""How many wordings are tried for one that the book does not have too often."""


@dataclass(frozen=True)
class Book:
    """What the chapters tell, which each kind of reference changes.

    Attributes:
        events: The event of each chapter.
        layouts: The layout of each chapter.
        plans: The plan of each chapter, which is changed.
        universe: The universe of the events.
        scenery: How its events go, and what its locations are like.
        spread: What the book has told so far.
        phrases: The words that refer to other chapters so far, which the sentences around them must keep as they are.
        seed: The seed of all draws.
        most_links: By chapter, over how many links its date may follow where that is fewer than `MOST_LINKS`. Who holds an office
            depends on such a date, and would be the same by a wrong one.
        named: The chapters that others name by their kind of event and location, which must therefore tell it themselves.
    """

    events: Sequence[Event]
    layouts: Sequence[Layout]
    plans: Sequence[ChapterPlan]
    universe: Universe
    scenery: Scenery
    spread: Spread
    phrases: Spread
    seed: int
    most_links: dict[int, int] = field(default_factory=dict)
    named: set[int] = field(default_factory=set)

    @property
    def most_uses(self) -> int:
        """How many chapters may refer to the same one for one fact."""
        return max(2, int(MOST_USES * len(self.events)))

    @cached_property
    def _times_held(self) -> Counter[tuple[str, str]]:
        return Counter((event.content, event.space) for event in self.events)

    def tell(
        self, number: int, part: str, known: Mapping[str, str], draws: RandomStream, at: int | None = None
    ) -> Spot:
        """Fix a sentence of a part of the bank in a paragraph of a chapter, by default any, and return where it is."""
        spot = Spot(number, draws.between(1, self.layouts[number].n_paragraphs) if at is None else at)
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

    def at(self, space: str) -> str:
        """The words for a location, with its preposition."""
        return f"{self.scenery.places[space].preposition} {space}"

    def by_content(self, number: int, draws: RandomStream) -> tuple[str, list[Spot]] | None:
        """Name an event by its kind, or what its kind is called, and its location.

        Returns:
            The words and the paragraphs that tell both; None if these do not name it alone, or other chapters tell them.
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
