from collections import Counter
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.tulving.dataset.build import Recipe, make_book
from epbench.tulving.dataset.schema import answer_text
from epbench.tulving.questions.generate import (
    TRACED,
    bin_of,
    completed_cue,
    cue_values,
    fake_events,
    question_of,
    select,
    single_event,
)
from epbench.tulving.questions.templates import PUBLISHED_TEMPLATES, TEMPLATES, ChapterTrace
from tests.published_data import published_cases

BOOK = make_book(Recipe("long"))


# Table 10: by number the cue, the trace and, unless it is all, the mode.
TABLE_10 = """
t spaces; t entities; t contents; s times; s entities; s contents; e times; e spaces; e contents;
c times; c spaces; c entities; ts entities; ts contents; te spaces; te contents; tc spaces; tc entities;
se times; se contents; sc times; sc entities; ec times; ec spaces; tse contents; tsc entities; tec spaces; sec times;
tsec other_entities; tsec full_details; e times latest; e spaces latest; e contents latest;
e times chronological; e spaces chronological; e contents chronological
"""


def test_the_first_templates_are_those_of_table_10():
    """Cue, trace and mode of each number; the wording is ours."""
    expected = [(*(line + " all").split()[:3],) for line in TABLE_10.split(";")]
    assert [(template.cue, template.trace, template.get) for template in PUBLISHED_TEMPLATES] == expected
    assert TEMPLATES[:36] == PUBLISHED_TEMPLATES
    assert [template.id for template in TEMPLATES] == list(range(len(TEMPLATES)))
    traces = {
        "Times": "times", "Spaces": "spaces", "Entities": "entities", "Event contents": "contents",
        "Other entities": "other_entities", "Full event details": "full_details",
    }  # fmt: skip
    for theirs in published_cases("qa_template_properties.json"):
        ours = PUBLISHED_TEMPLATES[theirs["id"]]
        cue = "".join(o if p != "*" else "" for o, p in zip("tsec", theirs["cue"].strip("()").split(", "), strict=True))
        assert (ours.id, ours.cue) == (theirs["id"], cue)
        assert (ours.trace, ours.get) == (traces[theirs["retrieval_type"]], theirs["get"])


def test_templates_name_their_cue_and_nothing_else():
    for template in TEMPLATES:
        assert {letter for letter in "tsec" if f"{{{letter}}}" in template.text} == set(template.cue)
    assert len({t.text for t in TEMPLATES}) == len(TEMPLATES)
    assert Counter(t.cue for t in PUBLISHED_TEMPLATES)["e"] == 9
    assert len({t.cue for t in PUBLISHED_TEMPLATES}) == 15 and tuple(TRACED) == get_args(ChapterTrace)


def scan(chapters, question):
    """The answer as the paper defines it, found by going through the whole book."""
    given_values = (question.time, question.space, question.entity, question.content)
    matching = [c for c in chapters if all(v in (None, w) for v, w in zip(given_values, cue_values(c), strict=True))]
    by_date = sorted(matching, key=lambda c: c.event.time)
    traced = {
        "times": lambda c: [c.event.day], "spaces": lambda c: [c.event.space], "entities": lambda c: [c.event.entity],
        "contents": lambda c: [c.event.content], "other_entities": lambda c: list(c.secondary),
        "full_details": lambda c: [c.text],
    }[question.trace]  # fmt: skip
    items = [item for c in by_date for item in traced(c)]
    return [c.number for c in matching], items


def test_answers_are_those_of_a_scan_of_the_book():
    for question in BOOK.questions[::29]:
        chapters, items = scan(BOOK.chapters, question)
        assert question.chapters == chapters
        assert question.n_chapters == len(chapters) and question.bin == bin_of(len(chapters))
        if question.get == "chronological":
            assert question.answer == items
        elif question.get == "latest":
            assert question.answer == items[-1:]
        else:
            assert sorted(question.answer) == sorted(set(items))
        assert (question.origin == "book") == bool(chapters)


def test_every_template_is_asked_of_every_chapter_and_nothing_twice():
    assert len({q.id for q in BOOK.questions}) == len({q.question for q in BOOK.questions}) == len(BOOK.questions)
    found = {(q.template, n) for q in BOOK.questions for n in q.chapters}
    assert found == {(t.id, c.number) for t in TEMPLATES for c in BOOK.chapters}


