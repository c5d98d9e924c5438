"""From what the paragraphs say to the facts of each chapter, through other chapters where one only refers to them.

The proof of a book: every fact follows from the text, its evidence is enough, and no part of the evidence can be missing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any, TypeVar

from epbench.errors import RunFailed
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.events.universe import Universe
from epbench.tulving.solving.statements import Anchor, Claim, Described, Place, Relation, Statement, Statements

Known = date | str | None
T = TypeVar("T")


class Solver:
    """Finds facts in a set of statements, which may be those of a whole book or of a few paragraphs."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        """Sort the statements by what they are looked up for."""
        self._said: dict[tuple[str, Any], list[Any]] = defaultdict(list)
        for statement in statements:
            chapter, kind, value = statement.place[0], statement.kind, statement.value
            key, known = _SORTED[kind](chapter, value) if kind in _SORTED else (chapter, value)
            self._said[kind, key].append(known)
            if kind == "named":
                self._said["held", value].append(chapter)
        self._known: dict[tuple[int, str], Known] = {}

    def fact(self, chapter: int, fact: str) -> Known:
        """Return a fact of a chapter: a date, or a name; None if the statements say nothing, or say several things."""
        key = (chapter, fact)
        if key not in self._known:
            self._known[key] = None  # a reference that leads back to this chapter says nothing
            told = self._said["named" if fact == "content" else fact, chapter]
            if fact == "date":
                told = [*self._corrected.get(chapter, told), *self._retold.get(chapter, ())]
            self._known[key] = _only({self._value(chapter, value, fact) for value in told} - {None})
        return self._known[key]

    @cached_property
    def _corrected(self) -> Mapping[int, Sequence[object]]:
        """The dates that other chapters put right, and have not withdrawn, by the chapter that they are about."""
        withdrawn = {chapter for anchor in self._said["withdrawal", None] for chapter in self._chapters(anchor)}
        dates = self._by_chapter("correction")
        return {chapter: days for chapter, days in dates.items() if chapter not in withdrawn}

    @cached_property
    def _retold(self) -> Mapping[int, Sequence[object]]:
        """What witnesses say in other chapters on the date, by the chapter that it is about."""
        return self._by_chapter("retelling")

    def _by_chapter(self, kind: str) -> Mapping[int, Sequence[object]]:
        said: dict[int, list[object]] = defaultdict(list)
        for anchor, value in self._said[kind, None]:
            if (chapter := _only(self._chapters(anchor))) is not None:
                said[chapter].append(value)
        return said

    def _value(self, chapter: int, value: object, fact: str) -> Known:
        if isinstance(value, Anchor):
            return self._of_anchor(value, fact)
        if isinstance(value, Claim):
            return value.value if self._said["rule", value.witness] else None  # type: ignore[return-value]
        if isinstance(value, Relation):
            return self._day(value)
        if isinstance(value, Described):
            first, second = ({*self._with(feature)} - {None} for feature in value)
            return _only(first & second)
        if fact == "content" and (meant := self._said["gloss", value]):
            return self._value(chapter, _only(meant), fact)
        if fact in ("entity", "content") and str(value).startswith("the "):
            return self._holder(chapter, str(value)) if fact == "entity" else None
        return value  # type: ignore[return-value]

    def _with(self, feature: str) -> Iterator[Known]:
        """The locations that have a feature."""
        for space in self._said["feature", feature]:
            yield self._of_anchor(space, "location") if isinstance(space, Anchor) else space

    def _holder(self, chapter: int, title: str) -> str | None:
        """Who has a title, or holds an office on the day of a chapter; from one takeover alone it cannot be told who."""
        if not (takeovers := self._said["office", title]):
            meant = _only(self._said["title", title])
            return self._holder(chapter, meant) if meant and meant.startswith("the ") else meant
        today = self.fact(chapter, "date")
        taken = [(self.fact(other, "date"), entity) for other, entity in takeovers]
        dated = [(day, entity) for day, entity in taken if isinstance(day, date)]
        before = [(day, entity) for day, entity in dated if isinstance(today, date) and day <= today]
        return max(before)[1] if before and len(dated) > 1 else None

    def _of_anchor(self, anchor: Anchor, fact: str) -> Known:
        number = _only(self._chapters(anchor))
        return None if number is None else self.fact(number, fact)

    def _chapters(self, anchor: Anchor) -> Iterator[int]:
        if anchor.group is not None:
            yield from self._said["met", anchor.group]
        else:
            for number in self._said["held", anchor.content]:
                if self.fact(number, "location") == anchor.space:
                    yield number

    def _day(self, relation: Relation) -> date | None:
        if relation.anchor.span is not None:
            began = self._said["span", relation.anchor.span]
            day = self.fact(began[0][0], "date") if len(began) == 1 else None
            return day + timedelta(days=began[0][1]) if isinstance(day, date) else None
        day = self._of_anchor(relation.anchor, "date")
        if not isinstance(day, date):
            return None
        if relation.days is not None:
            return day + timedelta(days=relation.side * relation.days)
        if relation.month is not None:
            later = day.year + (day.month >= relation.month)
            first = date(later, relation.month, 1)
            return first + timedelta(days=(relation.weekday - first.weekday()) % 7 + 7 * (relation.nth - 1))
        step = timedelta(days=relation.side)
        day += step
        while day.weekday() != relation.weekday:
            day += step
        return day


_SORTED: Mapping[str, Callable[[int, Any], tuple[Any, Any]]] = {
    "met": lambda chapter, group: (group, chapter),
    "span": lambda chapter, value: (value[0], (chapter, value[1])),
    "office": lambda chapter, value: (value[0], (chapter, value[1])),
    "feature": lambda chapter, value: (value[1], value[0]),
    "rule": lambda chapter, witness: (witness, True),
    **dict.fromkeys(("title", "gloss"), lambda chapter, value: value),
    **dict.fromkeys(("retelling", "correction", "withdrawal"), lambda chapter, value: (None, value)),
}
"""For what a statement of each kind is looked up, and what is then found; the others are looked up for their chapter."""


def _only(values: Iterable[T]) -> T | None:
    found = set(values)
    return found.pop() if len(found) == 1 else None


def at_places(statements: Iterable[Statement]) -> dict[Place, list[Statement]]:
    """Sort statements by the paragraph that makes them."""
    sorted_: dict[Place, list[Statement]] = defaultdict(list)
    for statement in statements:
        sorted_[statement.place].append(statement)
    return sorted_


@dataclass(frozen=True)
class Flaw:
    """A fact of a book that is not as its evidence says."""

    chapter: int  # the number of the chapter
    fact: str  # `date`, `location`, `entity`, `content` or `outcomes`
    what: str  # what is wrong, as part of a sentence
    needless: frozenset[Place] = frozenset()  # the paragraphs of the evidence without which the fact follows as well


def flaws_of(chapters: Sequence[Chapter], universe: Universe) -> list[Flaw]:
    """Return what cannot be proved of a book; nothing for a right one.

    Three things are tried for every fact of every chapter: that the whole book says it, that its evidence alone does, and that
    the evidence without any one of its paragraphs does not. What was lost, what was found and who was barred must stand where
    the plan has it, and nowhere else.
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

            def answer_from(places: Iterable[Place], chapter: Chapter = chapter, fact: str = fact) -> Known:
                return Solver(statement for place in places for statement in by_place.get(place, ())).fact(
                    chapter.number, fact
                )

            needed: list[Place] = sorted(evidence.spots)
            if answer_from(needed) != true:
                flaws.append(Flaw(chapter.number, fact, f"its evidence says {answer_from(needed)}, but it is {true}"))
                continue
            for place in sorted(evidence.spots):
                others = [other for other in needed if other != place]
                needed = others if answer_from(others) == true else needed
            if needless := frozenset(evidence.spots - set(needed)):  # type: ignore[operator]
                what = f"it follows without chapter and paragraph {min(needless)}"
                flaws.append(Flaw(chapter.number, fact, what, needless))
    return flaws


def prove(chapters: Sequence[Chapter], universe: Universe) -> list[Chapter]:
    """Refuse a book in which a fact cannot be derived from its words, or from its evidence, by RunFailed.

    Return the chapters, with no paragraph in the evidence without which the fact would follow by chance.
    """
    flaws = flaws_of(chapters, universe)
    if unproved := [flaw for flaw in flaws if not flaw.needless]:
        shown = "; ".join(f"chapter {flaw.chapter}, {flaw.fact}: {flaw.what}" for flaw in unproved[:3])
        raise RunFailed(f"{len(unproved)} facts of the book cannot be proved from its text: {shown}")
    needless = {(flaw.chapter, flaw.fact): flaw.needless for flaw in flaws}
    proved = []
    for chapter in chapters:
        evidence = {
            fact: replace(old, spots=old.spots - needless.get((chapter.number, fact), frozenset()))
            for fact, old in chapter.evidence.items()
        }
        proved.append(replace(chapter, evidence=evidence))
    return proved


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
