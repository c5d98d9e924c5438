"""Level 4: dates that only other chapters tell.

A date is so many days or weeks after or before an event of another chapter, its nearest Monday on one side, the second Monday of
the first March that begins after it, or the day on which something ended that began with it. A reference may lead to another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from epbench.draws import RandomStream
from epbench.tulving.events.dates import MONTHS, WEEKDAYS
from epbench.tulving.events.universe import Event
from epbench.tulving.levels.banks import IN_LETTERS, NTH, combined
from epbench.tulving.levels.plan import LEVELS, MOST_LINKS, Book, Spot

MOST_DAYS = 90
"""How many days lie between two events at most if their distance dates one of them."""
CHAPTERS_TRIED = 40
"""How many chapters are looked at for one that can date another."""
BY_SPAN = 0.15
"""How often a date is told by what began on another one, where other ways are possible, too."""


def add_days(book: Book, level: int) -> None:
    """Tell dates by other chapters', which are named by their event, by a meeting in them, or by what began with them."""
    draws, often = RandomStream("days", book.seed), LEVELS[level].elsewhere["date"]
    spans = combined("the {} {} {}", ("lanes", "roads", "spans"), draws)
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
                plan.refers["date"] = anchor
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
