"""Level 4: dates, people and locations that only other chapters tell.

A title (`the Velvet Icicle`, `the baker's godchild of Magpie Row`) is explained in a chapter of somebody else's, at level 5
often by another title. Two people hold an office in turn, and chapters of others tell on which days they take it over, so that
it depends on the day who holds it.

A location is where somebody had first met the florists of Marrow Lane in an earlier event; or it is the one with two features,
each of which several locations have, as other chapters tell in passing; and others what one does not have, and where nobody met.

A date is so many days or weeks after or before an event of another chapter, its nearest Monday on one side, the second Monday of
the first March that begins after it, or the day on which something ended that began with it. A reference may lead to another.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from epbench.draws import RandomStream
from epbench.tulving.events.dates import MONTHS, WEEKDAYS
from epbench.tulving.events.universe import Event
from epbench.tulving.levels.banks import IN_LETTERS, NTH, combined, references_bank
from epbench.tulving.levels.plan import BY_ANOTHER, LEVELS, MOST_LINKS, Book, Evidence, Spot
from epbench.tulving.scenes.patterns import pronouns_of

TENURES_TRIED = 12
"""How many pairs of days on which they may take it over are tried."""

Holding = tuple[int, list[Spot]]
"""A chapter that calls its main character by an office, and where it is told who took it over, of both who did."""


def add_people(book: Book, level: int) -> list[Holding]:
    """Call main characters by a title or an office, and return where an office does, for `finish_offices`."""
    draws, often = RandomStream("people", book.seed), LEVELS[level].elsewhere["entity"]
    chapters = book.by_person()
    if len(chapters) < 2:
        return []
    holdings = _add_offices(book, chapters, draws)
    called = {number for number, _ in holdings}
    nicknames = combined("the {} {}", ("traits", "creatures"), draws)
    relatives = combined("the {}'s {} of {} {}", ("trades", "kin", "lanes", "roads"), draws)
    for entity, numbers in chapters.items():
        free = [number for number in numbers if number not in called]
        if not (numbers := [number for number in free if draws.unit() < often]):
            continue
        kinds = [nicknames, relatives] if draws.unit() < 0.5 else [relatives, nicknames]
        n = 1 + (level >= 5 and draws.unit() < BY_ANOTHER) + (level >= 5 and draws.unit() < BY_ANOTHER)
        words, spots = entity, list[Spot]()
        for title in filter(None, (next(kind, None) for kind in (kinds * 2)[:n])):
            host = book.host(draws, lambda other, entity=entity: book.events[other].entity != entity)  # type: ignore[misc]
            assert host is not None, "several people have chapters"
            spots.append(book.tell(host, "title", {"entity": words, "title": title}, draws))
            others = [other for other in chapters if other != entity and pronouns_of(other) is pronouns_of(entity)]
            for other in draws.sample(others, 1):
                book.deny("not_title", {"title": title}, "entity", other, entity, draws)
            words = title
        for number in numbers if spots else ():
            _call(book, number, words)
            own_spot = Spot(number, book.layouts[number].entity)
            book.plans[number].evidence["entity"] = Evidence(len(spots), frozenset([own_spot, *spots]))
    return holdings


def _call(book: Book, number: int, title: str) -> None:
    plan, words = book.plans[number], title.split()
    plan.name = title
    plan.hero = f"the {words[-1]}" if words[1][0].isupper() else title.rpartition(" of ")[0]


def _add_offices(book: Book, chapters: Mapping[str, Sequence[int]], draws: RandomStream) -> list[Holding]:
    """Have pairs of people hold an office one after the other, from days on which chapters of others tell that they take it."""
    titles = combined("the {} of {} {}", ("offices", "lanes", "roads"), draws)
    holdings: list[Holding] = []
    people = draws.sample(list(chapters), len(chapters))
    for first, second in zip(people[::2], people[1::2], strict=False):
        of_both = {*chapters[first], *chapters[second]}
        others = [number for number in range(len(book.events)) if number not in of_both]
        tried = [_tenure(book, chapters[first], chapters[second], others, draws) for _ in range(TENURES_TRIED)]
        numbers, hosts = max(tried, key=lambda one: len(one[0]))
        if numbers and (title := next(titles, None)) is not None:
            taken = [
                book.tell(host, "office", {"entity": entity, "title": title}, draws)
                for host, entity in zip(hosts, (first, second), strict=True)
            ]
            book.most_links.update(dict.fromkeys((*hosts, *numbers), MOST_LINKS - 1))
            for number in numbers:
                _call(book, number, title)
                holdings.append((number, taken))
    return holdings


def _tenure(
    book: Book, firsts: Sequence[int], seconds: Sequence[int], others: Sequence[int], draws: RandomStream
) -> tuple[list[int], list[int]]:
    """Chapters that may name an office, of two people who hold it in turn, and those of others on whose days they take it."""

    def day(number: int) -> date:
        return book.events[number].time

    hosts = sorted(draws.sample(others, 2), key=day)
    if len(hosts) < 2:
        return [], []
    start, end = map(day, hosts)
    return [*(n for n in firsts if start < day(n) < end), *(n for n in seconds if start < end < day(n))], hosts


def finish_offices(book: Book, holdings: Sequence[Holding]) -> None:
    """Note what tells who held an office: the day of the chapter, and those on which the two people took it over."""
    for number, taken in holdings:
        days = [book.plans[chapter].evidence["date"] for chapter in (number, *(spot.number for spot in taken))]
        own_spot = Spot(number, book.layouts[number].entity)
        links = 1 + max(evidence.links for evidence in days)
        spots = frozenset[Spot]().union([own_spot, *taken], *(evidence.spots for evidence in days))
        book.plans[number].evidence["entity"] = Evidence(links, spots)


PAIRS_TRIED = 6
"""How many pairs of features, and how many other locations, are tried."""


def add_places(book: Book, level: int) -> None:
    """Tell locations by meetings and by features."""
    draws, often = RandomStream("places", book.seed), LEVELS[level].elsewhere["location"]
    meetings = _Meetings(book, draws)
    features = _Features(book, meetings, level, draws)
    for number in book.by_day():
        settled = "location" in book.plans[number].firm or number in book.named
        if not settled and draws.unit() < often:
            _ = meetings.tell(number) or features.tell(number)
        meetings.earlier[book.events[number].space].append(number)


class _Meetings:
    """Locations by whom the main character of an earlier event had first met there."""

    def __init__(self, book: Book, draws: RandomStream) -> None:
        self._book, self._draws = book, draws
        self._groups = combined("the {} of {} {}", ("groups", "lanes", "roads"), RandomStream("groups", book.seed))
        self._uses = Counter[int]()
        self.earlier: dict[str, list[int]] = defaultdict(list)

    def tell(self, number: int) -> bool:
        event, plan = self._book.events[number], self._book.plans[number]
        if (told := self.words("where", event.space, event.time, MOST_LINKS)) is None:
            return False
        plan.where, evidence = told
        own_spot = Spot(number, self._book.layouts[number].space)
        plan.evidence["location"] = Evidence(evidence.links + 1, evidence.spots | {own_spot})
        return True

    def words(self, part: str, space: str, before: date, most_links: int) -> tuple[str, Evidence] | None:
        """Words of a part of the bank for a location, by an event before a day, and what tells that it is this one."""
        book, draws = self._book, self._draws
        anchors = [
            earlier
            for earlier in self.earlier[space]
            if book.events[earlier].time < before
            and book.plans[earlier].evidence["location"].links < most_links
            and self._uses[earlier] < book.most_uses
        ]
        group = next(self._groups, None)
        if not anchors or group is None:
            return None
        anchor = max(draws.sample(anchors, len(anchors)), key=lambda one: book.plans[one].evidence["location"].links)
        self._uses[anchor] += 1
        hero, met, event = book.plans[anchor].hero, book.plans[anchor].met, book.events[anchor]
        if met is None:
            known = {"hero": hero, "group": group}
            met = book.plans[anchor].met = (group, book.tell(anchor, "meeting", known, draws))
            later = [other for other in range(len(book.events)) if book.events[other].time > event.time]
            hosts = [other for other in later if book.events[other].space != space]
            for host in draws.sample(hosts, 1):
                book.tell(host, "not_meeting", known, draws)
        evidence = book.plans[anchor].evidence["location"]
        words = book.phrase(part, {"hero": hero, "group": met[0]}, draws)
        return words, Evidence(evidence.links, evidence.spots | {met[1]})


class _Features:
    """Locations by two features, which no other location has together."""

    def __init__(self, book: Book, meetings: _Meetings, level: int, draws: RandomStream) -> None:
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
            words, evidence = met or (words, evidence)
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


MOST_DAYS = 90
"""How many days lie between two events at most if their distance dates one of them."""
CHAPTERS_TRIED = 40
"""How many chapters are looked at for one that can date another."""
BY_SPAN = 0.15
"""How often a date is told by what began on another one, where other ways are possible, too."""


def add_days(book: Book, level: int) -> None:
    """Tell dates by other chapters', which are named by their event, by a meeting in them, or by what began with them."""
    draws, often = RandomStream("days", book.seed), LEVELS[level].elsewhere["date"]
    spans = combined("the {} of the {} of {} {}", ("spans", "groups", "lanes", "roads"), draws)
    uses = Counter[int]()
    earlier: list[int] = []
    for number in draws.sample(range(len(book.events)), len(book.events)):
        plan = book.plans[number]
        if plan.evidence["date"].links == 0 and "date" not in plan.firm and draws.unit() < often:
            most_links = book.most_links.get(number, MOST_LINKS)
            anchors = [
                anchor
                for anchor in draws.sample(earlier, CHAPTERS_TRIED)
                if uses[anchor] < book.most_uses and book.plans[anchor].evidence["date"].links < most_links
            ]
            anchors.sort(key=lambda anchor: -book.plans[anchor].evidence["date"].links)
            told = None
            if draws.unit() >= BY_SPAN:
                told = next(filter(None, (_relation(book, number, anchor, draws) for anchor in anchors)), None)
            told = told or next(filter(None, (_span(book, number, anchor, spans, draws) for anchor in anchors)), None)
            if told is not None:
                anchor, plan.when, spots = told
                uses[anchor] += 1
                own_spot = Spot(number, book.layouts[number].time)
                plan.evidence["date"] = book.linked(anchor, "date", own_spot, spots)
        earlier.append(number)


