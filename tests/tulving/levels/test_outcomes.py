"""Causes and states at level 5 against a plain reading of the outcomes, and an evaluation with evidence."""

import json
from collections import Counter

import pytest

from epbench.tulving.context.requests import gold_texts
from epbench.tulving.dataset.build import Recipe
from epbench.tulving.dataset.card import made_card
from epbench.tulving.dataset.load import Book, load_book
from epbench.tulving.dataset.schema import configs_of
from epbench.tulving.judging.verdicts import QuestionToScore, ScoredAnswer
from epbench.tulving.questions.evidence import evidence_of, outcome_questions
from epbench.tulving.scores.scoring import score_run
from tests.scripts.in_process import script
from tests.tulving.levels.books import LEVELS, UNIVERSE, book
from tests.tulving.question_rows import asked


@pytest.fixture(scope="module")
def chapters():
    return book(5, "middle").chapters


@pytest.fixture(scope="module")
def questions():
    return [question for question in book(5, "middle").questions if question.template >= 36]


def lost_after(chapters, entity, day):
    """By scanning the whole book, in the order of the days."""
    missing = []
    for chapter in sorted(chapters, key=lambda one: one.event.time):
        if chapter.event.entity == entity and (day is None or chapter.event.time <= day):
            for one in chapter.outcomes:
                missing += [one.thing] if one.kind == "lost" else []
                missing = [thing for thing in missing if one.kind != "found" or thing != one.thing]
    return missing


@pytest.mark.slow
def test_every_kind_of_outcome_is_told(chapters):
    kinds = Counter(one.kind for chapter in chapters for one in chapter.outcomes)
    assert min(kinds["lost"], kinds["found"], kinds["barred"]) > 5 and kinds["lost"] > kinds["found"]
    for chapter in chapters:
        paragraphs = chapter.text.split("\n\n")
        for one in chapter.outcomes:
            assert one.spot.number == chapter.number
            assert one.kind == "barred" or one.thing in paragraphs[one.spot.paragraph - 1].replace("The ", "the ")


@pytest.mark.slow
def test_nobody_comes_back_to_where_they_were_barred_from(chapters):
    for chapter in chapters:
        for one in chapter.outcomes:
            later = [other.event for other in chapters if other.event.time > chapter.event.time]
            barred = (chapter.event.entity, chapter.event.space)
            assert one.kind != "barred" or barred not in {(event.entity, event.space) for event in later}


@pytest.mark.slow
def test_answers_on_states_are_what_a_scan_finds(chapters, questions):
    days = {chapter.event.day: chapter.event.time for chapter in chapters}
    asked = [question for question in questions if question.trace == "states"]
    assert {question.n_chapters for question in asked} >= {0, 1, 2}
    for question in asked:
        until = days[question.time] if question.time else None
        assert question.answer == lost_after(chapters, question.entity, until)
        assert (question.origin == "book") == bool(question.answer)


@pytest.mark.slow
def test_answers_on_causes_are_the_events_of_the_bans(chapters, questions):
    barred = {(c.event.entity, c.event.space): c for c in chapters for one in c.outcomes if one.kind == "barred"}
    asked = [question for question in questions if question.trace == "causes"]
    assert len(asked) == 2 * len(barred)
    for question in asked:
        chapter = barred.get((question.entity, question.space))
        assert question.answer == ([chapter.event.content] if chapter else [])
        assert question.chapters == ([chapter.number] if chapter else [])


@pytest.mark.slow
def test_evidence_on_states_has_the_paragraphs_of_the_losses_and_of_other_things_that_were_found(chapters, questions):
    by_number = {chapter.number: chapter for chapter in chapters}
    for question in questions:
        spots = evidence_of(question, by_number).spots
        mine = [one for c in chapters if c.event.entity == question.entity for one in c.outcomes]
        if question.trace == "states":
            shown = {one.thing for one in mine if one.kind == "lost" and one.spot in spots}
            found = {one.thing for one in mine if one.kind == "found"}
            assert set(question.answer) <= shown
            unexplained = {thing for thing in shown & found if thing not in question.answer}
            assert all(one.spot in spots for one in mine if one.kind == "found" and one.thing in unexplained)


