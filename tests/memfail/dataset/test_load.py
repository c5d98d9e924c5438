"""Tables with their columns and ids, and the facts and questions that their rows give."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench import BadInput
from epbench.hub.card import card
from epbench.hub.dataset_folder import Config, write_dataset
from epbench.memfail.dataset.load import CONFIGS, facts_to_store, load_memfail, questions_of
from epbench.memfail.dataset.schema import complete, config_of, polarity
from epbench.memfail.templates.rows import make_rows
from tests.memfail.memfail_samples import made_rows

TABLES = {name: made_rows(name, 24) for name in CONFIGS}


def row_of(config, **test):
    return next(row for row in TABLES[config] if all(row[name] == value for name, value in test.items()))


@given(config=st.sampled_from(CONFIGS), n=st.integers(5, 30), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_every_gold_memory_is_a_stored_fact_of_its_row(config, n, seed):
    rows = made_rows(config, n, seed)
    facts, questions = facts_to_store(config, rows), questions_of(config, rows)
    texts = {fact.id: fact for fact in facts}
    assert len(texts) == len(facts) and len({q.id for q in questions}) == len(questions)
    for question in questions:
        assert question.config == config and question.text.startswith(question.query)
        assert question.gold and question.reference
        for memory in question.gold:
            assert texts[memory.fact].text == memory.text and texts[memory.fact].row == question.row
            assert all(part in memory.text for part in (*memory.link, *memory.detail))


def test_a_rule_is_linked_by_entity_and_behavior_and_its_detail_is_the_condition():
    for config in ("conditional_facts_easy", "conditional_facts_hard"):
        row = row_of(config, condition_met="no")
        (question,) = questions_of(config, [row])
        (memory,) = question.gold
        assert (memory.link, memory.detail) == ((row["entity"], row["behavior"]), (row["condition"],))
        assert question.group == question.about["condition_met"] == question.about["answer_polarity"] == "no"
        assert question.kind == "" and question.query == row["question"]


def test_preferences_are_stored_one_by_one_and_all_are_gold():
    row = next(row for row in TABLES["coexisting_facts"] if len(row["preferences"]) == 4)
    (question,) = questions_of("coexisting_facts", [row])
    assert [fact.text for fact in facts_to_store("coexisting_facts", [row])] == row["preference_facts"]
    assert [memory.link for memory in question.gold] == [(name,) for name in row["preferences"]]
    assert all(memory.detail == () for memory in question.gold)
    assert question.group == "4" and question.reference.split(", ") == row["preferences"]


def test_an_essay_has_three_questions():
    kinds = Counter()
    for row in TABLES["persona_retrieval"]:
        questions = questions_of("persona_retrieval", [row])
        assert [question.id for question in questions] == [f"{row['id']}-q{i}" for i in (1, 2, 3)]
        for question in questions:
            kinds[question.kind] += 1
            (memory,) = question.gold
            misleads = question.kind == "misleading"
            assert question.group == question.kind
            assert memory.link == (row["entity"],) and memory.detail == (() if misleads else (question.reference,))
            assert question.about["asked_name"] in question.text
            assert (question.about["distractor"] == "") != misleads
            assert question.about["n_essays_of_asked_name"] == ("0" if misleads else "1")
    assert kinds == {"direct": 36, "misleading": 36}


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_a_chain_is_queried_by_its_stem_and_every_link_is_gold(hops):
    row = row_of("long_hop", hop_count=hops)
    (question,) = questions_of("long_hop", [row])
    chain = [row[f"chain_{i}"] for i in range(1, hops + 3)]
    assert [memory.link for memory in question.gold] == [(chain[i], chain[i + 1]) for i in range(hops + 1)]
    assert chain[0] in question.query and question.choices[4] not in question.query
    assert question.about["published_query"] == question.text == row["graded_question"]
    assert question.choices["ABCDE".index(question.about["correct_choice"])] == question.reference == chain[-1]
    assert question.group == str(hops)


def test_ids_are_stable_and_unique():
    firsts = [TABLES[config][0]["id"] for config in CONFIGS]
    assert firsts == ["easy-000", "hard-000", "coexisting-000", "persona-000", "longhop-1hop-001"]
    ids = [row["id"] for rows in TABLES.values() for row in rows]
    assert len(set(ids)) == len(ids)


def test_essays_of_each_asked_name_are_counted():
    ask = {"text": "?", "is_misleading": False, "distractor": None, "ground_truth_answer": "a"}
    about = [ask, *(ask | {"is_misleading": True, "distractor": name} for name in ("Bo Li", "Cy Day"))]
    given = [{"entity": name, "entity_facts": ["x"], "questions": about} for name in ("Al Roe", "Al Roe", "Bo Li")]
    rows = complete("persona_retrieval", given)
    assert [row["n_essays_of_entity"] for row in rows] == [2, 2, 1]
    assert [row["n_essays_of_asked_name"] for row in rows] == [[2, 1, 0], [2, 1, 0], [1, 1, 0]]


def test_an_option_is_leaked_if_only_it_is_stored():
    first, second = (row | {"choice_a": "moo", "choice_b": "baa"} for row in make_rows("long_hop", 5)[:2])
    for row in (first, second):
        row |= {"choice_c": "oink", "choice_d": "tweet", "choice_e": row["ground_truth_answer"].upper()}
        row["correct_choice"] = "E"
    second["choice_a"] = first["ground_truth_answer"]
    rows = complete("long_hop", [first, second])
    assert [(row["n_options_in_facts"], row["option_leak"]) for row in rows] == [(1, True), (2, False)]
    assert rows[0]["stem"] + "\n\nOptions:\nA." == rows[0]["graded_question"][: len(rows[0]["stem"]) + 13]


def test_polarity_is_the_first_word_of_the_answer():
    answers = ["Yes — it rains.", "No—not so", " yes, indeed", "Perhaps", "Nobody knows"]
    assert [polarity(answer) for answer in answers] == ["yes", "no", "yes", None, None]


def written(path, *configs):
    write_dataset(path, configs, card(configs, "# m", pretty_name="m", license="mit", tags=[]))
    return str(path)


def test_the_fingerprint_depends_on_the_rows(tmp_path):
    rows = TABLES["coexisting_facts"]
    changed = [rows[0] | {"question": rows[0]["question"] + " "}, *rows[1:]]
    for name, of in {"one": rows, "same": rows, "other": changed}.items():
        written(tmp_path / name, config_of("coexisting_facts", of))
    one, same, other = (load_memfail(str(tmp_path / n), "coexisting_facts") for n in ("one", "same", "other"))
    assert one.fingerprint == same.fingerprint != other.fingerprint and one.rows == rows


def test_other_datasets_are_refused(tmp_path):
    from datasets import Features, Value

    bare = Config("long_hop", "test", Features({"id": Value("string")}), {"id": ["a"]})
    other = written(tmp_path / "other", bare)
    for dataset, config, message in (
        (other, "long_hop", "row 0, field 'hop_count': expected a whole number, found nothing"),
        (other, "coexisting_facts", r"the rows of a dataset in coexisting_facts/test-\*.parquet, found no such file"),
        ("nobody/nothing", "long_hop", "neither a folder nor on the Hub"),
    ):
        with pytest.raises(BadInput, match=message):
            load_memfail(dataset, config)
