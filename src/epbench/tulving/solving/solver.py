"""From what the paragraphs say to the facts of each chapter, through other chapters where one only refers to them.

The proof of a book: every fact follows from the text, its evidence is enough, and no part of the evidence can be missing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

from epbench.errors import RunFailed
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.events.universe import Universe
from epbench.tulving.solving.statements import Anchor, Claim, Place, Relation, Statement, Statements

Known = date | str | None


class Solver:
    """Finds facts in a set of statements, which may be those of a whole book or of a few paragraphs."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        """Sort the statements by chapter, and by what they may be looked up for."""
        self._said: dict[tuple[int, str], list[object]] = defaultdict(list)
        self._met: dict[str, list[int]] = defaultdict(list)
        self._nicknames: dict[str, set[str]] = defaultdict(set)
        self._held: dict[str, list[int]] = defaultdict(list)
        self._trusted: set[str] = set()
        self._corrections: list[tuple[Anchor, date]] = []
        self.outcomes: dict[int, list[tuple[str, str]]] = defaultdict(list)
        """By chapter, what it says that was lost and found, and whether somebody was barred."""
        for statement in statements:
            chapter, value = statement.place[0], statement.value
            if statement.kind == "met":
                self._met[str(value)].append(chapter)
            elif statement.kind == "nickname":
                assert isinstance(value, tuple), "a nickname comes with the person"
                self._nicknames[value[0]].add(value[1])
            elif statement.kind == "rule":
                self._trusted.add(str(value))
            elif statement.kind == "correction":
                self._corrections.append(value)  # type: ignore[arg-type]
            elif statement.kind in ("lost", "found", "barred"):
                self.outcomes[chapter].append((statement.kind, str(value)))
            elif statement.kind == "named":
                self._held[str(value)].append(chapter)
            else:
                self._said[chapter, statement.kind].append(value)
        self._known: dict[tuple[int, str], Known] = {}

    def fact(self, chapter: int, fact: str) -> Known:
        """Return a fact of a chapter: a date, or a name.

        Args:
            chapter: The number of the chapter.
            fact: `date`, `location`, `entity` or `content`.

        Returns:
            None if the statements say nothing, or say several things.
        """
        key = (chapter, fact)
        if key not in self._known:
            self._known[key] = None  # a reference that leads back to this chapter says nothing
            values = {self._value(value, fact) for value in self._said.get(key, ())} - {None}
            if fact == "date" and chapter in self._corrected:
                values = set(self._corrected[chapter])
            self._known[key] = values.pop() if len(values) == 1 else None
        return self._known[key]

    @cached_property
    def _corrected(self) -> dict[int, set[Known]]:
        """The dates that other chapters put right, by the chapter that they are about."""
        dates: dict[int, set[Known]] = defaultdict(set)
        for anchor, day in self._corrections:
            chapters = set(self._chapters(anchor))
            if len(chapters) == 1:
                dates[chapters.pop()].add(day)
        return dates

    def _value(self, value: object, fact: str) -> Known:
        if isinstance(value, Anchor):
            return self._of_anchor(value, fact)
        if isinstance(value, Claim):
            return value.space if value.witness in self._trusted else None
        if isinstance(value, Relation):
            return self._day(value)
        if fact == "entity" and str(value).startswith("the "):
            people = self._nicknames.get(str(value), set())
            return next(iter(people)) if len(people) == 1 else None
        return value  # type: ignore[return-value]

    def _of_anchor(self, anchor: Anchor, fact: str) -> Known:
        numbers = set(self._chapters(anchor))
        return self.fact(numbers.pop(), fact) if len(numbers) == 1 else None

    def _chapters(self, anchor: Anchor) -> Iterator[int]:
        if anchor.group is not None:
            yield from self._met.get(anchor.group, ())
        else:
            yield from (
                number
                for number in self._held.get(anchor.content or "", ())
                if self.fact(number, "location") == anchor.space
            )

    def _day(self, relation: Relation) -> Known:
        day = self._of_anchor(relation.anchor, "date")
        if not isinstance(day, date):
            return None
        if relation.days is not None:
            return day + timedelta(days=relation.side * relation.days)
        step = timedelta(days=relation.side)
        day += step
        while day.weekday() != relation.weekday:
            day += step
        return day


def at_places(statements: Iterable[Statement]) -> dict[Place, list[Statement]]:
    """Sort statements by the paragraph that makes them."""
    sorted_: dict[Place, list[Statement]] = defaultdict(list)
    for statement in statements:
        sorted_[statement.place].append(statement)
    return sorted_


@dataclass(frozen=True)
class Flaw:
    """A fact of a book that is not as its evidence says.

    Attributes:
        chapter: The number of the chapter.
        fact: `date`, `location`, `entity`, `content` or `outcomes`.
        what: What is wrong, as part of a sentence.
    """

    chapter: int
    fact: str
    what: str


def flaws_of(chapters: Sequence[Chapter], universe: Universe) -> list[Flaw]:
    """Return what cannot be proved of a book; nothing for a right one.

    Three things are tried for every fact of every chapter: that the whole book says it, that its evidence alone does, and that
    the evidence without any one of its paragraphs does not. What was lost, what was found and who was barred must stand where
    the plan has it, and nowhere else.

    Args:
        chapters: The chapters with their evidence.
        universe: The names that a reader knows.
    """
    statements = Statements(universe).of_book([(chapter.number, chapter.text) for chapter in chapters])
    whole, by_place = Solver(statements), at_places(statements)
    flaws = []
    for chapter in chapters:
        planned = Counter(
            (outcome.kind, outcome.thing, (outcome.spot.number, outcome.spot.paragraph)) for outcome in chapter.outcomes
        )
        if (in_text := _told_outcomes(chapter, by_place)) != planned:
            shown = ", ".join(f"{kind} ({thing})" for kind, thing, _ in (in_text - planned) + (planned - in_text))
            flaws.append(Flaw(chapter.number, "outcomes", f"the text and the plan differ on what was {shown}"))
        event = chapter.event
        truth: dict[str, Known] = {"date": event.time, "location": event.space}
        truth |= {"entity": event.entity, "content": event.content}
        for fact, evidence in chapter.evidence.items():
            true = truth[fact]
            value = whole.fact(chapter.number, fact)
            if value != true:
                flaws.append(Flaw(chapter.number, fact, f"the book says {value}, but it is {true}"))
                continue

            def answer_from(places: Sequence[Place], chapter: Chapter = chapter, fact: str = fact) -> Known:
                return Solver(statement for place in places for statement in by_place.get(place, ())).fact(
                    chapter.number, fact
                )

            places = sorted(evidence.spots)
            if answer_from(places) != true:
                flaws.append(Flaw(chapter.number, fact, f"its evidence says {answer_from(places)}, but it is {true}"))
            needless = [place for place in places if answer_from([other for other in places if other != place]) == true]
            if needless:
                flaws.append(Flaw(chapter.number, fact, f"it follows without chapter and paragraph {needless[0]}"))
    return flaws


def prove(chapters: Sequence[Chapter], universe: Universe) -> None:
    """Refuse a book in which a fact cannot be proved.

    Raises:
        RunFailed: There is such a fact; the message names the first ones.
    """
    flaws = flaws_of(chapters, universe)
    if flaws:
        shown = "; ".join(f"chapter {flaw.chapter}, {flaw.fact}: {flaw.what}" for flaw in flaws[:3])
        raise RunFailed(f"{len(flaws)} facts of the book cannot be proved from its text: {shown}")


def _told_outcomes(
    chapter: Chapter, by_place: Mapping[Place, Sequence[Statement]]
) -> Counter[tuple[str, str, tuple[int, int]]]:
    """What the text says that was lost, found and barred; a ban is from the location of the event."""
    return Counter(
        (statement.kind, chapter.event.space if statement.kind == "barred" else str(statement.value), place)
        for place in ((chapter.number, at) for at in range(1, chapter.text.count("\n\n") + 2))
        for statement in by_place.get(place, ())
        if statement.kind in ("lost", "found", "barred")
    )
