import pytest

from epbench import BadInput
from epbench.hub.card import card
from epbench.hub.dataset_folder import write_dataset
from epbench.memfail.dataset.load import CONFIGS, load_memfail
from epbench.memfail.dataset.schema import PUBLISHED_COLUMNS, complete, config_of, polarity
from epbench.memfail.templates.rows import make_rows

TABLES = {name: complete(name, make_rows(name, 12)) for name in CONFIGS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "memfail"
    configs = [config_of(name, rows) for name, rows in TABLES.items()]
    write_dataset(path, configs, card(configs, "# m", pretty_name="m", license="mit", tags=[]))
    return path


@pytest.mark.parametrize("config", CONFIGS)
def test_a_written_config_loads_with_its_rows_and_types(folder, config):
    from datasets import load_dataset

    dataset = load_dataset(str(folder), config, split="test")
    assert dataset.features == config_of(config, TABLES[config]).stored_features
    assert set(PUBLISHED_COLUMNS[config]) <= set(dataset.column_names)
    assert dataset.remove_columns("canary").to_list() == TABLES[config]
    loaded = load_memfail(str(folder), config)
    assert loaded.rows == TABLES[config]
    assert (
        {fact.row for fact in loaded.facts}
        == {question.row for question in loaded.questions}
        == {row["id"] for row in loaded.rows}
    )


def test_ids_are_stable_and_unique():
    firsts = [TABLES[config][0]["id"] for config in CONFIGS]
    assert firsts == ["easy-000", "hard-000", "coexisting-000", "persona-000", "longhop-1hop-001"]
    ids = [row["id"] for rows in TABLES.values() for row in rows]
    assert len(set(ids)) == len(ids)


def test_essays_of_each_asked_name_are_counted():
    ask = {"text": "?", "is_misleading": False, "distractor": None, "ground_truth_answer": "a"}
    about = [
        ask,
        ask | {"is_misleading": True, "distractor": "Bo Li"},
        ask | {"is_misleading": True, "distractor": "Cy Day"},
    ]
    rows = complete(
        "persona_retrieval",
        [{"entity": name, "entity_facts": ["x"], "questions": about} for name in ("Al Roe", "Al Roe", "Bo Li")],
    )
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
    prints = {config: load_memfail(str(folder), config).fingerprint for config in CONFIGS}
    assert len(set(prints.values())) == len(CONFIGS)
    changed = [row | {"question": row["question"] + " "} for row in TABLES["coexisting_facts"]]
    configs = [config_of("coexisting_facts", changed)]
    write_dataset(tmp_path / "memfail", configs, card(configs, "# m", pretty_name="m", license="mit", tags=[]))
    assert load_memfail(str(tmp_path / "memfail"), "coexisting_facts").fingerprint != prints["coexisting_facts"]


def test_other_datasets_are_refused(folder, tmp_path):
    from datasets import Features, Value

    from epbench.hub.dataset_folder import Config

    with pytest.raises(BadInput, match="unknown config 'easy'; MemFail has: conditional_facts_easy"):
        load_memfail(str(folder), "easy")
    other = [Config("long_hop", "test", Features({"id": Value("string")}), {"id": ["a"]})]
    write_dataset(tmp_path / "other", other, card(other, "# o", pretty_name="o", license="mit", tags=[]))
    with pytest.raises(BadInput, match="row 0, field 'hop_count': expected a whole number, found nothing"):
        load_memfail(str(tmp_path / "other"), "long_hop")
    with pytest.raises(
        BadInput, match=r"expected the rows of a dataset in coexisting_facts/test-\*.parquet, found no such file"
    ):
        load_memfail(str(tmp_path / "other"), "coexisting_facts")
    with pytest.raises(BadInput, match="neither a folder nor on the Hub"):
        load_memfail("nobody/nothing", "long_hop")
