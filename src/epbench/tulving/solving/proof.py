"""The proof of a book: every fact follows from the text, its evidence is enough, and no part of the evidence can be missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from epbench.errors import RunFailed
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.events.universe import Universe
from epbench.tulving.solving.solver import Known, Solver, at_places
from epbench.tulving.solving.statements import Place, Statement, Statements


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
        planned = Counter((one.kind, one.thing, (one.spot.number, one.spot.paragraph)) for one in chapter.outcomes)
        if (told := _told_outcomes(chapter, by_place)) != planned:
            shown = ", ".join(f"{kind} ({thing})" for kind, thing, _ in (told - planned) + (planned - told))
            flaws.append(Flaw(chapter.number, "outcomes", f"the text and the plan differ on what was {shown}"))
        for fact, evidence in chapter.evidence.items():
            true = _truth(chapter)[fact]
            found = whole.fact(chapter.number, fact)
            if found != true:
                flaws.append(Flaw(chapter.number, fact, f"the book says {found}, but it is {true}"))
                continue

            def of(places: Sequence[Place], chapter: Chapter = chapter, fact: str = fact) -> Known:
                return Solver(one for place in places for one in by_place.get(place, ())).fact(chapter.number, fact)

            places = sorted(evidence.spots)
            if of(places) != true:
                flaws.append(Flaw(chapter.number, fact, f"its evidence says {of(places)}, but it is {true}"))
            needless = [place for place in places if of([other for other in places if other != place]) == true]
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
        (one.kind, chapter.event.space if one.kind == "barred" else str(one.value), place)
        for place in ((chapter.number, at) for at in range(1, chapter.text.count("\n\n") + 2))
        for one in by_place.get(place, ())
        if one.kind in ("lost", "found", "barred")
    )


def _truth(chapter: Chapter) -> Mapping[str, Known]:
    event = chapter.event
    return {"date": event.time, "location": event.space, "entity": event.entity, "content": event.content}