_Dated = tuple[int, str, Sequence[Spot]]
"""Another chapter, the words for a date by its date, and the paragraphs that tell which one it is."""


def _relation(book: Book, number: int, anchor: int, draws: RandomStream) -> _Dated | None:
    """The date of a chapter by its distance from that of another one; None if that one cannot be named, or is too far."""
    pointer = book.by_meeting(anchor, draws)
    if book.events[anchor].space != book.events[number].space:  # or the words for the location would stand twice
        pointer = book.by_content(anchor, draws) or pointer
    if pointer is None:
        return None
    exact = (
        book.plans[anchor].evidence["date"].links > 0
    )  # or a wrong date of the other chapter might tell the right one
    words = _distance(book, book.events[number], book.events[anchor], pointer[0], exact, draws)
    return (anchor, words, pointer[1]) if words else None


def _span(book: Book, number: int, anchor: int, spans: Iterator[str], draws: RandomStream) -> _Dated | None:
    """The date of a chapter as the day on which something ended that began on that of another one."""
    days = (book.events[number].time - book.events[anchor].time).days
    if not 1 < days < len(IN_LETTERS):
        return None
    span = next(spans)
    spot = book.tell(anchor, "span", {"span": span, "n": IN_LETTERS[days]}, draws)
    day = book.events[anchor].time
    if (host := book.host(draws, lambda other: book.events[other].time != day)) is not None:
        book.tell(host, "not_span", {"span": span}, draws)
    return anchor, book.phrase("ended", {"span": span}, draws), [spot]


