"""Which paragraphs answer a question, and over how many links, from the evidence of the chapters that match.

Also the questions of level 5: what led to a ban, and what was still lost after an event or at the end of the book.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from epbench.draws import RandomStream
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.levels.plan import Evidence, Spot
from epbench.tulving.questions.generate import Question, question_of
from epbench.tulving.questions.templates import OUTCOME_TEMPLATES, Template, Trace

_OF_LETTER = {"t": "date", "s": "location", "e": "entity", "c": "content"}
_OF_TRACE: Mapping[Trace, str] = {"times": "date", "spaces": "location", "entities": "entity", "contents": "content"}
_OUTCOMES: tuple[Trace, ...] = ("causes", "states")


def evidence_of(question: Question, chapters: Mapping[int, Chapter]) -> Evidence:
    """Return what a reader must have read to answer a question, from the chapters by their numbers.

    For every matching chapter these are the facts of the cue and what is asked for, and its date where the latest one or
    an order is wanted. `other_entities` takes the paragraphs that name a side character, `full_details` all paragraphs.
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
        same_entity = [chapter for chapter in chapters.values() if chapter.event.entity == question.entity]
        outcomes = [(chapter, outcome) for chapter in same_entity for outcome in chapter.outcomes]
        found_in = {outcome.thing: chapter for chapter, outcome in outcomes if outcome.kind == "found"}
        lost = [outcome for _, outcome in outcomes if outcome.kind == "lost"]
    else:
        found_in, lost = {}, []
    needed = dict.fromkeys(question.chapters, facts)
    while True:
        for number in needed:
            chapter = chapters[number]
            spots |= {spot for fact in needed[number] for spot in chapter.evidence[fact].spots}
            spots |= {
                outcome.spot
                for outcome in chapter.outcomes
                if (outcome.kind == "barred" and question.trace == "causes") or outcome.thing in question.answer
            }
        elsewhere = dict.fromkeys(outcome.thing for outcome in lost if outcome.spot in spots)
        more = {thing: found_in[thing] for thing in elsewhere if thing not in question.answer and thing in found_in}
        more_spots = {one.spot for thing, chapter in more.items() for one in chapter.outcomes if one.thing == thing}
        if more_spots <= spots and all(chapter.number in needed for chapter in more.values()):
            break
        spots |= more_spots
        needed |= dict.fromkeys((chapter.number for chapter in more.values()), facts)
    links = max((chapters[n].evidence[fact].links for n in question.chapters for fact in needed[n]), default=0)
    return Evidence(links, frozenset(spots))


CAUSE, STILL_LOST, LOST_AT_THE_END = OUTCOME_TEMPLATES


def outcome_questions(chapters: Sequence[Chapter], *, seed: int = 0) -> list[Question]:
    """Return all questions on causes and states, each with an answer or with none.

    A ban is asked about by person and location; as many pairs of a person with a location that they were never barred
    from, drawn by seed, are asked about, too. What is still lost is asked about for every person after each of their
    events, and at the end.
    """
    by_person: dict[str, list[Chapter]] = defaultdict(list)
    for chapter in sorted(chapters, key=lambda chapter: chapter.event.time):
        by_person[chapter.event.entity].append(chapter)
    return [*_causes(chapters, seed), *_states(by_person)]


def _causes(chapters: Sequence[Chapter], seed: int) -> Iterator[Question]:
    barred = [(chapter, one.thing) for chapter in chapters for one in chapter.outcomes if one.kind == "barred"]
    taken = {(chapter.event.entity, space) for chapter, space in barred}
    for chapter, space in barred:
        event = chapter.event
        yield _question(CAUSE, {"s": space, "e": event.entity}, [event.content], [chapter.number])
    visits = dict.fromkeys((chapter.event.entity, chapter.event.space) for chapter in chapters)
    never = [pair for pair in visits if pair not in taken]
    for entity, space in RandomStream("never barred", seed).sample(never, len(barred)):
        yield _question(CAUSE, {"s": space, "e": entity}, [], [])


def _states(by_person: dict[str, list[Chapter]]) -> Iterator[Question]:
    for entity, chapters in by_person.items():
        for day, written in {chapter.event.time: chapter.event.day for chapter in chapters}.items():
            yield _state(STILL_LOST, {"t": written, "e": entity}, chapters, day)
        yield _state(LOST_AT_THE_END, {"e": entity}, chapters, None)


def _state(template: Template, values: dict[str, str], chapters: Sequence[Chapter], until: date | None) -> Question:
    """What is lost and not found again: the last word on each thing counts."""
    lost: dict[str, int] = {}
    for chapter in chapters:
        if until is not None and chapter.event.time > until:
            break
        for outcome in chapter.outcomes:
            if outcome.kind == "lost":
                lost[outcome.thing] = chapter.number
            elif outcome.kind == "found":
                lost.pop(outcome.thing, None)
    return _question(template, values, list(lost), sorted(lost.values()))


def _question(template: Template, values: dict[str, str], answer: list[str], chapters: list[int]) -> Question:
    text = template.text.format_map(values)
    return question_of(template, values, text, answer, chapters, "book" if chapters else "inner")
