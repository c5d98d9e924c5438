"""Level 4: main characters who are named by what only other chapters explain.

A title (`the Velvet Icicle`, `the baker's godchild of Magpie Row`) is explained in a chapter of somebody else's, at level 5
often by another title. Two people hold an office in turn, and chapters of others tell on which days they take it over, so that
it depends on the day who holds it. And people are named by whom they had met in an earlier chapter, which says who they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date

from epbench.draws import RandomStream
from epbench.tulving.levels.banks import combined, references_bank
from epbench.tulving.levels.places import Meetings
from epbench.tulving.levels.plan import BY_ANOTHER, LEVELS, MOST_LINKS, Book, Evidence, Spot
from epbench.tulving.scenes.patterns import pronouns_of

ACQUAINTED = 0.6
"""How often a main character of earlier chapters is named by whom he or she met in one of them, where that is possible."""
TENURES_TRIED = 12
"""How many pairs of days on which they may take it over are tried."""

Holding = tuple[int, list[Spot]]
"""A chapter that calls its main character by an office, and where it is told who took it over, of both who did."""


def add_people(book: Book, level: int) -> tuple[list[Holding], set[int]]:
    """Call main characters by a title or an office.

    Return where an office does, for `finish_offices`, and the chapters that are left to `add_acquaintances`.
    """
    draws, often = RandomStream("people", book.seed), LEVELS[level].elsewhere["entity"]
    chapters = book.by_person()
    if len(chapters) < 2:
        return [], set()
    acquainted = {number for numbers in chapters.values() for number in numbers[1:] if draws.unit() < ACQUAINTED}
    for number in acquainted:
        book.plans[number].hero = f"the {draws.pick(references_bank()['heroes'])}"
    chapters = {
        entity: [number for number in numbers if number not in acquainted] for entity, numbers in chapters.items()
    }
    holdings = _add_offices(book, chapters, draws)
    called = {number for number, _ in holdings}
    nicknames = combined("the {} {}", ("traits", "creatures"), draws)
    relatives = combined("the {}'s {} of {} {}", ("trades", "kin", "lanes", "roads"), draws)
    titles = list[str]()  # of those before
    for entity, numbers in chapters.items():
        free = [number for number in numbers if number not in called]
        if not (numbers := [number for number in free if draws.unit() < often]):
            continue
        kinds = [nicknames, relatives] if draws.unit() < 0.5 else [relatives, nicknames]
        n = 1 + (level >= 5 and draws.unit() < BY_ANOTHER) + (level >= 5 and draws.unit() < BY_ANOTHER)
        words, spots, own_titles = entity, list[Spot](), list[str]()
        others = [other for other in chapters if other != entity and pronouns_of(other) is pronouns_of(entity)]
        for title in filter(None, (next(kind, None) for kind in (kinds * 2)[:n])):
            host = book.host(draws, lambda other, entity=entity: book.events[other].entity != entity)  # type: ignore[misc]
            assert host is not None, "several people have chapters"
            spots.append(book.tell(host, "title", {"entity": words, "title": title}, draws))
            for other in [draws.pick(titles)] if titles and words != entity else draws.sample(others, 1):
                book.deny("not_title", {"title": title}, "entity", other, entity, draws)
            words = title
            own_titles.append(title)
        titles += own_titles
        for number in numbers if spots else ():
            _call(book, number, words)
            own_spot = Spot(number, book.layouts[number].entity)
            book.plans[number].evidence["entity"] = Evidence(len(spots), frozenset([own_spot, *spots]))
    return holdings, acquainted


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
        others = [number for number, event in enumerate(book.events) if event.entity not in (first, second)]
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


def add_acquaintances(book: Book, meetings: Meetings, chosen: Collection[int]) -> None:
    """Name main characters by whom they had met in an earlier chapter, which may itself not name them."""
    draws, uses = RandomStream("acquaintances", book.seed), Counter[int]()
    for numbers in book.by_person().values():
        for place, number in enumerate(numbers):
            today, plan = book.events[number].time, book.plans[number]
            anchors = [
                earlier
                for earlier in (numbers[:place] if number in chosen else ())
                if book.events[earlier].time < today
                and book.plans[earlier].evidence["entity"].links < MOST_LINKS
                and uses[earlier] < book.most_uses
            ]
            anchors.sort(key=lambda one: -book.plans[one].evidence["entity"].links)
            if anchors and (met := meetings.of(anchors[0], draws)):
                uses[anchors[0]] += 1
                plan.refers["entity"] = anchors[0]
                plan.name = book.phrase("acquainted", {"group": met[0]}, draws)
                own_spot = Spot(number, book.layouts[number].entity)
                plan.evidence["entity"] = book.linked(anchors[0], "entity", own_spot, [met[1]])
