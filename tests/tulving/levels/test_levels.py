"""Books of every level: the same events and questions, told in other words."""

import re
from collections import Counter

import pytest

from epbench.errors import BadInput
from epbench.tulving.chapters.checks import Vocabulary
from epbench.tulving.chapters.load import load_writer
from epbench.tulving.chapters.loop import write_chapters
from epbench.tulving.dataset.build import Recipe, draw_outline, make_book
from epbench.tulving.dataset.schema import configs_of
from epbench.tulving.events.dates import FORMATS, find_dates, in_words
from epbench.tulving.events.universe import secondary_names
from epbench.tulving.levels.banks import patterns_of, references_bank
from epbench.tulving.scenes.patterns import HE, SHE, pronouns_of
from epbench.tulving.solving.frames import Frame, frames_of, place_of
from tests.tulving.levels.books import GRADED, LEVELS, UNIVERSE, UNIVERSES, book, outline

levels = pytest.mark.parametrize("level", LEVELS)


@pytest.mark.slow
@levels
def test_events_and_questions_are_those_of_level_one(level):
    template, told = book(1), book(level)
    assert [c.event for c in told.chapters] == [c.event for c in template.chapters] and not told.writing.dropped
    asked = {(q.id, tuple(q.answer)) for q in template.questions if q.trace not in ("other_entities", "full_details")}
    answered = {
        (q.id, tuple(q.answer))
        for q in told.questions
        if q.template < 36 and q.trace not in ("other_entities", "full_details")
    }
    assert asked == answered


@pytest.mark.parametrize("level", [*(pytest.param(level, marks=pytest.mark.slow) for level in LEVELS[:-1]), LEVELS[-1]])
def test_same_seed_same_rows(level):
    once, again, other = (make_book(Recipe("short", UNIVERSE, level, events=8, seed=seed)) for seed in (0, 0, 1))
    for one, same in zip(configs_of(once), configs_of(again), strict=True):
        assert one.table.equals(same.table)
    assert other.book() != again.book()


def test_names_of_datasets():
    assert [Recipe("long", level=level).name for level in (1, 2, 5)] == ["long", "long-l2", "long-l5"]
    assert Recipe("short", "news", level=3, order="chronological").name == "news-short-l3-ordered"


@pytest.mark.parametrize("level", [0, 6])
def test_other_levels_are_refused(level):
    with pytest.raises(BadInput, match=rf"level {level}: expected one of 1, 2, 3, 4, 5"):
        draw_outline(Recipe("short", level=level))


@pytest.mark.slow
@levels
def test_a_chapter_has_its_paragraphs_and_the_words_of_its_facts(level):
    for chapter, layout in zip(book(level).chapters, outline(level).layouts, strict=True):
        paragraphs = chapter.text.lower().split("\n\n")
        assert len(paragraphs) == layout.n_paragraphs == chapter.n_paragraphs
        where = {"location": layout.space, "date": layout.time, "entity": layout.entity, "content": layout.content}
        for fact, words in chapter.told.items():
            assert words.lower() in paragraphs[where[fact] - 1]


@pytest.mark.slow
@levels
def test_the_main_character_is_she_or_he(level):
    counts = Counter()
    for chapter in book(level, "long").chapters:
        words = Counter(re.findall(r"\b(?:she|he|her|his|him)\b", chapter.text.lower()))
        own = pronouns_of(chapter.event.first_name)
        counts["own"] += words[own.subject] + words[own.possessive]
        counts["chapters"] += 1
    assert counts["own"] > 2 * counts["chapters"]
    assert pronouns_of("Amrita") is SHE and pronouns_of("Cormac") is HE
    assert pronouns_of("Unheard") is pronouns_of("Unheard")


