"""The checks of a chapter by its plan: what is right passes, and every fault is found by its own check."""

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.progress import no_progress
from epbench.tulving.chapters import loop
from epbench.tulving.chapters.checks import FACTS, Vocabulary, check_chapter
from epbench.tulving.chapters.load import load_writer
from epbench.tulving.chapters.loop import first_tasks, write_chapters
from epbench.tulving.chapters.prompts import load_writing_prompts
from epbench.tulving.events.dates import from_words, in_words
from epbench.tulving.events.universe import Event, Layout
from epbench.tulving.scenes.patterns import capitalised
from tests.reference_cases import CHECKS, with_published
from tests.tulving.levels.books import outline

EVENT = Event(from_words("May 07, 2024"), "High Line", "Zoe Brown", "Karaoke Night", "Sang a duet")
PLAN = Layout(n_paragraphs=2, space=1, time=2, entity=1, content=2, style="comedy")


def test_agrees_with_the_reference_on_every_recorded_case():
    cases = with_published(CHECKS, "verification_direct_cases.json")
    assert len(cases) > 20
    for case in cases:
        assert check_chapter(case["text"], EVENT, PLAN) == case["issues"], case["case"]


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("(1) At High Line, Zoe Brown waited.\n\n(2) Zoe sang a duet on May 07, 2024 with $entity_1.", []),
        ("(1) At High Line, Zoe Brown waited.", ["paragraphs_nb"]),
        ("At High Line, Zoe Brown waited.\nZoe sang a duet on May 07, 2024.", ["paragraphs_initials_shape"]),
        ("(1) At High Line, Zoe Brown.\n(3) Zoe sang a duet on May 07, 2024.", ["paragraphs_initials_increment"]),
        ("(1) At High Line, Zoe Brown met Entity_1.\n(2) Zoe sang a duet on May 07, 2024.", ["other_entities_shape"]),
        (
            "(1) At High Line, Zoe Brown met $entity_x.\n(2) Sang a duet, May 07, 2024.",
            ["other_entities_shape_integer"],
        ),
        (  # a digit that is no number, and would be left in the text
            "(1) At High Line, Zoe Brown met $entity_²; fine.\n(2) Sang a duet, May 07, 2024.",
            ["other_entities_shape_integer"],
        ),
        ("(1) At High Line, Zoe Brown waited.\n(2) Zoe sang a duet.", ["has_date"]),
        ("(1) High Line, Zoe Brown.\n(2) High Line: Zoe sang a duet on May 07, 2024.", ["single_location"]),
        ("(1) Zoe Brown waited.\n(2) At High Line, Zoe sang a duet on May 07, 2024.", ["correct_location"]),
    ],
)
def test_each_violation_has_its_own_check(text, failed):
    assert check_chapter(text, EVENT, PLAN) == failed


@pytest.mark.parametrize(
    ("check", "text", "sentence"),
    [
        ("paragraphs_nb", "(1) One.", "The number of its paragraphs was 1, and 2 is wanted. Every line counts as one."),
        ("paragraphs_initials_shape", "(1) One.\n2) Two.", 'its number, such as "(1) ": "2) Two.".'),
        ("paragraphs_initials_increment", "(1) One.\n(3) Two.", 'one blank after the number: "(3) Two.".'),
        ("other_entities_shape", "(1) One.\n(2) An identity, he said.", 'outside a mark such as $entity_1: "identity,".'),
        ("other_entities_shape_integer", "(1) $entity_1.\n(2) $entity_x.", 'no number, as in $entity_1: "$entity_x.".'),
        ("has_location", "(1) One.\n(2) Two.", 'The place "High Line" was told nowhere word for word, but belongs in paragraph (1) only.'),
        ("single_entity", "(1) Zoe Brown.\n(2) ZOE BROWN.", 'The full name "Zoe Brown" was told in paragraphs (1) and (2), but belongs in paragraph (1) only.'),
        ("correct_date", "(1) May 07, 2024.\n(2) Two.", 'The date "May 07, 2024" was told in paragraph (1), but belongs in paragraph (2) only.'),
        ("has_content", "(1) One.\n(2) Two.", 'The deed "sang a duet" was told nowhere word for word, but belongs in paragraph (2) only.'),
        ("llm_date", "", "not all of it happens on May 07, 2024, or that another date is named."),
        ("llm_content", "", "not about this event, Karaoke Night, or"),
    ],
)  # fmt: skip
def test_every_fault_has_a_sentence_in_the_words_of_the_prompt(check, text, sentence):
    assert sentence in load_writing_prompts().fault(check, text, EVENT, PLAN)


