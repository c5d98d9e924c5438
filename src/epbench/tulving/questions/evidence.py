"""Which paragraphs answer a question, and over how many links, from the evidence of the chapters that match."""

from __future__ import annotations

from collections.abc import Mapping

from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.levels.plan import Evidence, Spot
from epbench.tulving.questions.generate import Question
from epbench.tulving.questions.templates import Trace

_OF_LETTER = {"t": "date", "s": "location", "e": "entity", "c": "content"}
_OF_TRACE: Mapping[Trace, str] = {
    "times": "date", "spaces": "location", "entities": "entity", "contents": "content",
}  # fmt: skip
_OUTCOMES: tuple[Trace, ...] = ("causes", "states")


def evidence_of(question: Question, chapters: Mapping[int, Chapter]) -> Evidence:
    """Return what a reader must have read to answer a question.

    For every matching chapter these are the facts of the cue and what is asked for, and its date where the latest one or an
    order is wanted. `other_entities` takes the paragraphs that name a side character, `full_details` all paragraphs.

    Args:
        question: The question.
        chapters: The chapters of the book by their numbers, with their evidence.
    """
    if question.trace in _OUTCOMES:
        return _of_outcomes(question, chapters)
    facts = [_OF_LETTER[letter] for letter in question.cue]
    facts += [_OF_TRACE[question.trace]] if question.trace in _OF_TRACE else []
    facts += ["date"] if question.get != "all" else []
    spots: set[Spot] = set()
    links = 0
    for number in question.chapters:
        chapter = chapters[number]
        for fact in facts:
            links = max(links, chapter.evidence[fact].links)
            spots |= chapter.evidence[fact].spots
        for paragraph, text in enumerate(chapter.text.split("\n\n"), 1):
            named = question.trace == "other_entities" and any(name in text for name in chapter.secondary)
            if named or question.trace == "full_details":
                spots.add(Spot(number, paragraph))
    return Evidence(links, frozenset(spots))


def _of_outcomes(question: Question, chapters: Mapping[int, Chapter]) -> Evidence:
    """The paragraphs that tell a ban with its location and its event, or each thing that is still lost with its day.

    If one of these paragraphs tells of another loss, the chapter in which that thing was found again belongs to the evidence.
    """
    facts: tuple[str, ...] = ("entity", "location", "content")
    spots: set[Spot] = set()
    if question.trace == "states":
        facts = ("entity", "date")
        mine = [chapter for chapter in chapters.values() if chapter.event.entity == question.entity]
        found_in = {one.thing: chapter for chapter in mine for one in chapter.outcomes if one.kind == "found"}
        lost = [one for chapter in mine for one in chapter.outcomes if one.kind == "lost"]
    else:
        found_in, lost = {}, []
    needed = dict.fromkeys(question.chapters, facts)
    while True:
        for number in needed:
            chapter = chapters[number]
            spots |= {spot for fact in needed[number] for spot in chapter.evidence[fact].spots}
            spots |= {
                one.spot
                for one in chapter.outcomes
                if (one.kind == "barred" and question.trace == "causes") or one.thing in question.answer
            }
        elsewhere = [
            one for one in lost if one.spot in spots and one.thing not in question.answer and one.thing in found_in
        ]
        more = {one.thing: found_in[one.thing] for one in elsewhere}
        told = {one.spot for thing, chapter in more.items() for one in chapter.outcomes if one.thing == thing}
        if told <= spots and all(chapter.number in needed for chapter in more.values()):
            break
        spots |= told
        needed |= dict.fromkeys((chapter.number for chapter in more.values()), facts)
    links = max((chapters[n].evidence[fact].links for n in question.chapters for fact in needed[n]), default=0)
    return Evidence(links, frozenset(spots))
