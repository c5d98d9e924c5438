"""Level 4: locations that only other chapters name.

A location is where somebody had first met the florists of Marrow Lane in an earlier event; or it is the one with two features,
each of which several locations have, as other chapters tell in passing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from epbench.draws import RandomStream
from epbench.tulving.levels.banks import combined, references_bank
from epbench.tulving.levels.book import MOST_LINKS, Book
from epbench.tulving.levels.plan import LEVELS, Evidence, Spot

TRIES = 6
"""How many pairs of features, and how many other locations, are tried."""


def add_places(book: Book, level: int) -> None:
    """Tell locations by meetings and by features."""
    draws, often = RandomStream("places", book.seed), LEVELS[level].elsewhere["location"]
    meetings, features = _Meetings(book, draws), _Features(book, draws)
    for number in sorted(range(len(book.events)), key=lambda number: (book.events[number].time, number)):
        settled = "location" in book.plans[number].firm or number in book.named
        if not settled and draws.unit() < often:
            ways = draws.sample([meetings.tell, features.tell], 2)
            any(way(number) for way in ways)  # the second one only if the first cannot
        meetings.earlier[book.events[number].space].append(number)


class _Meetings:
    """Locations by whom the main character of an earlier event had first met there."""

    def __init__(self, book: Book, draws: RandomStream) -> None:
        self._book, self._draws = book, draws
        self._groups = combined("the {} of {} {}", ("groups", "lanes", "roads"), RandomStream("groups", book.seed))
        self._uses = Counter[int]()
        self.earlier: dict[str, list[int]] = defaultdict(list)

    def tell(self, number: int) -> bool:
        book, draws, event = self._book, self._draws, self._book.events[number]
        anchors = [
            earlier
            for earlier in self.earlier[event.space]
            if book.events[earlier].time < event.time
            and book.plans[earlier].evidence["location"].links < MOST_LINKS
            and self._uses[earlier] < book.most_uses
        ]
        group = next(self._groups, None)
        if not anchors or group is None:
            return False
        anchor = draws.pick(anchors)
        self._uses[anchor] += 1
        hero, met = book.plans[anchor].hero, book.plans[anchor].met
        if met is None:
            met = book.plans[anchor].met = (group, book.tell(anchor, "meeting", {"hero": hero, "group": group}, draws))
        book.plans[number].where = book.phrase("where", {"hero": hero, "group": met[0]}, draws)
        own_spot = Spot(number, book.layouts[number].space)
        book.plans[number].evidence["location"] = book.linked(anchor, "location", own_spot, [met[1]])
        return True


@dataclass
class _Known:
    """The features of a location that chapters tell, each with where."""

    spots: dict[str, Spot] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)


class _Features:
    """Locations by two features, which no other location has together."""

    def __init__(self, book: Book, draws: RandomStream) -> None:
        self._book, self._draws = book, draws
        self._known: dict[str, _Known] = defaultdict(_Known)

    def tell(self, number: int) -> bool:
        space = self._book.events[number].space
        known = self._known[space]
        pair = self._draws.pick(known.pairs) if known.pairs else self._new_pair(space)
        if pair is None:
            return False
        plan = self._book.plans[number]
        plan.where = self._words(pair)
        own_spot = Spot(number, self._book.layouts[number].space)
        plan.evidence["location"] = Evidence(1, frozenset([own_spot, *(known.spots[feature] for feature in pair)]))
        return True

    def _words(self, pair: tuple[str, str]) -> str:
        first, second = self._draws.sample(pair, 2)
        return self._book.phrase("described", {"first": first, "second": second}, self._draws)

    def _new_pair(self, space: str) -> tuple[str, str] | None:
        """Give a location two features that no other one has together, and each of them to another location, too."""
        known = self._known[space]
        free = [feature for feature in references_bank()["features"] if feature not in known.spots]
        for first, second in zip(*[iter(self._draws.sample(free, 2 * TRIES))] * 2, strict=False):
            taken = any({first, second} <= set(one.spots) for name, one in self._known.items() if name != space)
            if taken or self._confuses(space, {first, second}):
                continue
            if not (self._place(space, first) and self._place(space, second)):
                return None
            known.pairs.append((first, second))
            for feature in (first, second):
                self._decoy(space, feature)
            return first, second
        return None

    def _confuses(self, space: str, features: set[str]) -> bool:
        """Whether a location with these features, too, would fit the description of another one."""
        all_ = features | set(self._known[space].spots)
        return any(set(pair) <= all_ for name, one in self._known.items() if name != space for pair in one.pairs)

    def _place(self, space: str, feature: str) -> bool:
        """Tell in a chapter that is elsewhere that a location has a feature; False if all chapters are there."""
        if (host := self._book.host(self._draws, lambda number: self._book.events[number].space != space)) is None:
            return False
        known = {"space": space, "feature": feature}
        self._known[space].spots[feature] = self._book.tell(host, "feature", known, self._draws)
        return True

    def _decoy(self, space: str, feature: str) -> None:
        """Give a feature to another location, too, if no other one has it yet."""
        others = [name for name in self._book.universe.spaces if name != space]
        if not any(feature in self._known[name].spots for name in others if name in self._known):
            for other in self._draws.sample(others, TRIES):
                if not self._confuses(other, {feature}):
                    self._place(other, feature)
                    return
