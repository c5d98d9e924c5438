"""Each check: a row that keeps every rule passes, and one that breaks a rule is rejected by exactly that rule's check."""

import json
import re
from dataclasses import replace

import pytest

from epbench.memfail.dataset.word_rules import sentences
from epbench.memfail.generation.essays import DATAPOINTS, EASY, ESSAYS, HARD, PERSONAS, PersonaSpec, conditional_specs
from epbench.memfail.generation.facts import COEXISTING, REVISIONS, CoexistingSpec, revision_specs
from epbench.memfail.generation.long_hop import AUDITS, CHAINS, OPTIONS, Chain, Window, people_are_disjoint, person_of
from tests.memfail.generation.scripted_rows import WRITERS

POINT = conditional_specs(20)[4]
RULE = replace(POINT, behavior="sharpens a moon blade with a deep bow", condition="in falling snow")
CHAIN = Chain(
    1, 2, ("I hum whenever I feel calm.", "After I feel calm I bake bread.", "Once I bake bread I call Ada."),
    ("hum", "feel calm", "bake bread", "call Ada"), "What do I do in the end when I hum?",
)  # fmt: skip
CANDIDATES = ("water the ferns", "fold the maps", "paint a gate", "polish a spoon", "call Ada at night", "bake bread")
CASES = {
    "datapoint": (DATAPOINTS, POINT),
    "easy": (ESSAYS[EASY], RULE),
    "hard": (ESSAYS[HARD], RULE),
    "coexisting": (COEXISTING, CoexistingSpec(3, "hats", 3)),
    "persona": (PERSONAS, PersonaSpec(7, "Ava Thompson", "a baker", (None, "Liam Carter", None))),
    "chain": (CHAINS, Chain(2, 2)),
    "named chain": (CHAINS, Chain(1, 2)),
    "audit": (AUDITS, Window(0, (CHAIN,))),
    "revision": (REVISIONS, revision_specs(1)[0]),
    "options": (OPTIONS, replace(CHAIN, candidates=CANDIDATES)),
}


def good(case):
    step, spec = CASES[case]
    shown = json.loads(json.dumps({"row_id": spec.number, **step.shown(spec)}))
    return WRITERS[case.split()[-1]](shown)


def essay(row, change):
    return row | {"essay": " ".join(change(sentences(row["essay"])))}


def questions(row, number, **values):
    changed = [dict(question) for question in row["questions"]]
    changed[number] |= values
    return row | {"questions": changed}


def first(row, field, change):
    return row | {field: [change(row[field][0]), *row[field][1:]]}


def without(row, field):
    return {name: value for name, value in row.items() if name != field}


def swapped(row, low, high):
    """The essay with two of its sentences exchanged."""

    def swap(parts):
        parts[low], parts[high] = parts[high], parts[low]
        return parts

    return essay(row, swap)


REVISION = CASES["revision"][1]


def message(row, act, change):
    """The row with another text for its first message that does this."""
    place = next(i for i, (does, _) in enumerate(REVISION.messages) if does == act)
    return row | {"messages": [change(text) if i == place else text for i, text in enumerate(row["messages"])]}


def without_values(row):
    """How to take all values out of a text."""
    return lambda text: re.sub("|".join(map(re.escape, (*row["values"], *row["new_values"]))), "it", text)


