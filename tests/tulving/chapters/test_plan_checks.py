"""The checks of a chapter by its plan: what is right passes, and every fault is found by its own check."""

import pytest

from epbench.progress import no_progress
from epbench.tulving.chapters.checks import Vocabulary, check_chapter
from epbench.tulving.chapters.load import load_writer
from epbench.tulving.chapters.loop import first_tasks
from epbench.tulving.events.dates import in_words
from tests.tulving.levels.books import outline


def candidates(level):
    drawn = outline(level, "long")
    writer = load_writer("template", drawn.universe, level=level)
    tasks = [one for one in first_tasks(drawn.events, drawn.layouts, drawn.plans) if one.layout.n_paragraphs > 3][:12]
    return drawn, writer.candidates(tasks, no_progress)


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


FAULTS = {
    "paragraphs_nb": (3, always, lambda u, t, x: x.partition("\n\n")[2]),
    "other_entities_shape": (3, always, lambda u, t, x: x + " Nobody asked for an identity card."),
    "fixed_sentence": (3, always, lambda u, t, x: x.replace(t.plan.fixed[0].text, "Nothing of the kind was said.")),
    "has_date": (
        3,
        always,
        lambda u, t, x: x.replace(t.plan.when, "one day").replace(t.plan.when.capitalize(), "One day"),
    ),
    "single_location": (
        3,
        always,
        lambda u, t, x: in_other_paragraph(x, t.plan.where, f"It was {t.plan.where} that she stood."),
    ),
    "event_named": (2, always, lambda u, t, x: x.replace(t.event.content, "affair")),
    "event_unnamed": (
        3,
        lambda plan: not plan.named,
        lambda u, t, x: x + f" It was the {t.event.content} after all, she said.",
    ),
    "side_deed": (2, always, lambda u, t, x: x.replace(t.plan.deeds[0], "slept")),
    "other_date": (2, always, lambda u, t, x: x + " She remembered the third of May, 1999."),
    "other_location": (
        2,
        always,
        lambda u, t, x: x + f" Then she went to {next(s for s in u.spaces if s != t.event.space)}.",
    ),
    "other_entity": (
        2,
        always,
        lambda u, t, x: x + f" Then {next(e for e in u.entities if e != t.event.entity)} came.",
    ),
    "other_content": (
        2,
        always,
        lambda u, t, x: x + f" After that came the {next(c for c in u.contents if c != t.event.content)}.",
    ),
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


def test_a_chapter_without_pronouns_is_found():
    _, vocabulary, task, text = chosen(2, always)
    for word in ("she", "he", "her", "him", "his", "herself", "himself"):
        for written in (word, word.capitalize()):
            text = " ".join(task.event.first_name if one == written else one for one in text.split(" "))
    assert "pronouns" in check_chapter(text, task.event, task.layout, task.plan, vocabulary)


def test_at_level_four_the_event_is_named_once_and_the_first_name_of_a_nickname_never():
    _, vocabulary, task, text = chosen(4, lambda plan: plan.named)
    more = in_other_paragraph(text, task.event.content, f"The {task.event.content} went on.")
    assert check_chapter(more, task.event, task.layout, task.plan, vocabulary) == ["event_named"]
    _, vocabulary, task, text = chosen(4, lambda plan: plan.evidence["entity"].links)
    given_away = text + f" {task.event.first_name} smiled."
    assert check_chapter(given_away, task.event, task.layout, task.plan, vocabulary) == ["other_entity"]


def test_at_level_two_the_date_stands_as_questions_write_it():
    _, _, task, _ = chosen(2, always)
    assert task.plan.when == f"on {in_words(task.event.time)}" and task.plan.fixed == []
