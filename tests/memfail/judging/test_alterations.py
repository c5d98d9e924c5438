"""Statements that were turned around are seen; those that are worded in another way are not mistaken for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.memfail.dataset.load import CONFIGS, GoldMemory
from epbench.memfail.dataset.word_rules import content_of, sentences_of
from epbench.memfail.judging.lexical import Check, LexicalJudge
from epbench.memfail.judging.memories import leads_on, numbers_of, sense_of, turned
from tests.memfail.memfail_samples import question, template

TEXT = "Ada keeps bees. Ada sings to them only above 4 degrees, and nobody minds. She likes toast."
PARTS = [content_of("sings"), content_of("4 degrees")]


@pytest.mark.parametrize(
    ("memory", "opposite"),
    [
        ("Ada sings to them never above 4 degrees.", True),
        ("Ada does not sing to them above 4 degrees.", True),
        ("Ada doesn’t sing above 4 degrees, and nobody minds.", True),
        ("It is not true that Ada sings to them only above 4 degrees.", True),
        ("Ada sings to them except above 4 degrees.", True),
        ("Ada sings only below 4 degrees.", True),
        ("Ada avoids to sing above 4 degrees.", True),
        (TEXT, False),
        ("Ada sings to them above 4 degrees.", False),
        ("Ada sings at more than 4 degrees, not in frost.", False),
        ("Ada never sings unless it is above 4 degrees.", False),
        ("Ada sings to her bees without fail, above 4 degrees.", False),
        ("Ada sings never below 4 degrees.", False),
        ("Nobody minds: Ada sings above 4 degrees.", False),
        ("Ada: sings to bees; condition: above 4 degrees.", False),
        ("Ada likes toast.", None),
        ("", None),
    ],
)
def test_a_turned_statement(memory, opposite):
    assert turned(TEXT, [memory], PARTS) is opposite


@pytest.mark.parametrize(
    ("text", "forward"),
    [
        ("When I smell rain I feel calm.", True),
        ("Smelling rain -> feeling calm", True),
        ("I feel calm whenever I smell rain.", True),
        ("Feeling calm is triggered by the smell of rain.", True),
        ("I feel calm because of the smell of rain.", True),
        ("Before I feel calm I smell rain.", True),
        ("I smell rain because it makes me feel calm.", True),
        ("I like to smell rain and, right after that, to feel calm.", True),
        ("I smell rain whenever I feel calm.", False),
        ("Feeling calm leads to the smell of rain.", False),
        ("I feel calm.", None),
    ],
)
def test_which_end_leads_to_which(text, forward):
    assert leads_on("smell rain", "feel calm", text) is forward


@given(st.text(), st.text(), st.text())
def test_any_text_can_be_compared(one, other, words):
    sense = sense_of(one, content_of(words))
    assert not sense.opposes(sense)
    assert turned(one, [one], [content_of(one)] if content_of(one) else []) in (False, None)
    assert leads_on(one, other, words) in (True, False, None) and all(numbers_of(words))


@given(st.sampled_from(["never", "not", "hardly", "without", "no"]), st.sampled_from(["sings", "bees in drizzle"]))
def test_a_negation_beside_the_words_turns_them_and_one_far_away_does_not(word, about):
    assert sense_of(f"Ada {word} {about}", content_of(about)).negated
    assert not sense_of(f"Ada {about}, and {word} toast", content_of(about)).negated


RULE = GoldMemory("r/0", TEXT, ("Ada", "sings to them"), ("above 4 degrees",))


def verdict(kind, config, gold, *memories):
    (found,) = LexicalJudge().judge([Check(kind, question((gold,), config=config), gold, memories)])
    return found.verdict


def test_a_lost_or_changed_number_is_a_lost_detail():
    assert verdict("summary", CONFIGS[0], RULE, "Ada sings to them above four degrees").verdict
    for memory in ("Ada sings to them only above 14 degrees", "Ada sings at some degrees"):
        assert not verdict("summary", CONFIGS[0], RULE, memory).verdict


def test_a_stored_question_is_no_memory():
    asked = "Would Ada sing to them above 4 degrees?"
    assert not verdict("storage", CONFIGS[0], RULE, asked).verdict
    assert verdict("storage", CONFIGS[0], RULE, f"{asked} Ada sings to them above 4 degrees.").verdict


def test_essays_about_one_name_are_told_apart_by_their_other_words():
    one, other = (
        GoldMemory("p/0", f"Ada Lin {text}", ("Ada Lin",), ())
        for text in ("maps wrecks by lamplight. She drinks nettle tea.", "trains sheepdogs at dawn. She hates leashes.")
    )
    for gold, foreign in ((one, other), (other, one)):
        assert verdict("storage", "persona_retrieval", gold, gold.text, foreign.text, "Bo Ek swims.").verdict
        assert not verdict("storage", "persona_retrieval", gold, foreign.text, "Bo Ek swims.").verdict
    assert verdict("storage", "persona_retrieval", one, "Ada Lin: nettle tea", other.text).verdict
    merged = f"{one.text} {other.text}"
    assert all(verdict("storage", "persona_retrieval", gold, merged).verdict for gold in (one, other))


def test_what_a_thing_does_to_somebody_is_not_that_somebody_loves_it():
    loves = GoldMemory("l/0", "Ada loves long runs.", ("Ada", "long runs"), ())
    for memory in ("Ada loves long runs.", "Ada enjoys long runs", "Long runs: Ada does them. Ada loves long runs."):
        assert verdict("storage", "long_hop", loves, memory).verdict
    assert not verdict("storage", "long_hop", loves, "Long runs make Ada hungry.").verdict


def test_what_rules_cannot_judge_they_say():
    hinted = GoldMemory(
        "r/0", "Ada sings to them, as one hears in wet weather.", ("Ada", "sings to them"), ("if drizzling",)
    )
    assert not verdict("summary", CONFIGS[1], hinted, hinted.text).sure
    assert verdict("summary", CONFIGS[1], RULE, RULE.text).sure


def third_person(text):
    for one, other in ((" I ", " the user "), ("I ", "The user "), (" my ", " their "), (" me ", " them ")):
        text = text.replace(one, other)
    return text


REWORDED = {
    "with a prefix, in capitals": lambda gold: [f"[2025-01-06 Monday] user: {gold.text.upper()}"],
    "about the user": lambda gold: [f"The user said: {third_person(gold.text)}"],
    "sentence by sentence": lambda gold: [f"{gold.link[0]}: {sentence}" for sentence in sentences_of(gold.text)],
    "without only": lambda gold: [gold.text.replace("only ", "").replace("Only ", "")],
}
RULES = {
    "as a plain rule": lambda gold: [f"{gold.link[0]} {gold.link[1]} {gold.detail[0]}."],
    "with an exception": lambda gold: [f"{gold.link[0]} never {gold.link[1]} except {gold.detail[0]}."],
    "as a note": lambda gold: [f"- habit of {gold.link[0]}: {gold.link[1]}; condition: {gold.detail[0]}"],
}
LINKS = {
    "as an arrow": lambda gold: [" -> ".join(gold.link)],
    "in the passive": lambda gold: [f"{gold.link[1]} is triggered by {gold.link[0]}"],
    "the other way round": lambda gold: [f"The user will {gold.link[1]} whenever they {gold.link[0]}"],
}


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS)
def test_a_faithful_rewording_passes(config):
    ways = dict(REWORDED)
    if config == "long_hop":
        del ways["sentence by sentence"]  # its facts are single sentences
    ways |= RULES if config.startswith("conditional") else LINKS if config == "long_hop" else {}
    needs = {need: question for question in template(config, 40)[1] for need in question.gold}
    for way, reword in ways.items():
        store = tuple(text for need in needs for text in reword(need))
        checks = [Check(kind, q, need, store) for need, q in needs.items() for kind in ("storage", "summary")]
        wrong = [found for found in LexicalJudge().judge(checks) if not found.verdict.verdict]
        assert not wrong, (way, len(wrong))