VIOLATIONS = [
    ("revision", "lists_have_their_length", lambda row: row | {"values": row["values"][1:]}),
    ("revision", "lists_have_their_length", lambda row: row | {"questions": row["questions"][1:]}),
    ("revision", "values_share_no_words", lambda row: row | {"new_values": [row["new_values"][0]] * 2, "messages": [
        text.replace(row["new_values"][1], row["new_values"][0]) for text in row["messages"]]}),
    ("revision", "messages_name_whom_they_are_about", lambda row: message(row, "withdraws", lambda text: "Forget that.")),
    ("revision", "messages_name_whom_they_are_about",
     lambda row: message(row, "talks", lambda text: f"{REVISION.subjects[0]} waved.")),
    ("revision", "messages_tell_their_values", lambda row: message(row, "tells", without_values(row))),
    ("revision", "messages_tell_their_values", lambda row: message(row, "corrects", without_values(row))),
    ("revision", "messages_tell_their_values", lambda row: message(row, "tells again", without_values(row))),
    ("revision", "messages_leak_no_value",
     lambda row: message(row, "withdraws", lambda text: f"{text} No more of {', '.join(row['values'])}.")),
    ("revision", "messages_leak_no_value", lambda row: message(row, "talks", lambda text: f"I had {row['values'][1]}.")),
    ("revision", "questions_name_whom_they_ask_about", lambda row: first(row, "questions", lambda text: "What does she do?")),
    ("revision", "questions_name_no_value", lambda row: first(row, "questions", lambda text: f"{text} {row['values'][0]}?")),
    ("datapoint", "fields", lambda row: without(row, "question")),
    ("datapoint", "statement_keeps_rule", lambda row: row | {"statement": f"{POINT.entity} {row['behavior']}."}),
    ("datapoint", "statement_keeps_rule", lambda row: row | {"statement": row["statement"].replace(POINT.entity, "He")}),
    ("datapoint", "target_is_met", lambda row: row | {"condition_met": "no"}),
    ("datapoint", "answer_agrees_with_target", lambda row: row | {"answer": "No — not now."}),
    ("datapoint", "answer_agrees_with_target", lambda row: row | {"answer": "It depends on the weather."}),
    ("datapoint", "question_names_entity", lambda row: row | {"question": row["question"].replace(POINT.entity, "he")}),
    ("datapoint", "question_asks_about_behavior", lambda row: row | {"question": f"Will {POINT.entity} do it now?"}),
    ("easy", "essay_names_entity", lambda row: row | {"essay": row["essay"].replace(POINT.entity, "Ossian")}),
    ("easy", "easy_has_its_length", lambda row: essay(row, lambda parts: parts[1:4])),
    ("easy", "easy_has_its_length", lambda row: essay(row, lambda parts: [*parts, *["That is so."] * 3])),
    ("easy", "easy_keeps_rule", lambda row: row | {"essay": row["essay"].replace(" only in falling snow", "")}),
    ("easy", "easy_keeps_rule", lambda row: row | {"essay": row["essay"].replace("in falling snow", "before falling in love")}),
    ("easy", "easy_keeps_rule", lambda row: row | {"essay": row["essay"].replace("sharpens a moon blade", "sings")}),
    ("easy", "easy_adds_no_condition", lambda row: essay(row, lambda parts: [*parts, "He hums whenever he can."])),
    ("hard", "essay_names_entity", lambda row: {name: text.replace(POINT.entity, "Ossian") for name, text in row.items()}),
    ("hard", "hard_has_its_length", lambda row: essay(row, lambda parts: [*parts, *["That is so."] * 4])),
    ("hard", "hard_has_its_length", lambda row: essay(row, lambda parts: parts[1:8])),
    ("hard", "hard_has_three_sentences", lambda row: row | {"link_sentence": "Mostly that happens then."}),
    ("hard", "hard_has_three_sentences", lambda row: essay(row, lambda parts: [*parts[:4], "It rains there.", *parts[5:]])),
    ("hard", "hard_has_three_sentences", lambda row: _twice(row)),
    ("hard", "hard_sentences_are_apart", lambda row: swapped(row, 1, 5)),
    ("hard", "hard_keeps_rule", lambda row: _replaced(row, "condition_sentence", "Winters are long up there.")),
    ("hard", "hard_keeps_rule", lambda row: _replaced(row, "behavior_sentence", f"{POINT.entity} has a custom of old.")),
    ("hard", "hard_link_points_back", lambda row: _replaced(row, "link_sentence", "Neighbours smile at it.")),
    ("hard", "hard_has_no_connectives", lambda row: essay(row, lambda parts: [*parts, "He hums if he can."])),
    ("hard", "hard_splits_rule", lambda row: essay(row, lambda parts: [*parts, "Falling snow, a moon blade, a deep bow."])),
    ("coexisting", "preferences_have_their_number", lambda row: row | {"preferences": row["preferences"][:2]}),
    ("coexisting", "preferences_have_their_number", lambda row: row | {"preferences": [row["preferences"][0]] * 3}),
    ("coexisting", "facts_have_their_number", lambda row: row | {"preference_facts": row["preference_facts"][:2]}),
    ("coexisting", "facts_are_short", lambda row: first(row, "preference_facts", lambda fact: f"{fact} So it is. It is so.")),
    ("coexisting", "facts_name_their_preference", lambda row: first(row, "preference_facts", lambda fact: "I love this one.")),
    ("coexisting", "facts_name_no_sibling",
     lambda row: first(row, "preference_facts", lambda fact: f"{fact} I like {row['preferences'][1]} too.")),
    ("coexisting", "question_names_no_preference", lambda row: row | {"question": f"Is it the {row['preferences'][1]}?"}),
    ("persona", "questions_have_their_number", lambda row: row | {"questions": row["questions"][:2]}),
    ("persona", "essay_has_its_length", lambda row: essay(row, lambda parts: [*parts, *["That is so."] * 4])),
    ("persona", "essay_names_person", lambda row: row | {"essay": row["essay"].replace("Ava Thompson", "Ava")}),
    ("persona", "essay_names_no_stranger", lambda row: row | {"essay": row["essay"] + " She knows Liam Carter."}),
    ("persona", "essay_is_in_third_person", lambda row: row | {"essay": row["essay"] + " She is my aunt."}),
    ("persona", "questions_name_whom_they_ask_about", lambda row: questions(row, 1, text="What does Liam like?")),
    ("persona", "questions_name_whom_they_ask_about",
     lambda row: questions(row, 1, text="Does Liam Carter know what Ava Thompson eats?")),
    ("persona", "questions_differ",
     lambda row: questions(row, 1, text=row["questions"][0]["text"].replace("Ava Thompson", "Liam Carter"))),
    ("persona", "direct_answers_are_supported", lambda row: questions(row, 0, answer="a violin from Cremona")),
    ("persona", "fields", lambda row: questions(row, 0, answer=" ")),
    ("persona", "direct_answers_are_supported", lambda row: questions(row, 0, answer="unknown")),
    ("persona", "direct_questions_keep_their_answer_back",
     lambda row: questions(row, 2, text=f"Does Ava Thompson think of {row['questions'][2]['answer']}?")),
    ("chain", "facts_have_their_number", lambda row: row | {"facts": row["facts"][:2]}),
    ("chain", "anchors_have_their_number", lambda row: row | {"anchors": [*row["anchors"][:3], row["anchors"][2]]}),
    ("chain", "facts_are_short", lambda row: first(row, "facts", lambda fact: f"{fact} So it is.")),
    ("chain", "facts_are_short", lambda row: first(row, "facts", lambda fact: f"{'Very ' * 20}{fact}")),
    ("chain", "anchors_stand_in_their_facts", lambda row: first(row, "facts", lambda fact: fact.replace(row["anchors"][1], "sit"))),
    ("chain", "anchors_stand_nowhere_else",
     lambda row: first(row, "facts", lambda fact: f"{fact[:-1]} and {row['anchors'][2]}.")),
    ("chain", "facts_stand_alone", lambda row: first(row, "facts", lambda fact: f"{fact[:-1]} with him.")),
    ("chain", "question_has_first_anchor", lambda row: row | {"question": "What do I end up doing?"}),
    ("chain", "question_has_no_later_anchor", lambda row: row | {"question": f"{row['question'][:-1]} and {row['anchors'][1]}?"}),
    ("named chain", "facts_stand_alone", lambda row: _unnamed(row)),
    ("audit", "fields", lambda row: {"to_drop": ["chain-2hop-001"]}),
    ("audit", "audit_names_its_chains", lambda row: {"to_drop": [{"id": "chain-9", "reason": "it is alike"}]}),
    ("options", "options_have_their_number", lambda row: {"options": row["options"][:3]}),
    ("options", "options_have_their_number", lambda row: {"options": [row["options"][0].upper(), *row["options"][:3]]}),
    ("options", "options_are_candidates", lambda row: {"options": [*row["options"][:3], "read a poem"]}),
    ("options", "options_are_wrong", lambda row: {"options": [*row["options"][:3], "call Ada at night"]}),
    ("options", "options_stand_in_no_fact_of_chain", lambda row: {"options": [*row["options"][:3], "bake bread"]}),
]  # fmt: skip


