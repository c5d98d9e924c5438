"""Level 4: locations that only other chapters tell.

A location is where somebody had first met the Marrow Lane florists in an earlier event; or it is the one with two features,
each of which several locations have, as other chapters tell in passing; and others what one does not have, who never met whom,
and where nobody met.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date

from epbench.draws import RandomStream
from epbench.tulving.levels.banks import combined, references_bank
from epbench.tulving.levels.plan import BY_ANOTHER, LEVELS, MOST_LINKS, Book, Evidence, Spot
from epbench.tulving.scenes.patterns import pronouns_of

PAIRS_TRIED = 6
"""How many pairs of features, and how many other locations, are tried."""


def add_places(book: Book, level: int, meetings: Meetings) -> None:
    """Tell locations by meetings and by features."""
    draws, often = RandomStream("places", book.seed), LEVELS[level].elsewhere["location"]
    features = _Features(book, meetings, level, draws)
    for number in book.by_day():
        settled = "location" in book.plans[number].firm or number in book.named
        if not settled and draws.unit() < often:
            _ = meetings.tell(number) or features.tell(number)
        meetings.earlier[book.events[number].space].append(number)


class Meetings:
    """Whom main characters meet for the first time, and locations by whom that of an earlier event had first met there."""

    def __init__(self, book: Book) -> None:
        self._book, self._draws = book, RandomStream("meetings", book.seed)
        self._groups = combined("the {} {} {}", ("lanes", "roads", "groups"), RandomStream("groups", book.seed))
        self._uses = Counter[int]()
        self._people = list(book.by_person())
        self.earlier: dict[str, list[int]] = defaultdict(list)

    def of(self, number: int, draws: RandomStream) -> tuple[str, Spot] | None:
        """Return whom the main character of a chapter meets, and where that is told; None if no group is left to meet."""
        book, plan, event = self._book, self._book.plans[number], self._book.events[number]
        if plan.met is None and (group := next(self._groups, None)) is not None:
            known = {"hero": plan.hero, "group": group}
            plan.met = (group, book.tell(number, "meeting", known, draws))
            later = [other for other in range(len(book.events)) if book.events[other].time > event.time]
            hosts = [other for other in later if book.events[other].space != event.space]
            for host in draws.sample(hosts, 1):
                book.tell(host, "not_meeting", known, draws)
            alike = [name for name in self._people if pronouns_of(name) is pronouns_of(event.entity)]
            for other in draws.sample([name for name in alike if name != event.entity], 1):
                book.deny("not_acquainted", {"group": group}, "entity", other, event.entity, draws)
        return plan.met

    def tell(self, number: int) -> bool:
        event, plan = self._book.events[number], self._book.plans[number]
        if (told := self.words("where", event.space, event.time, MOST_LINKS)) is None:
            return False
        plan.where, evidence, plan.refers["location"] = told
        own_spot = Spot(number, self._book.layouts[number].space)
        plan.evidence["location"] = Evidence(evidence.links + 1, evidence.spots | {own_spot})
        return True

    def words(self, part: str, space: str, before: date, most_links: int) -> tuple[str, Evidence, int] | None:
        """Words of a part of the bank for a location, by an event before a day, what tells that it is this one, and the event."""
        book, draws = self._book, self._draws
        anchors = [
            earlier
            for earlier in self.earlier[space]
            if book.events[earlier].time < before
            and book.plans[earlier].evidence["location"].links < most_links
            and self._uses[earlier] < book.most_uses
        ]
        if not anchors:
            return None
        anchor = max(draws.sample(anchors, len(anchors)), key=lambda one: book.plans[one].evidence["location"].links)
        if (met := self.of(anchor, draws)) is None:
            return None
        self._uses[anchor] += 1
        evidence = book.plans[anchor].evidence["location"]
        words = book.phrase(part, {"hero": book.plans[anchor].hero, "group": met[0]}, draws)
        return words, Evidence(evidence.links, evidence.spots | {met[1]}), anchor


class _Features:
    """Locations by two features, which no other location has together."""

    def __init__(self, book: Book, meetings: Meetings, level: int, draws: RandomStream) -> None:
        self._book, self._meetings, self._level, self._draws = book, meetings, level, draws
        # By location, what tells each of its features, which pairs of them describe it, and which it is said not to have.
        self._told: dict[str, dict[str, Evidence]] = defaultdict(dict)
        self._pairs: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._denied: dict[str, set[str]] = defaultdict(set)

    def tell(self, number: int) -> bool:
        space = self._book.events[number].space
        pair = self._draws.pick(pairs) if (pairs := self._pairs[space]) else self._new_pair(space)
        if pair is None:
            return False
        plan = self._book.plans[number]
        first, second = self._draws.sample(pair, 2)
        plan.where = self._book.phrase("described", {"first": first, "second": second}, self._draws)
        spots = {Spot(number, self._book.layouts[number].space)}
        told = [self._told[space][feature] for feature in pair]
        links = 1 + max(evidence.links for evidence in told)
        plan.evidence["location"] = Evidence(links, frozenset(spots.union(*(evidence.spots for evidence in told))))
        return True

    def _new_pair(self, space: str) -> tuple[str, str] | None:
        """Give a location two features that no other one has together, and each of them to another location, too."""
        taken = self._told[space].keys() | self._denied[space]
        free = [feature for feature in references_bank()["features"] if feature not in taken]
        for first, second in zip(*[iter(self._draws.sample(free, 2 * PAIRS_TRIED))] * 2, strict=False):
            both = any({first, second} <= told.keys() for name, told in self._told.items() if name != space)
            if both or self._confuses(space, {first, second}):
                continue
            if not (self._place(space, first) and self._place(space, second)):
                return None
            self._pairs[space].append((first, second))
            for feature in (first, second):
                self._decoy(space, feature)
            return first, second
        return None

    def _confuses(self, space: str, features: set[str]) -> bool:
        """Whether a location with these features, too, would fit the description of another one."""
        all_ = features | self._told[space].keys()
        return any(all_.issuperset(pair) for name, pairs in self._pairs.items() if name != space for pair in pairs)

    def _place(self, space: str, feature: str) -> bool:
        """Tell in a chapter that is elsewhere that a location has a feature; False if all chapters are there."""
        book, draws = self._book, self._draws
        if (host := book.host(draws, lambda number: book.events[number].space != space)) is None:
            return False
        words, evidence = space, Evidence(0, frozenset())
        if self._level >= 5 and draws.unit() < BY_ANOTHER:
            met = self._meetings.words("place", space, book.events[host].time, MOST_LINKS - 1)
            words, evidence = met[:2] if met else (words, evidence)
        spot = book.tell(host, "feature", {"space": words, "feature": feature}, draws)
        self._told[space][feature] = Evidence(evidence.links + (words != space), evidence.spots | {spot})
        return True

    def _decoy(self, space: str, feature: str) -> None:
        """Give a feature to another location, too, if no other one has it yet, and say that a third one lacks it."""
        others = [name for name in self._book.universe.spaces if name != space]
        others = [name for name in others if feature not in self._told[name] and feature not in self._denied[name]]
        if not (tried := self._draws.sample(others, PAIRS_TRIED)):
            return
        lacking = tried.pop()
        if not any(feature in told for name, told in self._told.items() if name != space):
            for other in [name for name in tried if not self._confuses(name, {feature})][:1]:
                self._place(other, feature)
        self._denied[lacking].add(feature)
        self._book.deny("not_feature", {"feature": feature}, "space", lacking, space, self._draws)