pieces = st.sampled_from(
    ["(1) ", "(2) ", "(3)", "\n", "\n\n", " ", "High Line", "May 07, 2024", "zoe brown", "Sang a duet", "$entity_1",
     "$entity_x", "Identity", "{", "}", "{n}", "%", '"']
) | st.text(max_size=5)  # fmt: skip
layouts = st.integers(1, 3).flatmap(
    lambda n: st.builds(Layout, st.just(n), *[st.integers(1, n)] * 4, style=st.just("comedy"))
)


@settings(deadline=None)
@given(st.lists(pieces, max_size=12).map("".join), layouts)
def test_any_failed_candidate_can_be_told_what_was_wrong(text, layout):
    failed = check_chapter(text, EVENT, layout)
    if failed:
        told = load_writing_prompts().retry_prompt(failed, text, EVENT, layout).splitlines()
        assert len(told) >= len(failed) + 2 and told[0].endswith(":")
    for check in ("cut_off", "empty", "refused", *(f"llm_{fact}" for fact in FACTS)):
        assert load_writing_prompts().fault(check, text, EVENT, layout)


def test_dates_in_words_go_both_ways():
    assert in_words(from_words("September 22, 2026")) == "September 22, 2026"
    with pytest.raises(ValueError):
        from_words("22 September 2026")


@cache
def candidates(level):
    drawn = outline(level, "middle")
    writer = load_writer("template", drawn.universe, level=level)
    tasks = [one for one in first_tasks(drawn.events, drawn.layouts, drawn.plans) if one.layout.n_paragraphs > 1]
    tasks.sort(key=lambda task: "date" in task.plan.contrasted)  # few chapters tell their date alone at level 3
    return drawn, writer.candidates(tasks[:20], no_progress)


def chosen(level, wanted):
    """A candidate that passes, of a plan that has what a fault needs."""
    drawn, written = candidates(level)
    vocabulary = Vocabulary(drawn.universe)
    for one in written:
        task = one.task
        if wanted(task.plan) and not check_chapter(one.text, task.event, task.layout, task.plan, vocabulary):
            return drawn.universe, vocabulary, task, one.text
    raise AssertionError("expected a candidate that passes")


def in_other_paragraph(text, words, sentence):
    """The text with a sentence at the end of the first paragraph that lacks some words."""
    paragraphs = text.split("\n\n")
    at = next(i for i, paragraph in enumerate(paragraphs) if words.lower() not in paragraph.lower())
    paragraphs[at] += f" {sentence}"
    return "\n\n".join(paragraphs)


def always(plan):
    return True


def other(names, name):
    return next(one for one in names if one != name)


def without_date(universe, task, text):
    when = task.plan.when
    return text.replace(when, "one day").replace(capitalised(when), "One day")


