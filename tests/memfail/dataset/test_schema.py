import pytest

from epbench import BadInput
from epbench.hub.card import card
from epbench.hub.dataset_folder import write_dataset
from epbench.memfail.dataset.load import CONFIGS, load_memfail
from epbench.memfail.dataset.schema import complete, config_of, polarity
from epbench.memfail.templates.rows import make_rows
from tests.memfail.memfail_samples import made_rows

TABLES = {name: made_rows(name, 12) for name in CONFIGS}


def written(path, configs):
    write_dataset(path, configs, card(configs, "# m", pretty_name="m", license="mit", tags=[]))
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return written(tmp_path_factory.mktemp("data") / "memfail", [config_of(*table) for table in TABLES.items()])


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


def test_the_fingerprint_depends_on_the_rows(folder, tmp_path):
    prints = {config: load_memfail(folder, config).fingerprint for config in CONFIGS}
    assert len(set(prints.values())) == len(CONFIGS)
    changed = [row | {"question": row["question"] + " "} for row in TABLES["coexisting_facts"]]
    other = written(tmp_path / "memfail", [config_of("coexisting_facts", changed)])
    assert load_memfail(other, "coexisting_facts").fingerprint != prints["coexisting_facts"]


def test_other_datasets_are_refused(tmp_path):
    from datasets import Features, Value

    from epbench.hub.dataset_folder import Config

    bare = Config("long_hop", "test", Features({"id": Value("string")}), {"id": ["a"]})
    other = written(tmp_path / "other", [bare])
    for dataset, config, message in (
        (other, "long_hop", "row 0, field 'hop_count': expected a whole number, found nothing"),
        (other, "coexisting_facts", r"the rows of a dataset in coexisting_facts/test-\*.parquet, found no such file"),
        ("nobody/nothing", "long_hop", "neither a folder nor on the Hub"),
    ):
        with pytest.raises(BadInput, match=message):
            load_memfail(dataset, config)