def _distance(book: Book, event: Event, anchor: Event, named: str, exact: bool, draws: RandomStream) -> str | None:
    """The date of an event by its distance from another one, in days or weeks if it must be exact; None if it is too far."""
    days = (event.time - anchor.time).days
    known = {"anchor": named, "side": "after" if days > 0 else "before"}
    first_of_month = event.time.replace(day=1)
    months_off = 0 < (first_of_month - anchor.time).days <= 365 and event.time.day <= 7 * len(NTH)
    if not exact and months_off and (abs(days) > MOST_DAYS or draws.unit() < 0.4):
        part, known["nth"] = "month", NTH[(event.time.day - 1) // 7]
        known |= {"weekday": WEEKDAYS[event.time.weekday()], "month": MONTHS[event.time.month - 1]}
    elif abs(days) > MOST_DAYS:
        return None
    elif days == 0:
        part = "same"
    elif not exact and abs(days) <= 7 and draws.unit() < 0.5:
        part, known["weekday"] = "weekday", WEEKDAYS[event.time.weekday()]
    elif days % 7 == 0 and abs(days) > 7:
        part, known["n"] = "weeks", IN_LETTERS[abs(days) // 7]
    elif abs(days) == 1:
        part = "day"
    else:
        part, known["n"] = "days", IN_LETTERS[abs(days)]
    return book.phrase(part, known, draws)