def test_empty_questions_are_inner_and_outer_with_half_of_the_elements_replaced():
    empty = [q for q in BOOK.questions if q.origin != "book"]
    used = {value for c in BOOK.chapters for value in cue_values(c)}
    for q in empty:
        values = [v for v in (q.time, q.space, q.entity, q.content) if v is not None]
        assert q.answer == [] and q.chapters == []
        assert (set(values) <= used) == (q.origin == "inner")
    whole = Counter(q.origin for q in empty if q.template == 29)
    assert 0.8 < whole["inner"] / whole["outer"] < 1.25
    outer = [q for q in empty if (q.template, q.origin) == (29, "outer")]
    unused = [sum(v not in used for v in (q.time, q.space, q.entity, q.content)) for q in outer]
    assert abs(sum(unused) / len(unused) - 4 * 0.5 / (1 - 0.5**4)) < 0.15  # Bernoulli(1/2), without "none replaced"


def test_the_published_rule_makes_one_fake_event_of_each_chapter():
    """Inner or outer, with one to four elements replaced, each number equally often; a very long book has inner ones alone."""
    rows = [tuple(f"{letter}{(place * (i + 1)) % 90:02}" for i, letter in enumerate("tsec")) for place in range(1000)]
    unused = {letter: [f"new {letter}"] for letter in "tsec"}
    events = list(fake_events(rows, unused, rule="published"))
    assert len(events) == 1000 and events == list(fake_events(rows, unused, rule="published"))
    assert events != list(fake_events(rows, unused, rule="published", seed=1))
    sizes = Counter(sum(value.startswith("new") for value in event) for origin, event in events if origin == "outer")
    assert 450 < sizes.total() < 550 and set(sizes) == {1, 2, 3, 4} and max(sizes.values()) < 1.5 * min(sizes.values())
    assert {origin for origin, _ in fake_events([*rows, rows[0]], unused, rule="published")} == {"inner"}
    alone = fake_events(rows, {letter: [] for letter in "tsec"}, rule="published")
    assert all(event in rows for origin, event in alone if origin == "outer")


def test_the_published_rule_gives_about_as_many_empty_questions_as_were_published():
    """3,657 were; the text of the paper would give 6,400."""
    made = make_book(Recipe("long", empty="published")).questions
    empty = [question for question in made if question.origin != "book"]
    assert 3500 < len(empty) < 3800 and len({question.id for question in made}) == len(made)
    assert [q for q in made if q.origin == "book"] == [q for q in BOOK.questions if q.origin == "book"]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["uniform", "alphabetical"]))
def test_five_of_each_template_and_bin_are_selected(seed, rule):
    chosen = select(BOOK.questions, rule=rule, seed=seed)
    available = Counter((q.template, q.bin) for q in BOOK.questions)
    assert Counter((q.template, q.bin) for q in chosen) == {key: min(5, n) for key, n in available.items()}


def test_selection_is_uniform_by_seed_and_alphabetical_on_demand():
    pool = [q for q in BOOK.questions if (q.template, q.bin) == (3, "0")]
    counts = Counter(q.id for seed in range(400) for q in select(pool, seed=seed))
    mean = 400 * 5 / len(pool)
    assert len(counts) == len(pool) and all(abs(n - mean) < 6 * mean**0.5 for n in counts.values())
    first = select(pool, rule="alphabetical")
    assert sorted(map(completed_cue, first)) == sorted(map(completed_cue, pool))[:5]


def test_ids_depend_on_template_and_cue_alone():
    assert question_of(TEMPLATES[3], {"s": "High Line"}, "", [], [], "inner").id == "t03-e67c7e6ac85f"
    short = {q.id: q for q in make_book(Recipe("short")).questions}
    shared = [q for q in BOOK.questions if q.id in short]
    assert shared and all(short[q.id].question == q.question for q in shared)


def test_the_fine_tuning_set_has_single_events_and_answers_as_text():
    tuning = single_event(BOOK.questions)
    assert {q.n_chapters for q in tuning} == {1} and {q.get for q in tuning} == {"all", "latest", "chronological"}
    assert [answer_text(items) for items in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
    assert "book" in answer_text([])