@pytest.mark.slow
@levels
def test_side_characters_do_other_deeds_of_the_same_kind_of_event(level):
    universe = outline(level).universe
    for chapter, plan in zip(book(level).chapters, outline(level).plans, strict=True):
        deeds = {one[0].lower() + one[1:] for one in universe.details[chapter.event.content]}
        assert len(chapter.secondary) == len(plan.deeds) and set(plan.deeds) <= deeds
        assert chapter.event.detail_in_sentence not in plan.deeds
        for name, deed in zip(chapter.secondary, plan.deeds, strict=True):
            assert f"{name} {deed}" in chapter.text


@pytest.mark.slow
def test_side_characters_share_first_names_with_main_characters_of_other_chapters():
    chapters = book(2, "middle").chapters
    main = {chapter.event.first_name for chapter in chapters}
    sides = [name for chapter in chapters for name in chapter.secondary]
    assert len(set(sides)) == len(sides)
    assert sum(name.split()[0] in main for name in sides) > len(sides) / 20
    assert not any(name.split()[0] == chapter.event.first_name for chapter in chapters for name in chapter.secondary)


@pytest.mark.slow
def test_only_from_level_three_on_other_facts_are_mentioned():
    for level, fewest, most in ((2, 0, 0), (3, 4, 16)):
        vocabulary = Vocabulary(outline(level).universe)
        for chapter in book(level).chapters:
            event = chapter.event
            own = {event.space, event.entity, event.content}
            others = [one for one in vocabulary.names(chapter.text) if one.name not in own]
            dates = [day for _, day, _ in find_dates(chapter.text) if day != event.time]
            assert fewest <= len(others) + len(dates) <= most


@pytest.mark.slow
def test_dates_have_several_formats_and_half_of_the_events_a_name_from_level_three_on():
    chapters, plans = book(3, "middle").chapters, outline(3, "middle").plans
    used = Counter(
        next(i for i, written in enumerate(FORMATS) if f"on {written(c.event.time)}" == c.told["date"])
        for c in chapters
    )
    assert len(used) == len(FORMATS)
    assert 0.3 < sum(plan.named for plan in plans) / len(plans) < 0.65
    for chapter, plan in zip(chapters, plans, strict=True):
        assert (chapter.event.content.lower() in chapter.text.lower()) == plan.named
    assert all(in_words(c.event.time) in c.text and c.event.content in c.text for c in book(2).chapters)


@pytest.mark.slow
@levels
def test_every_answer_stands_in_the_book_in_its_own_words(level):
    text = book(level).book().lower()
    for chapter in book(level).chapters:
        event = chapter.event
        assert event.space.lower() in text and event.entity.lower() in text and event.content.lower() in text
        assert level > 3 or event.time in {day for _, day, _ in find_dates(chapter.text)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "name"),
    [(5, "middle"), *(pytest.param(level, "long", marks=pytest.mark.slow) for level in (3, 4, 5))],
)
def test_what_is_so_stands_before_or_behind_what_is_not(level, name):
    frames, first, n = (
        frames_of(outline(level).universe),
        Counter(),
        dict.fromkeys(("when", "where", "name", "event"), 0),
    )
    for plan in outline(level, name).plans:
        for fixed in plan.fixed:
            for (_, slot), frame in frames.fitting(fixed.text):
                if slot in n and (match := frame.regex.fullmatch(fixed.text)):
                    other = "other" if slot == "name" else "instead"
                    first[slot] += place_of(match, slot) < place_of(match, other)
                    n[slot] += 1
                    break
        assert plan.contrasted <= {"location", "date", "entity", "content"}
    for slot in n:
        assert n[slot] > len(outline(level, name).plans) / 2 and 0.3 < first[slot] / n[slot] < 0.7


@pytest.mark.slow
@pytest.mark.parametrize(("level", "name"), GRADED)
def test_most_facts_of_a_long_book_take_other_chapters(level, name):
    chapters = book(level, name).chapters
    links = Counter((fact, one.links) for c in chapters for fact, one in c.evidence.items())
    assert max(n for _, n in links) == 3
    for fact, fewest in (("date", 0.6), ("location", 0.4), ("entity", 0.4), ("content", 0.3)):
        assert sum(n for (of, steps), n in links.items() if of == fact and steps) >= fewest * len(chapters)
    explicit = [c for c in chapters if c.evidence["entity"].links == 0]
    assert all(c.event.entity in c.text for c in explicit)


