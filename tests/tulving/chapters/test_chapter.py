import re
from collections import Counter
from dataclasses import replace

import pytest

from epbench.tulving.chapters.chapter import Candidate, Task, assemble, fill_secondary, in_chronological_order
from epbench.tulving.chapters.checks import check_chapter
from epbench.tulving.chapters.loop import MOST_ATTEMPTS, first_tasks, write_chapters
from epbench.tulving.chapters.template_writer import TemplateWriter
from epbench.tulving.dataset.build import Recipe, make_book
from epbench.tulving.events.universe import draw_events, draw_layouts, load_universe, secondary_names
from tests.reference_cases import SECONDARY, with_published
from tests.refusals import refusal

UNIVERSE = load_universe()
EVENTS = draw_events(UNIVERSE, 3)
LAYOUTS = draw_layouts(3, list(UNIVERSE.styles))
NAMES = ["Noa Middleton", "Mara Ledbetter", "Sienna Hamrick", "Reid Blunt", "E F", "G H"]


@pytest.fixture(scope="module")
def long_book():
    return make_book(Recipe("long"))


def drafts(*texts):
    return [Candidate(Task(i, EVENTS[0], LAYOUTS[0], 0), text) for i, text in enumerate(texts)]


def test_side_characters_get_names_of_their_own():
    first, second = fill_secondary(drafts("(1) $entity_1 met $entity_2.", "(1) $entity_1's hat."), NAMES)
    assert (first.text, first.secondary) == ("Noa Middleton met Mara Ledbetter.", ("Noa Middleton", "Mara Ledbetter"))
    assert (second.text, second.secondary) == ("Sienna Hamrick's hat.", ("Sienna Hamrick",))


def test_gaps_and_two_digits_leave_no_placeholder_unlike_the_reference():
    for case in with_published(SECONDARY, "secondary_entity_cases.json"):
        texts = [text for text in case["chapters"] if text is not None]
        chapters = fill_secondary(drafts(*texts), case["names"])
        assert not any("$entity_" in chapter.text for chapter in chapters)
        given = [name for chapter in chapters for name in chapter.secondary]
        assert all(name in chapter.text for chapter in chapters for name in chapter.secondary)
        assert given == case["names"][: len(given)]


def test_too_few_names_are_an_error():
    refused = refusal(fill_secondary, drafts("(1) $entity_1 $entity_2"), ["A B"])
    assert "expected 2 names for its side characters, found 1" in refused


def test_a_book_has_headings_and_two_blank_lines_between_chapters():
    chapters = fill_secondary(drafts("(1) One.\n(2) Two.", "(1) Three."), NAMES)
    assert assemble(chapters) == "Chapter 1\n\nOne.\n\nTwo.\n\n\nChapter 2\n\nThree."


def test_the_chronological_book_is_sorted_by_date_and_keeps_ties():
    book = make_book(Recipe("short"))
    ordered = in_chronological_order(book.chapters)
    assert [c.event.time for c in ordered] == sorted(c.event.time for c in book.chapters)
    assert [c.number for c in ordered] == list(range(1, 21))
    first, again = ([c.event for c in of if c.event.time == ordered[0].event.time] for of in (book.chapters, ordered))
    assert first == again


class Stubborn(TemplateWriter):
    """Writes nothing right before the given attempt."""

    name = "stubborn"

    def __init__(self, right_at):
        super().__init__(UNIVERSE)
        self.right_at, self.asked = right_at, []

    def write(self, task):
        self.asked.append((task.number, task.attempt))
        right = task.attempt >= self.right_at.get(task.number, 0)
        return super().write(task) if right else "no"


def test_candidates_are_written_anew_and_dropped_after_ten():
    writer = Stubborn({1: 3, 2: MOST_ATTEMPTS})
    chapters, writing = write_chapters(EVENTS, LAYOUTS, writer, secondary_names())
    assert [chapter.event for chapter in chapters] == EVENTS[:2]
    assert writing.dropped.keys() == {2} and writing.dropped[2] == (EVENTS[2], ["paragraphs_nb"])
    rounds = [(one.candidates, one.accepted) for one in writing.iterations]
    assert rounds == [(3, 1), (2, 0), (2, 0), (2, 1), *[(1, 0)] * 6]
    assert Counter(number for number, _ in writer.asked) == {0: 1, 1: 4, 2: MOST_ATTEMPTS}