@pytest.mark.slow
def test_only_level_five_asks_for_causes_and_states(questions):
    assert max(question.template for question in book(4).questions) == 35
    assert {question.template for question in questions} == {36, 37, 38}
    assert outcome_questions(book(2).chapters) and not any(one.answer for one in outcome_questions(book(2).chapters))


@pytest.mark.slow
def test_the_card_of_each_level_says_what_it_adds_with_an_example():
    for level in (1, *LEVELS):
        data, recipe = book(level), Recipe("short", UNIVERSE, level=level)
        card = made_card("python builders/tulving.py …", recipe, data, configs_of(data)).text
        assert (f"## Level {level}" in card) == (level > 1) == ("An example, chapter" in card)
        assert ("no event causes another" in card) == (level < 5)
        assert ("A solver that reads only the text" in card) == (level >= 2)
        assert ("| date |" in card) == (level > 1)


def question(links, f1=None, n=1):
    about = (f"q{links}{f1}{n}", "all", str(min(n, 2)), n, (None, "x", None, str(f1)), ["a"])
    if f1 is None:
        return QuestionToScore(*about, links=links)
    return ScoredAnswer(*about, ["a"] if f1 else ["b"], [f1], [], links=links)


def test_f1_by_links_counts_answerable_questions_alone_and_leaves_out_what_was_lost():
    rows = [question(0, 1.0), question(0, 0.0), question(1, 1.0), question(2, 1.0), question(0, 0.0, n=0)]
    scores = score_run(rows, [question(2)])
    assert scores["f1_by_links"] == {"0": 0.5, "1": 1.0} and scores["n_by_links"] == {"0": 2, "1": 1, "2": 2}
    assert "f1_by_links" not in score_run([question(None, 1.0)])


@pytest.mark.slow
def test_the_oracle_shows_the_paragraphs_of_the_evidence(tmp_path):
    built = script("builders/tulving.py", "--book", "short", "--universe", UNIVERSE, "--level", "4", "--out", tmp_path)
    assert built.returncode == 0, built.stderr
    name = str(tmp_path / f"{UNIVERSE}-short-l4")
    data = load_book(name)
    assert data.evidence and len(data.evidence) == len(data.rows)
    out = tmp_path / "run"
    ran = script("eval_scripts/tulving.py", "--dataset", name, "--memory", "oracle", "--limit", "40", "--out", out)
    assert ran.returncode == 0 and "warning" not in ran.stdout + ran.stderr, ran.stderr
    scores = json.loads((out / "scores.json").read_text())
    assert set(scores["n_by_links"]) <= {"0", "1", "2", "3"} and "F1 by links" in (out / "table.md").read_text()
    asked = [row for row in data.rows if row["id"] in (out / "answers.jsonl").read_text()]
    assert sum(scores["n_by_links"].values()) == sum(row["get"] == "all" and row["n_chapters"] > 0 for row in asked)
    found = [json.loads(line) for line in (out / "retrieved.jsonl").read_text().splitlines()]
    shown = {one["question"]: len(one["memories"]) for one in found}
    assert {row["id"]: len(row["evidence"]) for row in asked} == shown and max(shown.values()) > 3


def test_what_the_oracle_shows_are_the_paragraphs_of_the_evidence_in_the_order_of_the_book():
    book = Book("", [(1, "One.\n\nTwo."), (2, "Three.")], "t")
    rows = [asked("a", "who?", 1), asked("b", "where?", 0), asked("c", "who?", 1)]
    gold = gold_texts(book, rows, {"a": [(2, 1), (1, 2)], "b": [], "c": [(1, 1)]})
    first, second, third = (
        "Chapter 1, Paragraph 1\n\nOne.",
        "Chapter 1, Paragraph 2\n\nTwo.",
        "Chapter 2, Paragraph 1\n\nThree.",
    )
    assert gold == {"who?": [first, second, third], "where?": []}