@pytest.mark.slow
@pytest.mark.parametrize(("level", "name"), GRADED)
def test_references_speak_of_what_has_been(level, name):
    chapters, plans = book(level, name).chapters, outline(level, name).plans
    met = {plan.met[0]: chapters[number].event for number, plan in enumerate(plans) if plan.met}
    told = 0
    for chapter, plan in zip(chapters, plans, strict=True):
        for group, event in met.items():
            if group in plan.where:
                told += 1
                assert event.time < chapter.event.time and event.space == chapter.event.space
    assert told > len(chapters) / 10


DENIED = {
    "title": "not_title",
    "phrase": "not_gloss",
    "group": "not_meeting",
    "span": "not_span",
    "feature": "not_feature",
}


def said_in(plans, parts):
    """What the sentences of parts of the bank say, by their slots, with the part."""
    frames = [(part, Frame(pattern)) for part in parts for pattern in patterns_of(part)]
    for plan in plans:
        for fixed in plan.fixed:
            for part, frame in frames:
                if match := frame.regex.fullmatch(fixed.text):
                    yield part, {slot.partition("__")[0]: words for slot, words in match.groupdict().items() if words}
                    break


@pytest.mark.parametrize(("level", "name"), GRADED)
def test_what_is_not_so_refers_neither_to_its_own_event_nor_to_a_later_meeting(level, name):
    drawn, found = outline(level, name), Counter()
    words_of = {"date": "when", "location": "where", "entity": "name"}
    for number, plan in enumerate(drawn.plans):
        told = " ".join(fixed.text for fixed in plan.fixed).lower()
        for other in (one for one in drawn.plans if one is not plan):
            for fact, anchor in other.refers.items():
                words = getattr(other, words_of[fact])
                if words != getattr(plan, words_of[fact]) and words.lower() in told:
                    found[fact] += 1
                    assert anchor != number, words
                    assert fact == "date" or drawn.events[anchor].time < drawn.events[number].time, words
    assert min(found[fact] for fact in words_of) > 3


@pytest.mark.slow
@pytest.mark.parametrize("level", [4, 5])
def test_what_is_denied_is_not_so(level):
    chapters, plans = book(level, "middle").chapters, outline(level, "middle").plans
    told = [(part, {slot: words.lower() for slot, words in said.items()}) for part, said in
            said_in(plans, ["title", "gloss", "feature", *DENIED.values()])]  # fmt: skip
    true = {(s["title"], s["entity"]) for part, s in told if part == "title"}
    true |= {(s["phrase"], s["meaning"]) for part, s in told if part == "gloss"}
    true |= {(s["feature"], s["space"]) for part, s in told if part == "feature"}
    for first, second, part in (
        ("title", "entity", "not_title"),
        ("phrase", "content", "not_gloss"),
        ("feature", "space", "not_feature"),
    ):
        denied = [(said[first], said[second]) for of, said in told if of == part]
        assert denied and true.isdisjoint(denied)
    called = {c.told["content"].lower(): c.event.content.lower() for c in chapters}
    assert all(called.get(said["phrase"]) != said["content"] for part, said in told if part == "not_gloss")
    hosts = [(c, plan) for c, plan in zip(chapters, plans, strict=True) for part, _ in said_in([plan], ["not_meeting"])]
    met = {plan.met[0]: c.event for c, plan in zip(chapters, plans, strict=True) if plan.met}
    assert hosts
    for chapter, plan in hosts:
        for _, said in said_in([plan], ["not_meeting"]):
            event = met[f"t{said['group'][1:]}"]
            assert event.space != chapter.event.space and event.time < chapter.event.time


