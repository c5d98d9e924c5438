"""The solver against the book: every fact follows from its evidence, and from nothing less."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from epbench.errors import RunFailed
from epbench.tulving.levels.banks import references_bank
from epbench.tulving.levels.plan import Evidence, Spot
from epbench.tulving.questions.evidence import evidence_of
from epbench.tulving.solving.solver import Solver, at_places, flaws_of, prove
from epbench.tulving.solving.statements import Statements
from tests.tulving.levels.books import EVERY_BOOK, UNIVERSE, book, outline

pytestmark = pytest.mark.slow

# A long book takes seconds, so that one of a third of its length is among the fast tests.
BOOKS = [
    pytest.param(5, "middle", UNIVERSE, 60),
    *(pytest.param(one.values[0], "long", one.values[1], 200, marks=one.marks) for one in EVERY_BOOK),
]
books = pytest.mark.parametrize(("level", "name", "universe", "events"), BOOKS)


@books
def test_every_fact_of_a_book_is_proved(level, name, universe, events):
    data = book(level, name, universe)
    assert len(data.chapters) == events and flaws_of(data.chapters, outline(level, name, universe).universe) == []


@books
def test_no_run_of_eight_words_is_in_more_than_six_chapters(level, name, universe, events):
    """What a kind of event, a group of people or its strike is called is one word, as it is a name."""
    plans, spread = outline(level, name, universe).plans, Counter()
    names = {plan.what.lower().removeprefix("the ") for plan in plans} | {
        plan.met[0].lower() for plan in plans if plan.met
    }
    spans = rf"the (?:{'|'.join(references_bank()['spans'])}) of the [a-z -]+ of \w+ \w+"
    called = re.compile("|".join([spans, *map(re.escape, sorted(names, key=len, reverse=True))]))
    for chapter in book(level, name, universe).chapters:
        words = re.findall(r"[\w'’]+", called.sub(lambda match: match[0].replace(" ", "_"), chapter.text.lower()))
        spread.update({" ".join(words[i : i + 8]) for i in range(len(words) - 7)})
    assert [run for run, n in spread.items() if n > 6] == []


def chained(level):
    """A chapter of a book with a date that takes other chapters, and all chapters by number."""
    chapters = {chapter.number: chapter for chapter in book(level, "middle").chapters}
    return next(one for one in chapters.values() if one.evidence["date"].links >= 2), chapters


def without(chapter, paragraph):
    paragraphs = chapter.text.split("\n\n")
    paragraphs[paragraph - 1] = "Nothing is told here."
    return replace(chapter, text="\n\n".join(paragraphs))


@pytest.mark.parametrize("level", [4, 5])
def test_the_whole_book_without_one_paragraph_of_the_evidence_does_not_tell_the_date(level):
    chapter, chapters = chained(level)
    universe = outline(level, "middle").universe
    for spot in chapter.evidence["date"].spots:
        cut = {**chapters, spot.number: without(chapters[spot.number], spot.paragraph)}
        said = Statements(universe).of_book([(number, one.text) for number, one in cut.items()])
        assert Solver(said).fact(chapter.number, "date") != chapter.event.time


def test_evidence_that_is_too_little_too_much_or_of_another_fact_is_found():
    chapter, chapters = chained(4)
    universe, true = outline(4, "middle").universe, chapter.evidence["date"]
    other = next(Spot(n, 1) for n in chapters if n not in {spot.number for spot in true.spots})
    for spots, message in (
        (true.spots - {max(true.spots)}, "its evidence says"),
        (true.spots | {other}, "it follows without"),
    ):
        changed = {
            **chapters,
            chapter.number: replace(chapter, evidence={"date": Evidence(true.links, frozenset(spots))}),
        }
        flaws = flaws_of(list(changed.values()), universe)
        assert [(flaw.chapter, flaw.fact) for flaw in flaws] == [(chapter.number, "date")] and message in flaws[0].what


def test_an_outcome_that_the_text_does_not_tell_or_that_no_plan_has_is_found():
    chapters = list(book(5, "middle").chapters)
    universe = outline(5, "middle").universe
    at, chapter = next((at, one) for at, one in enumerate(chapters) if one.outcomes)
    changed = replace(chapter, outcomes=())
    flaws = flaws_of([*chapters[:at], changed, *chapters[at + 1 :]], universe)
    assert [(flaw.chapter, flaw.fact) for flaw in flaws] == [(chapter.number, "outcomes")]
    outcome = chapter.outcomes[0]
    assert outcome.thing in flaws[0].what

    sentence = chapter.text.split("\n\n")[outcome.spot.paragraph - 1]
    untold = replace(chapter, text=chapter.text.replace(sentence, "Nothing is told here."), evidence={})
    flaws = flaws_of([*chapters[:at], untold, *chapters[at + 1 :]], universe)
    assert (chapter.number, "outcomes") in [(flaw.chapter, flaw.fact) for flaw in flaws]


def test_a_book_that_tells_another_date_is_refused():
    chapter, chapters = chained(4)
    spot = min(
        chapter.evidence["date"].spots - {one for one in chapter.evidence["date"].spots if one.number == chapter.number}
    )
    spoilt = {**chapters, spot.number: without(chapters[spot.number], spot.paragraph)}
    with pytest.raises(RunFailed, match=r"facts of the book cannot be proved from its text: chapter \d+, "):
        prove(list(spoilt.values()), outline(4, "middle").universe)


@pytest.mark.parametrize("level", [4, 5])
def test_the_evidence_of_a_question_tells_the_facts_that_it_is_about(level):
    data, universe = book(level, "middle"), outline(level, "middle").universe
    chapters = {chapter.number: chapter for chapter in data.chapters}
    by_place = at_places(Statements(universe).of_book([(number, one.text) for number, one in chapters.items()]))
    facts = {"t": "date", "s": "location", "e": "entity", "c": "content"}
    for question in data.selected:
        spots = evidence_of(question, chapters).spots if question.template < 36 else ()
        solver = Solver(statement for spot in sorted(spots) for statement in by_place.get(spot, ()))
        for number in question.chapters if spots else ():
            event = chapters[number].event
            true = {"t": event.time, "s": event.space, "e": event.entity, "c": event.content}
            assert all(solver.fact(number, facts[letter]) == true[letter] for letter in question.cue), question.id
