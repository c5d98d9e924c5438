"""The proof of a book: every fact follows from the text, its evidence is enough, and no part of the evidence can be missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from epbench.errors import RunFailed
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.events.universe import Universe
from epbench.tulving.solving.solver import Known, Solver, at_places
from epbench.tulving.solving.statements import Place, Statements


@dataclass(frozen=True)
class Flaw:
    """A fact of a book that is not as its evidence says.

    Attributes:
        chapter: The number of the chapter.
        fact: `date`, `location`, `entity` or `content`.
        what: What is wrong, as part of a sentence.
    """

    chapter: int
    fact: str
    what: str


def flaws_of(chapters: Sequence[Chapter], universe: Universe) -> list[Flaw]:
    """Return what cannot be proved of a book; nothing for a right one.

    Three things are tried for every fact of every chapter: that the whole book says it, that its evidence alone does, and that
    the evidence without any one of its paragraphs does not.

    Args:
        chapters: The chapters with their evidence.
        universe: The names that a reader knows.
    """
    statements = Statements(universe).of_book([(chapter.number, chapter.text) for chapter in chapters])
    whole, by_place = Solver(statements), at_places(statements)
    flaws = []
    for chapter in chapters:
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


def _truth(chapter: Chapter) -> Mapping[str, Known]:
    event = chapter.event
    return {"date": event.time, "location": event.space, "entity": event.entity, "content": event.content}
