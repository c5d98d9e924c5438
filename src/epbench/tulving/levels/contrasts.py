"""Level 3: a fact beside a value that is not so, and kinds of event by what they are called in this book.

Posters and first reports, rumours and invitations give a date, a location, a person or a kind of event that turned out
otherwise; which is which takes the sentence, not the position of the names. What stands for a kind of event (`the evening of
spoken verse`) is explained in another chapter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from epbench.draws import RandomStream
from epbench.tulving.levels.banks import CONTRASTS, contrasts_of
from epbench.tulving.levels.book import Book
from epbench.tulving.levels.plan import Evidence, Fixed, Spot
from epbench.tulving.scenes.patterns import pronouns_of
from epbench.tulving.scenes.spread import write_freshly

FACTS = {"time": "date", "space": "location", "name": "entity", "event": "content"}
"""The fact that each part of the bank tells."""
NEAR = 8
"""From among how many chapters before and after it in time the date comes that is not so."""
MOST_TAKEN = 0.02
"""In which share of chapters the same words stand for what is not so at most; at least three may have them."""
CANDIDATES = 20
CONTRASTED = 0.95
"""How often a fact is told beside a value that is not so."""


def add_glosses(book: Book) -> None:
    """Explain in another chapter what each kind of event is called where it is not named."""
    draws = RandomStream("glosses", book.seed)
    called: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, plan in enumerate(book.plans):
        if not plan.named:
            called[plan.what, book.events[number].content].append(number)
    for (words, content), numbers in called.items():
        host = book.host(draws, lambda other, content=content: book.events[other].content != content)  # type: ignore[misc]
        assert host is not None, "an event is only unnamed in a book with several kinds of event"
        spot = book.tell(host, "gloss", {"phrase": words, "content": content}, draws)
        for number in numbers:
            own_spot = Spot(number, book.layouts[number].content)
            book.plans[number].evidence["content"] = Evidence(1, frozenset([own_spot, spot]))


def add_contrasts(book: Book, tone: str) -> None:
    """Tell most facts in one sentence with a value that is not so, in the words that another chapter has for its own."""
    draws = RandomStream("contrasts", book.seed)
    bank = contrasts_of(tone)
    taken, most = Counter[str](), max(3, int(MOST_TAKEN * len(book.events)))
    by_day = sorted(range(len(book.events)), key=lambda number: (book.events[number].time, number))
    for at, number in enumerate(by_day):
        near = [*by_day[max(0, at - NEAR) : at], *by_day[at + 1 : at + 1 + NEAR]]
        plan, told = book.plans[number], _told(book, number)
        for part, fact in FACTS.items():
            if fact in plan.firm or draws.unit() >= CONTRASTED:
                continue
            others = _others(book, number, part, near if part == "time" else by_day, draws)
            instead = next((words for words in others if taken[words] < most), None)
            if instead is not None:
                taken[instead] += 1
                book.phrases.add(instead)
                known = {CONTRASTS[part]: told[part].words, "instead": instead}
                text = write_freshly(bank[part], known, book.spread, draws)
                plan.fixed.append(Fixed(told[part].paragraph, text))
                plan.contrasted.add(fact)


class _Told(NamedTuple):
    """A fact, in which words a chapter tells it, and where."""

    value: object
    words: str
    paragraph: int


def _told(book: Book, number: int) -> dict[str, _Told]:
    event, plan, layout = book.events[number], book.plans[number], book.layouts[number]
    return {
        "time": _Told(event.time, plan.when, layout.time),
        "space": _Told(event.space, plan.where, layout.space),
        "name": _Told(event.entity, plan.name, layout.entity),
        "event": _Told(event.content, plan.what, layout.content),
    }


def _others(book: Book, number: int, part: str, others: Sequence[int], draws: RandomStream) -> Iterator[str]:
    """What is not so: a person with the same first name if there is one; else the words of other chapters for other values."""
    event, plan = book.events[number], book.plans[number]
    if part == "name" and plan.name == event.entity:
        namesakes = [name for name in book.universe.entities if name.split()[0] == event.first_name]
        yield from draws.sample([name for name in namesakes if name != event.entity], 1)
    own = _told(book, number)[part]
    for other in islice(draws.one_by_one(others), CANDIDATES):
        told = _told(book, other)[part]
        if part == "name" and pronouns_of(book.events[other].first_name) is not pronouns_of(event.first_name):
            continue  # `she` or `he` would tell who it is
        free = FACTS[part] not in book.plans[other].firm and book.phrases.allows(told.words)
        if told.value != own.value and told.words != own.words and free:
            yield told.words