def _replaced(row, part, text):
    return row | {"essay": row["essay"].replace(row[part], text), part: text}


def _twice(row):
    """One sentence as that of the behavior and as the link."""
    row = _replaced(row, "behavior_sentence", row["behavior_sentence"][:-1] + ", usually.")
    return row | {"link_sentence": row["behavior_sentence"]}


def _unnamed(row):
    name = row["anchors"][0]
    anchors = ["be at rest", *row["anchors"][1:]]
    return {
        "anchors": anchors,
        "facts": [f"To be at rest she will {anchors[1]}.", *(fact.replace(name, "she") for fact in row["facts"][1:])],
        "question": "Where does it lead to be at rest?",
    }


@pytest.mark.parametrize("case", CASES)
def test_a_good_row_passes(case):
    step, spec = CASES[case]
    assert list(step.problems(spec, good(case))) == []


@pytest.mark.parametrize(
    ("case", "check", "change"),
    VIOLATIONS,
    ids=[f"{case} {check} {i}" for i, (case, check, _) in enumerate(VIOLATIONS)],
)
def test_a_violation_is_rejected_by_its_own_check(case, check, change):
    step, spec = CASES[case]
    row = good(case)
    assert change(row) != row
    assert [name for name, _ in step.problems(spec, change(row))] == [check]


