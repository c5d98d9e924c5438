"""What the report counts: the known facts about the published rows, and planted faults."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.memfail.dataset.findings import PAIRED, floor_of, validate
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.dataset.schema import complete
from epbench.memfail.dataset.word_rules import NEAR_DUPLICATE, connectives, overlaps, sentences, stands_literally_in
from tests.memfail.memfail_samples import made_rows

UNUSED = ["day_of_week", "social_setting", "completion_state", "scent", "conflict_state"]

# Measured by other code.
KNOWN = {
    "conditional_facts_easy": {
        "rows": 100, "units": 100, "questions": 100, "answers": {"no": 68, "yes": 32}, "always_the_same_answer": 0.69,
        "answer_against_condition": ["easy-088"], "entities": 76, "rows_sharing_a_name": 40,
        "name_not_in_question": ["easy-064"], "condition_types": 27, "unused_condition_types": UNUSED,
        "essays_by_sentences": {"5": 2, "6": 53, "7": 45}, "essays_of_another_length_than_the_paper_says": 0,
    },
    "conditional_facts_hard": {
        "answers": {"no": 51, "yes": 49}, "answer_against_condition": ["hard-021", "hard-031"], "entities": 75,
        "rows_sharing_a_name": 42, "name_not_in_question": ["hard-053", "hard-064"], "unused_condition_types": UNUSED,
        "essays_by_sentences": {"8": 73, "9": 27},
        "explicit_connectives": {"hard-002": ["whenever"], "hard-032": ["if"], "hard-095": ["only when"]},
        "rows_equal_to_easy_in": {
            "entity_category": 100, "condition_type": 100, "entity": 2, "condition": 2, "behavior": 0, "question": 0,
            "condition_met": 83,
        },
    },
    "coexisting_facts": {
        "units": 340, "rows_by_size": {"2": 26, "3": 31, "4": 20, "5": 23}, "categories": 100, "repeated_units": 0,
        "facts_by_size": {"2": 52, "3": 93, "4": 80, "5": 115}, "preference_word_for_word": 328,
        "facts_naming_another_preference_of_the_row": 0, "repeated_questions": 0, "questions_naming_a_preference": 0,
        "answers_that_list_the_names": 100,
    },
    "persona_retrieval": {
        "questions": 300, "direct": 143, "misleading": 157, "right_with_an_empty_memory": 0.5233, "entities": 27,
        "misleading_per_row": {"0": 16, "1": 28, "2": 39, "3": 17}, "misleading_about_somebody_with_an_essay": 137,
        "misleading_about_somebody_unknown": 20, "direct_about_an_ambiguous_name": 141, "asked_name_not_in_question": 0,
    },
    "long_hop": {
        "rows": 92, "units": 274, "rows_by_hops": {"1": 31, "2": 32, "3": 29}, "repeated_units": 0,
        "facts_by_hops": {"1": 62, "2": 96, "3": 116}, "letters": {"A": 16, "B": 15, "C": 24, "D": 19, "E": 18},
        "always_the_longest_option": round(21 / 92, 4), "always_the_same_letter": round(24 / 92, 4),
        "only_the_true_option_in_any_fact": 68, "head_not_in_stem": [], "later_anchor_in_stem": [],
        "true_answers_that_are_wrong_elsewhere": 7, "one_name_in_question_and_facts": 37, "near_duplicate_pairs": 0,
        "anchors_of_several_chains": {
            "feel nostalgic": 3, "jitters": 2, "call my mom": 2, "lose track of time": 2, "feel energized": 2,
            "feel confident": 2,
        },
    },
}  # fmt: skip


def test_the_published_rows_have_the_known_limits(published_rows):
    report = validate(published_rows)
    for config, expected in KNOWN.items():
        found = report[config]
        assert {name: found[name] for name in expected} == expected
    assert len(report["long_hop"]["anchors_not_in_all_their_facts"]) == 92 - 89
    assert round(report["persona_retrieval"]["essays_per_directly_asked_name"], 1) == 4.2
    assert report["long_hop"]["largest_overlap"] == 0.273
    names = report["coexisting_facts"]["names_in_several_rows"]
    assert {name: n for name, n in names.items() if n > 2} == {
        "journaling": 4, "meditation": 4, "japanese": 3, "mind mapping": 3, "photography": 3,
    }  # fmt: skip
    assert len(names) == 5 + 14
    floors = {config: floor_of(found) for config, found in report.items()}
    assert floors == {
        "conditional_facts_easy": 0.69, "conditional_facts_hard": 0.51, "coexisting_facts": 0.0,
        "persona_retrieval": 0.5233, "long_hop": 0.2609,
    }  # fmt: skip


def test_tokens_are_counted_per_row_with_all_questions_and_no_answers():
    rows = made_rows("persona_retrieval", 4)
    words = sum(
        len(text.split()) for row in rows for text in (*row["entity_facts"], *(q["text"] for q in row["questions"]))
    )
    counted = validate({"persona_retrieval": rows}, lambda text: len(text.split()))
    assert counted["persona_retrieval"]["tokens_per_row"] == {"all": words / 4}
    by_size = validate({"coexisting_facts": made_rows("coexisting_facts", 8)}, len)["coexisting_facts"][
        "tokens_per_row"
    ]
    assert list(by_size) == ["2", "3", "4", "5"] and by_size["2"] < by_size["5"]


# Of twenty template rows, whose numbers are equal as far as they can be.
MADE = {
    "conditional_facts_easy": {
        "rows": 20, "units": 20, "questions": 20, "answers": {"no": 10, "yes": 10}, "entities": 20, "condition_types": 14,
        "essays_by_sentences": {"5": 5, "6": 8, "7": 2, "8": 5},
    },
    "conditional_facts_hard": {"rows_equal_to_easy_in": dict.fromkeys(PAIRED, 20) | {"entity": 19}},
    "coexisting_facts": {
        "units": 70, "rows_by_size": {"2": 5, "3": 5, "4": 5, "5": 5}, "categories": 20, "preference_word_for_word": 70,
        "facts_by_size": {"2": 10, "3": 15, "4": 20, "5": 25},
    },
    "persona_retrieval": {
        "questions": 60, "direct": 30, "misleading": 30, "right_with_an_empty_memory": 0.5, "entities": 20,
        "misleading_per_row": {"0": 5, "1": 4, "2": 7, "3": 4}, "misleading_about_somebody_unknown": 30,
        "essays_per_directly_asked_name": 1.0,
    },
    "long_hop": {
        "units": 59, "rows_by_hops": {"1": 7, "2": 7, "3": 6}, "facts_by_hops": {"1": 14, "2": 21, "3": 24},
        "letters": dict.fromkeys("ABCDE", 4), "always_the_same_letter": 0.2, "always_the_longest_option": 0.3,
        "one_name_in_question_and_facts": 10, "true_answers_that_are_wrong_elsewhere": 20,
    },
}  # fmt: skip


def test_made_rows_are_counted():
    tables = {config: made_rows(config, 20) for config in CONFIGS}
    tables["conditional_facts_hard"][1] |= {"entity": "Nobody"}
    report = validate(tables)
    assert {config: {name: report[config][name] for name in of} for config, of in MADE.items()} == MADE
    assert len(report["conditional_facts_easy"]["unused_condition_types"]) == 32 - 14
    assert list(map(floor_of, report.values())) == [0.5, 0.5, 0.0, 0.5, 0.3]


FAULTS = {
    "another answer": ("conditional_facts_easy", {"condition_met": "yes", "answer_polarity": "no"}, "answer_against_condition", ["easy-001"]),
    "no name": ("conditional_facts_easy", {"question": "Would it?"}, "name_not_in_question", ["easy-001"]),
    "a connective": ("conditional_facts_hard", {"entity_facts": ["She sings only if it snows."]}, "explicit_connectives", {"hard-001": ["only if"]}),
    "a short essay": ("conditional_facts_hard", {"entity_facts": ["She sings."]}, "essays_of_another_length_than_the_paper_says", 1),
    "a sibling": ("coexisting_facts", {"preferences": ["red hats", "blue hats"], "preference_facts": ["red hats or blue hats", "blue hats"]}, "facts_naming_another_preference_of_the_row", 1),
    "a name in the question": ("coexisting_facts", {"preferences": ["red hats", "blue hats"], "preference_facts": ["red hats", "blue hats"], "question": "Do I like red hats?"}, "questions_naming_a_preference", 1),
    "another list": ("coexisting_facts", {"ground_truth_answer": "tea"}, "answers_that_list_the_names", 19),
    "a later anchor": ("long_hop", {"chain_2": "stir", "stem": "If I stir?"}, "later_anchor_in_stem", ["longhop-1hop-002"]),
    "no head": ("long_hop", {"stem": "What then?"}, "head_not_in_stem", ["longhop-1hop-002"]),
    "a lost anchor": ("long_hop", {"fact_2": "Nothing."}, "anchors_not_in_all_their_facts", ["longhop-1hop-002"]),
    "a shared name": ("conditional_facts_easy", lambda rows: {"entity": rows[0]["entity"]}, "rows_sharing_a_name", 2),
    "a name in two rows": ("coexisting_facts", {"preferences": ["Tea", "tea"], "preference_facts": ["tea", "Tea"]}, "names_in_several_rows", {"tea": 2}),
    "an anchor of two chains": ("long_hop", lambda rows: {"chain_2": rows[0]["chain_2"]}, "anchors_of_several_chains", lambda rows: {rows[0]["chain_2"].lower(): 2}),
    "an answer of its own": ("long_hop", lambda rows: {"ground_truth_answer": "fly", f"choice_{rows[1]['correct_choice'].lower()}": "fly"}, "true_answers_that_are_wrong_elsewhere", 19),
    "a repeated essay": ("conditional_facts_easy", lambda rows: {"entity_facts": rows[0]["entity_facts"]}, "repeated_units", 1),
    "a near duplicate": ("conditional_facts_easy", lambda rows: {"entity_facts": rows[0]["entity_facts"]}, "near_duplicate_pairs", 1),
    "a leak": ("long_hop", {"option_leak": True}, "only_the_true_option_in_any_fact", 1),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_counted(fault):
    config, cells, name, expected = FAULTS[fault]
    rows = made_rows(config, 20)
    clean = validate({config: rows})[config][name]
    rows[1] = rows[1] | (cells(rows) if callable(cells) else cells)
    assert validate({config: rows})[config][name] == (expected(rows) if callable(expected) else expected) != clean


def test_ambiguous_names_are_counted():
    rows = made_rows("persona_retrieval", 10)
    there = next(q for row in rows for q in row["questions"] if q["is_misleading"])["distractor"]
    renamed = [row | {"entity": there} if i in (3, 4) else row for i, row in enumerate(rows)]
    found = validate({"persona_retrieval": complete("persona_retrieval", renamed)})["persona_retrieval"]
    direct = sum(not q["is_misleading"] for row in rows[3:5] for q in row["questions"])
    assert found["misleading_about_somebody_with_an_essay"] == 1
    assert found["direct_about_an_ambiguous_name"] == found["asked_name_not_in_question"] == direct


def test_sentences_end_at_punctuation_before_a_new_start():
    told = ["She has 2.5 cats.", "He asks why!", "“Éva left?", "10 came, approx. five stayed."]
    assert sentences(f" {' '.join(told).replace('?', '?”')}\n") == told
    assert sentences("") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Only when it rains, unless it snows.", ["only when", "unless"]), ("as if asleep", []), ("even if", ["if"]),
        ("but only if", ["but only if"]), ("gift, whenever", ["whenever"]), ("only after tea", ["only after"]),
        ("when it rains", []),
    ],
)  # fmt: skip
def test_connectives_are_those_of_the_paper(text, found):
    assert connectives(text) == found


def test_texts_are_found_in_texts_by_whole_words():
    texts = ("I like mint-tea, cold", "peppermint tea", "tea mint")
    assert [stands_literally_in("Mint tea", text) for text in texts] == [True, False, False]


texts = st.lists(st.lists(st.sampled_from("abcd"), max_size=9).map(" ".join), max_size=12)


@given(texts=texts)
@settings(deadline=None)
def test_overlaps_are_those_of_sets_of_trigrams(texts):
    grams = [{tuple(w[i : i + 3]) for i in range(len(w) - 2)} for w in map(str.split, texts)]
    index = [len(a & b) / len(a | b) if a | b else 0.0 for i, a in enumerate(grams) for b in grams[i + 1 :]]
    largest, near = overlaps(texts)
    assert largest == pytest.approx(max(index, default=0.0))
    assert near == sum(value >= NEAR_DUPLICATE for value in index)