FAULTS = {
    "paragraphs_nb": (3, always, lambda u, t, x: x.partition("\n\n")[2]),
    "other_entities_shape": (3, always, lambda u, t, x: x + " Nobody asked for an identity card."),
    "fixed_sentence": (3, always, lambda u, t, x: x.replace(t.plan.fixed[0].text, "Nothing of the kind was said.")),
    "has_date": (3, lambda plan: "date" not in plan.contrasted, without_date),
    "single_location": (3, always, lambda u, t, x: in_other_paragraph(x, t.plan.where, f"It was {t.plan.where}.")),
    "event_named": (2, always, lambda u, t, x: x.replace(t.event.content, "affair")),
    "event_unnamed": (3, lambda plan: not plan.named, lambda u, t, x: x + f" It was the {t.event.content} after all."),
    "side_deed": (2, always, lambda u, t, x: x.replace(t.plan.deeds[0], "slept")),
    "other_date": (2, always, lambda u, t, x: x + " She remembered the third of May, 1999."),
    "other_location": (2, always, lambda u, t, x: x + f" Then she went to {other(u.spaces, t.event.space)}."),
    "other_entity": (2, always, lambda u, t, x: x + f" Then {other(u.entities, t.event.entity)} came."),
    "other_content": (2, always, lambda u, t, x: x + f" After that came the {other(u.contents, t.event.content)}."),
    "articles": (2, always, lambda u, t, x: x + " It was a odd thing."),
    "doubled_word": (2, always, lambda u, t, x: x + " It was the the last thing."),
    "repeated_sentence": (2, always, lambda u, t, x: x + " Nothing moved. Nothing moved."),
}


@pytest.mark.parametrize("check", FAULTS)
def test_every_fault_is_found_by_its_check(check):
    level, wanted, spoil = FAULTS[check]
    universe, vocabulary, task, text = chosen(level, wanted)
    spoilt = spoil(universe, task, text)
    assert spoilt != text
    found = check_chapter(spoilt, task.event, task.layout, task.plan, vocabulary)
    assert check in found and set(found) <= {check, "other_content", "other_entity"}


def test_at_level_two_the_date_stands_as_questions_write_it_and_a_chapter_without_pronouns_is_found():
    _, vocabulary, task, text = chosen(2, always)
    assert task.plan.when == f"on {in_words(task.event.time)}" and task.plan.fixed == []
    for word in ("she", "he", "her", "him", "his", "herself", "himself"):
        for written in (word, word.capitalize()):
            text = " ".join(task.event.first_name if one == written else one for one in text.split(" "))
    assert "pronouns" in check_chapter(text, task.event, task.layout, task.plan, vocabulary)


@pytest.mark.slow
def test_at_level_four_the_event_is_named_once_and_the_first_name_of_a_nickname_never():
    _, vocabulary, task, text = chosen(4, lambda plan: plan.named)
    more = in_other_paragraph(text, task.event.content, f"The {task.event.content} went on.")
    assert check_chapter(more, task.event, task.layout, task.plan, vocabulary) == ["event_named"]
    _, vocabulary, task, text = chosen(4, lambda plan: plan.evidence["entity"].links)
    given_away = text + f" {task.event.first_name} smiled."
    assert check_chapter(given_away, task.event, task.layout, task.plan, vocabulary) == ["other_entity"]


WORLD = outline(2).universe
NAMES = [*WORLD.spaces[:3], *WORLD.entities[:3], *WORLD.contents[:3]]


@given(
    st.lists(st.sampled_from([*NAMES, *(f"{name}s" for name in NAMES), "x", "-", "'s", ","]), max_size=8), st.booleans()
)
def test_names_are_found_as_whole_words_in_their_order(parts, close):
    text = ("" if close else " ").join(parts)
    found = [
        (match.start(), name)
        for name in [*WORLD.spaces, *WORLD.entities, *WORLD.contents]
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?![^\W_])", text, re.IGNORECASE)
    ]
    assert [mention.name for mention in Vocabulary(WORLD).names(text)] == [name for _, name in sorted(found)]


def test_a_book_whose_chapters_all_fall_with_others_is_refused(monkeypatch):
    drawn = outline(4, "middle")
    alone = next(number for number, plan in enumerate(drawn.plans) if plan.needs() - {number})
    monkeypatch.setattr(loop, "_failed_checks", lambda one, _: [] if one.task.number == alone else ["doubled_word"])
    writer = load_writer("template", drawn.universe, level=4)
    monkeypatch.setattr(writer, "write", lambda task: "(1) Nobody nobody came.")
    with pytest.raises(BadInput, match="no chapter for any of 60 events"):
        write_chapters(drawn.events, drawn.layouts, writer, [], plans=drawn.plans)
