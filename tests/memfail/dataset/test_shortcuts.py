"""What shortcuts score: on rows made by hand, on our own rows and on the published ones."""

import pytest

from epbench.memfail.dataset.findings import validate
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.dataset.schema import complete, long_hop_row
from epbench.memfail.dataset.shortcuts import PUBLISHED, shortcuts
from tests.memfail.memfail_samples import made_rows


def test_the_published_scores_are_those_of_the_published_rows(published_rows):
    report = validate(published_rows)
    assert {config: found["shortcuts"] for config, found in report.items()} == PUBLISHED


def test_plain_template_rows_are_open_to_word_overlap():
    """The card says so; the harder rows are not, see the tests of the templates."""
    scores = {config: shortcuts(config, made_rows(config)) for config in CONFIGS}
    assert {config: of.keys() for config, of in scores.items()} == {
        config: of.keys() for config, of in PUBLISHED.items()
    }
    assert scores["conditional_facts_easy"]["word_overlap"] == scores["conditional_facts_hard"]["word_overlap"] == 1
    assert 0.7 <= scores["coexisting_facts"]["bm25_at_5"] <= 0.8
    assert scores["long_hop"]["option_in_a_fact"] == 0.2


def conditional(condition, context, answer):
    return made_rows("conditional_facts_easy", 1)[0] | {
        "entity": "Ann", "condition": condition, "entity_facts": [f"Ann hums {condition}."],
        "question": f"{context}. Does Ann hum?", "question_context": context, "answer_polarity": answer,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "context", "says_yes"),
    [
        ("in heavy rain", "Rain is falling", True),
        ("in heavy rain at night near Rome or Paris", "Rain is falling", False),  # one word of five
        ("on weekdays", "It is Saturday", False),
        ("near Ann", "Ann is here", False),  # the name says nothing
        ("on days without work", "These days are busy", True),
    ],
)
def test_a_third_of_the_words_of_a_condition_makes_a_yes(condition, context, says_yes):
    for answer in ("yes", "no"):
        score = shortcuts("conditional_facts_easy", [conditional(condition, context, answer)])["word_overlap"]
        assert score == (says_yes == (answer == "yes"))


def coexisting(number, question, facts):
    names = [f"name{number}{i}" for i in range(len(facts))]
    return {
        "id": f"coexisting-{number}", "preference_category": str(number), "preferences": names, "preference_facts": facts,
        "question": question, "ground_truth_answer": ", ".join(names),
    }  # fmt: skip


def test_preferences_are_found_by_words_only_if_no_other_fact_shares_as_many():
    teas = coexisting(0, "Which teas suit a picnic?", ["Mint tea for a picnic.", "Lime tea for a picnic."])
    hats = coexisting(1, "What do I wear?", ["A fedora.", "A bowler."])
    assert shortcuts("coexisting_facts", [teas, hats])["word_overlap"] == 0.5
    rival = coexisting(1, "What do I wear?", ["A fedora for tea at a picnic.", "A bowler."])
    assert shortcuts("coexisting_facts", [teas, rival])["word_overlap"] == 0


def persona(name, essay, text, answer):
    asked = {"text": text, "is_misleading": False, "distractor": None, "ground_truth_answer": answer}
    return {"entity": name, "entity_facts": [essay], "questions": [asked]}


def test_a_persona_question_is_answered_by_the_sentence_with_its_words():
    told = "Ann Lee lives here. Her drink is cocoa. She fears moths."
    rows = [
        persona("Ann Lee", told, "Which drink does Ann Lee take? And her drink at night?", "cocoa"),
        persona("Bo Ray", told.replace("Ann Lee", "Bo Ray"), "What gives Bo Ray a fright?", "moths"),
    ]
    assert shortcuts("persona_retrieval", complete("persona_retrieval", rows)) == {
        # The first question shares two words with the sentence of the name, and one with that of the drink.
        "word_overlap": 0.0,
        "bm25_at_5": 1.0,
    }
    by_words = persona("Ann Lee", told, "Her drink of all drinks is what, Ann?", "cocoa")
    tied = shortcuts("persona_retrieval", complete("persona_retrieval", [by_words]))["word_overlap"]
    assert tied == 0.5  # one word of the name, one of the sentence with the answer


@pytest.mark.parametrize(
    ("options", "in_a_fact", "overlap"),
    [
        (["fold socks", "bake bread", "read news", "plant oaks", "ring bells"], 1.0, 1.0),
        (["call Mum", "bake bread", "read news", "plant oaks", "ring bells"], 0.5, 0.0),  # "call Mum" stands beside "sip tea"
        (["fold socks", "bake a bread", "read news", "plant oaks", "ring bells"], 0.2, 1.0),
        (["fold socks", "knit", "read news", "plant oaks", "ring bells"], 0.2, 0.2),
    ],
)  # fmt: skip
def test_options_are_judged_by_the_facts_they_stand_in(options, in_a_fact, overlap):
    facts, anchors = (
        ("When I sip tea I call Mum.", "When I call Mum I bake bread."),
        ("sip tea", "call Mum", options[1]),
    )
    row = long_hop_row("longhop-1hop-001", facts, anchors, "When I sip tea, what then?", options)
    scores = shortcuts("long_hop", complete("long_hop", [row]))
    assert (scores["option_in_a_fact"], scores["word_overlap"], scores["bm25_at_5"]) == (in_a_fact, overlap, 1.0)