def test_every_check_has_a_violation():
    checks = {name for case, (step, spec) in CASES.items() for some in step.checks(spec, good(case)) for name in some}
    assert {"fields", *checks} == {check for _, check, _ in VIOLATIONS}


@pytest.mark.parametrize(
    ("case", "change", "check", "reason"),
    [
        ("hard", {"essay": "He hums whenever he can."}, "hard_has_no_connectives", "the essay has 'whenever'; use no such word anywhere"),
        ("easy", {"essay": "{name} sharpens a moon blade with a bow."}, "easy_keeps_rule",
         "no single sentence states the whole rule; the sentence with the rule lacks words of the condition 'in falling snow': 'falling', 'snow'"),
        ("datapoint", {"condition_met": "maybe"}, "target_is_met", "condition_met is 'maybe', but the target is 'yes'"),
        ("datapoint", {"answer": 7}, "fields", "answer: expected a text, found '7'"),
        ("chain", {"facts": ["I hum.", " . "]}, "fields", "facts[1]: expected a text, found ' . '"),
        ("persona", {"questions": [3]}, "fields", "questions[0]: expected an object, found '3'"),
        ("coexisting", {"preferences": None}, "fields", "preferences: expected a list, found 'None'"),
    ],
)  # fmt: skip
def test_reasons_say_what_a_model_can_act_on(case, change, check, reason):
    step, spec = CASES[case]
    changed = {
        name: text.replace("{name}", POINT.entity) if isinstance(text, str) else text for name, text in change.items()
    }
    assert (check, reason) in step.problems(spec, good(case) | changed)


def test_people_in_two_chains_are_found():
    def named(number, name):
        return Chain(number, 1, (f"{name} hums.", f"{name} sings."), (name, "hums", "sings"), f"And {name}?")

    chains = [named(0, "Dagny Holm"), CHAIN, named(1, "Ilse"), named(2, "Dagny")]
    assert list(people_are_disjoint(chains)) == [(3, "the name 'Dagny' also stands in chain-1hop-000")]
    assert person_of(CHAIN) is None
