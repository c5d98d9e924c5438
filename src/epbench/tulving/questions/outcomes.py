"""The questions of level 5: what led to a ban, and what was still lost after an event or at the end of the book."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date

from epbench.draws import RandomStream
from epbench.tulving.chapters.chapter import Chapter
from epbench.tulving.questions.generate import Question, question_of
from epbench.tulving.questions.templates import OUTCOME_TEMPLATES, Template

CAUSE, STILL_LOST, LOST_AT_THE_END = OUTCOME_TEMPLATES


def outcome_questions(chapters: Sequence[Chapter], *, seed: int = 0) -> list[Question]:
    """Return all questions on causes and states, each with an answer or with none.

    A ban is asked about by person and location; as many pairs of a person with a location that they were never barred from are
    asked about, too. What is still lost is asked about for every person after each of their events, and at the end.

    Args:
        chapters: The chapters in the order of the book.
        seed: The seed of the questions on bans that never were.
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
        for day in dict.fromkeys(chapter.event.time for chapter in chapters):
            told = next(chapter.event.day for chapter in chapters if chapter.event.time == day)
            yield _state(STILL_LOST, {"t": told, "e": entity}, chapters, day)
        yield _state(LOST_AT_THE_END, {"e": entity}, chapters, None)


def _state(template: Template, given: dict[str, str], chapters: Sequence[Chapter], until: date | None) -> Question:
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
    return _question(template, given, list(lost), sorted(lost.values()))


def _question(template: Template, given: dict[str, str], answer: list[str], chapters: list[int]) -> Question:
    text = template.text.format_map(given)
    return question_of(template, given, text, answer, chapters, "book" if chapters else "inner")
