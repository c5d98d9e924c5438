"""Level 4: people whom only another chapter names.

A title (`the Velvet Icicle`, `the baker's godchild of Magpie Row`) is explained in a chapter of somebody else's. An office
is taken over in one chapter and passed on in another, so that it depends on the day who holds it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from epbench.draws import RandomStream
from epbench.tulving.levels.banks import combined
from epbench.tulving.levels.book import Book
from epbench.tulving.levels.plan import LEVELS, Evidence, Spot

PASSED_ON = 0.6
"""How often two people with several chapters hold the same office, one after the other, where they can."""
SHORT_FORM = ("nickname", "kin", "office")

Holding = tuple[int, list[Spot]]
"""A chapter that calls its main character by an office, and where it is told who took it over, of both who did."""


def add_people(book: Book, level: int) -> list[Holding]:
    """Call main characters by a title or an office.

    Returns:
        Where an office stands for a person; `finish_offices` adds what that takes, once all dates are settled.
    """
    draws, often = RandomStream("people", book.seed), LEVELS[level].elsewhere["entity"]
    chapters: dict[str, list[int]] = defaultdict(list)
    for number in sorted(range(len(book.events)), key=lambda number: (book.events[number].time, number)):
        chapters[book.events[number].entity].append(number)
    if len(chapters) < 2:
        return []
    holdings, officers = _add_offices(book, chapters, draws)
    nicknames = combined("the {} {}", ("traits", "creatures"), draws)
    relatives = combined("the {}'s {} of {} {}", ("trades", "kin", "lanes", "roads"), draws)
    for entity, numbers in chapters.items():
        numbers = [number for number in numbers if draws.unit() < often]
        if entity in officers or not numbers:
            continue
        title = next(nicknames if draws.unit() < 0.5 else relatives, None)
        host = book.host(draws, lambda other, entity=entity: book.events[other].entity != entity)  # type: ignore[misc]
        if title is None or host is None:
            continue
        spot = book.tell(host, "title", {"entity": entity, "title": title}, draws)
        for number in numbers:
            _call(book, number, title)
            own_spot = Spot(number, book.layouts[number].entity)
            book.plans[number].evidence["entity"] = Evidence(1, frozenset([own_spot, spot]))
    return holdings


def _call(book: Book, number: int, title: str) -> None:
    plan = book.plans[number]
    plan.name = title
    words = title.split()
    plan.hero = f"the {words[-1]}" if words[1][0].isupper() else title.rpartition(" of ")[0]


def _add_offices(
    book: Book, chapters: Mapping[str, Sequence[int]], draws: RandomStream
) -> tuple[list[Holding], set[str]]:
    """Have pairs of people hold an office one after the other; and return who they are."""
    titles = combined("the {} of {} {}", ("offices", "lanes", "roads"), draws)
    often = draws.sample([entity for entity, numbers in chapters.items() if len(numbers) > 1], len(chapters))
    holdings: list[Holding] = []
    officers: set[str] = set()
    for first, second in zip(often[::2], often[1::2], strict=False):
        if draws.unit() >= PASSED_ON:
            continue
        if book.events[chapters[second][0]].time < book.events[chapters[first][0]].time:
            first, second = second, first
        for held in _held(book, chapters[first], chapters[second]):
            title, taken = next(titles), list[Spot]()
            for start, numbers in held:
                taken.append(book.tell(start, "office", {"entity": book.events[start].entity, "title": title}, draws))
                book.plans[start].firm.add("entity")
                book.most_links[start] = 1
                for number in numbers:
                    _call(book, number, title)
                    book.most_links[number] = 1
                    holdings.append((number, taken))
            officers |= {first, second}
    return holdings, officers


def _held(book: Book, firsts: Sequence[int], seconds: Sequence[int]) -> Iterator[list[tuple[int, list[int]]]]:
    """Where each of two people takes the office over, and where they hold it; nothing if the days do not allow it."""

    def day(number: int) -> int:
        return book.events[number].time.toordinal()

    start = firsts[0]
    later = [number for number in seconds if day(number) > day(start)]
    if later:
        # The one whose turn comes second takes over as late as somebody holds the office on both sides of it.
        handed = max(later, key=lambda number: (_n_between(book, firsts, start, number) > 0, -day(number)))
        held = [number for number in firsts if day(start) < day(number) < day(handed)]
        then = [number for number in seconds if day(number) > day(handed)]
        if held or then:
            yield [(start, held), (handed, then)]


def _n_between(book: Book, numbers: Sequence[int], start: int, end: int) -> int:
    return sum(book.events[start].time < book.events[number].time < book.events[end].time for number in numbers)


def finish_offices(book: Book, holdings: Sequence[Holding]) -> None:
    """Note what tells who held an office: the day of the chapter, and those on which the two people took it over."""
    for number, taken in holdings:
        days = [book.plans[chapter].evidence["date"] for chapter in (number, *(spot.number for spot in taken))]
        own_spot = Spot(number, book.layouts[number].entity)
        links = 1 + max(evidence.links for evidence in days)
        spots = frozenset[Spot]().union([own_spot, *taken], *(evidence.spots for evidence in days))
        book.plans[number].evidence["entity"] = Evidence(links, spots)