def test_a_writer_that_never_passes_is_an_error():
    never = Stubborn(dict.fromkeys(range(3), 10))
    refused = refusal(write_chapters, EVENTS, LAYOUTS, never, secondary_names())
    assert "no chapter for any of 3 events in 2 rounds" in refused and "failed paragraphs_nb 6 times" in refused


@pytest.mark.parametrize("name", ["default", "news", "scifi"])
def test_template_chapters_are_exact_at_the_first_attempt(name):
    universe = load_universe(name)
    writer = TemplateWriter(universe)
    layouts = draw_layouts(400, list(universe.styles))
    assert {layout.style for layout in layouts} == set(universe.styles)
    for task in first_tasks(draw_events(universe, 400), layouts):
        text = writer.write(task)
        assert check_chapter(text, task.event, task.layout) == []
        assert writer.write(task) == text
        assert task.event.content in text
        assert not re.search(r"\{\w+\}|  | ,|\.\.", text.replace("...", "")), text


def masked(chapter):
    """The text with names, dates, places and digits masked."""
    text = chapter.text
    for name in (*chapter.secondary, chapter.event.entity, chapter.event.first_name, chapter.event.space):
        text = text.replace(name, "NAME")
    return re.sub(r"\d", "#", text.replace(chapter.event.day, "DATE"))


def test_the_long_book_is_as_long_and_as_varied_as_promised(long_book):
    chapters = long_book.chapters
    assert len(chapters) == 200
    words = sum(len(chapter.text.split()) for chapter in chapters) / 200
    assert 400 < words < 460  # about 1.25 tokens a word: 400 to 600 tokens by either count
    sentences = Counter(s for c in chapters for s in re.split(r"(?<=[.!?])\"?\s+", masked(c)))
    assert len(sentences) / sentences.total() > 0.6
    for texts in ([c.text for c in chapters], [masked(c) for c in chapters]):
        in_chapters: Counter = Counter()
        for text in texts:
            w = re.findall(r"\w+", text.lower())
            in_chapters.update({tuple(w[i : i + 8]) for i in range(len(w) - 7)})
        assert in_chapters.most_common(1)[0][1] <= 0.05 * 200


def test_every_chapter_has_one_to_eight_side_characters_used_nowhere_else(long_book):
    assert all(1 <= len(chapter.secondary) <= 8 for chapter in long_book.chapters)
    everyone = Counter(name for chapter in long_book.chapters for name in chapter.secondary)
    assert max(everyone.values()) == 1
    assert all(chapter.text.count(name) >= 1 for chapter in long_book.chapters for name in chapter.secondary)


def test_the_short_book_begins_the_long_one_and_another_seed_is_another_book(long_book):
    short = make_book(Recipe("short"))
    assert list(short.chapters) == list(long_book.chapters[:20])
    assert make_book(Recipe("short", seed=1)).book() != short.book()


def test_ordered_questions_follow_the_chapters():
    book, ordered = make_book(Recipe("short")), make_book(Recipe("short", order="chronological"))
    assert [q.id for q in ordered.selected] == [q.id for q in book.selected]
    by_number = {c.number: c.event for c in ordered.chapters}
    for q in ordered.questions:
        for e in (by_number[number] for number in q.chapters):
            assert q.time in (None, e.day) and q.space in (None, e.space) and q.entity in (None, e.entity)
        assert q.chapters == sorted(q.chapters) and len(q.chapters) == q.n_chapters
    assert [replace(c, number=0) for c in ordered.chapters] != [replace(c, number=0) for c in book.chapters]


def test_unknown_book_is_refused_with_the_names():
    assert "short, long, very-long" in refusal(make_book, Recipe("medium"))