@pytest.mark.slow
def test_at_level_five_words_may_be_explained_by_words():
    chapters = book(5, "middle").chapters
    for fact in ("entity", "content", "location"):
        assert any(c.evidence[fact].links == 2 for c in chapters), fact
    entities = [said["entity"] for part, said in said_in(outline(5, "middle").plans, ["title"])]
    assert 0.2 < sum(name.lower().startswith("the ") for name in entities) / len(entities) < 0.8


@pytest.mark.slow
def test_an_office_passes_from_one_person_to_another():
    holders = {}
    for chapter, plan in zip(book(4, "middle").chapters, outline(4, "middle").plans, strict=True):
        if any(plan.name.startswith(f"the {office} of ") for office in references_bank()["offices"]):
            holders.setdefault(plan.name, {}).setdefault(chapter.event.entity, []).append(chapter.event.time)
    assert len(holders) > 1
    both = [list(held.values()) for held in holders.values() if len(held) == 2]
    assert both and all(max(one) < min(two) or max(two) < min(one) for one, two in both)


@pytest.mark.slow
@pytest.mark.parametrize(
    "universe", [name if name == "ward" else pytest.param(name, marks=pytest.mark.nightly) for name in UNIVERSES]
)
def test_books_of_other_seeds_are_proved(universe):
    for name, level, seed in (("short", 3, 1), ("short", 4, 2), ("short", 5, 3), ("long", 4, 4), ("long", 5, 5)):
        assert not make_book(Recipe(name, universe, level=level, seed=seed)).writing.dropped


@pytest.mark.slow
def test_a_chapter_falls_with_the_one_that_withdraws_a_correction_of_it(monkeypatch):
    drawn = outline(5, "long")
    number, host = next((number, min(plan.withdrawn)) for number, plan in enumerate(drawn.plans) if plan.withdrawn)
    for plan in drawn.plans:  # or nearly all chapters fall with any one, as their evidence needs one another
        monkeypatch.setattr(plan, "evidence", {})
    writer = load_writer("template", drawn.universe, level=5)
    write = writer.write
    monkeypatch.setattr(writer, "write", lambda task: "(1) Nothing." if task.number == host else write(task))
    vocabulary = Vocabulary(drawn.universe)
    _, writing = write_chapters(
        drawn.events, drawn.layouts, writer, secondary_names(0), plans=drawn.plans, vocabulary=vocabulary
    )
    assert writing.dropped[number][1] == ["evidence"] != writing.dropped[host][1]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("events", [1, 2, 3])
def test_a_book_may_have_few_events(level, events):
    assert len(make_book(Recipe("short", UNIVERSE, level=level, events=events)).chapters) == events


@levels
def test_the_dataset_says_what_proves_each_fact_and_answers_each_question(level):
    configs = {config.name: config.table.to_pylist() for config in configs_of(book(level))}
    paragraphs = {row["chapter"]: row["n_paragraphs"] for row in configs["chapters"]}
    for row in configs["chapters"]:
        assert {fact["fact"] for fact in row["facts"]} == {"location", "date", "entity", "content"}
        for fact in row["facts"]:
            assert fact["links"] <= 3 and all(
                1 <= one["paragraph"] <= paragraphs[one["chapter"]] for one in fact["evidence"]
            )
    for row in configs["qa"]:
        assert {one["chapter"] for one in row["evidence"]} >= set(row["chapters"]) or not row["chapters"]
        assert bool(row["evidence"]) == bool(row["chapters"]) and (level > 2 or row["links"] == 0)
    assert max(row["links"] for row in configs["qa"]) in ((0,) if level == 2 else (1, 2, 3))


def test_level_one_has_no_columns_of_evidence():
    configs = {config.name: config.table for config in configs_of(book(1))}
    assert (
        not {"links", "evidence"} & set(configs["qa"].column_names) and "facts" not in configs["chapters"].column_names
    )
