import shutil

import pytest

from epbench import BadInput
from epbench.errors import RunFailed
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.dataset.released import file_of, open_source, read_config
from epbench.memfail.templates.rows import make_rows
from tests.memfail.published_csv import write_csv

FIRST_WORDS = {
    "conditional_facts_easy": "Selene just found",
    "conditional_facts_hard": "We just found",
    "coexisting_facts": "I'm packing for",
    "persona_retrieval": "Do you know",
    "long_hop": "When I do",
}


@pytest.mark.parametrize("config", CONFIGS)
def test_the_published_files_are_read_completely(published, config):
    found = read_config(file_of(published, config), config)
    assert len(found) == (92 if config == "long_hop" else 100)
    question = found[0].get("question") or found[0].get("graded_question") or found[0]["questions"][0]["text"]
    assert question.startswith(FIRST_WORDS[config])
    if config == "persona_retrieval":
        assert sum(len(row["questions"]) for row in found) == 300
    if config == "long_hop":
        assert question.splitlines()[1:3] == ["", "Options:"]  # plain line feeds within a cell
        assert found[0]["fact_3"] is None and found[0]["chain_4"] is None


def test_a_file_with_another_name_is_found_in_the_folder_of_its_config(tmp_path):
    path = write_csv(tmp_path / "data/long_hop/test.csv", "long_hop", make_rows("long_hop", 5))
    assert file_of(tmp_path, "long_hop") == path
    shutil.copy(path, path.with_name("train.csv"))
    for config, message in (
        ("long_hop", r"one file long_hop_chains\.csv, got .*test\.csv, .*train\.csv"),
        ("persona_retrieval", "one file persona_dataset.csv, got nothing"),
    ):
        with pytest.raises(BadInput, match=f"config '{config}': expected {message}"):
            file_of(tmp_path, config)


QUESTION = {"text": "q", "is_misleading": False, "distractor": None, "ground_truth_answer": "a"}
DAMAGES = {
    "an empty cell": ("conditional_facts_easy", {"condition": " "}, "'condition': expected text, got an empty cell"),
    "a foreign label": ("conditional_facts_hard", {"condition_met": "Yes"}, "'condition_met': expected one of yes, no, got 'Yes'"),
    "two essays": ("conditional_facts_easy", {"entity_facts": ["a", "b"]}, "'entity_facts': expected 1 item, got 2"),
    "no list": ("conditional_facts_easy", {"entity_facts": "['x']"}, "'entity_facts': expected a JSON list, got "),
    "another JSON": ("coexisting_facts", {"preferences": '"tea"'}, "'preferences': expected a JSON list of strings, got "),
    "an empty item": ("coexisting_facts", {"preference_facts": ["a", ""]}, "'preference_facts': expected non-empty strings, got the item ''"),
    "too few facts": ("coexisting_facts", {"preferences": ["a", "b", "c"], "preference_facts": ["a", "b"]}, "'preference_facts': expected 3 items, got 2"),
    "a preference twice": ("coexisting_facts", {"preferences": ["a", "a"], "preference_facts": ["b", "c"]}, "'preferences': expected distinct names, got a repeated name"),
    "two questions": ("persona_retrieval", {"questions": [QUESTION, QUESTION]}, "'questions': expected 3 items, got 2"),
    "a word for a flag": ("persona_retrieval", {"questions": [QUESTION | {"is_misleading": "yes"}] * 3}, "'questions.is_misleading': expected true or false, got 'yes'"),
    "a missing field": ("persona_retrieval", {"questions": [{"text": "q"}] * 3}, "'questions.is_misleading': expected a value, got nothing"),
    "a distractor too many": ("persona_retrieval", {"questions": [QUESTION | {"distractor": "Z"}] * 3}, "'questions.distractor': expected a name in misleading questions only, got 'Z'"),
    "a text for an object": ("persona_retrieval", {"questions": ["q"] * 3}, "'questions': expected objects, got the item"),
    "four hops": ("long_hop", {"hop_count": 4}, "'hop_count': expected 1, 2 or 3, got '4'"),
    "a fact too few": ("long_hop", {"fact_2": None}, "'fact_2': expected text in only the first 2 of fact_1.*with 1 hops, got an empty cell"),
    "an anchor too many": ("long_hop", {"chain_4": "x"}, "'chain_4': expected text in only the first 3 of chain_1.*got text"),
    "another true option": ("long_hop", {"ground_truth_answer": "x"}, "'correct_choice': expected the true answer 'x', got "),
    "no options": ("long_hop", {"graded_question": "x"}, "'graded_question': expected the stem.*got 'x'"),
    "an id twice": ("long_hop", {"id": "longhop-1hop-001"}, "'id': expected distinct rows, got 'longhop-1hop-001' of row 0 again"),
    "a row twice": ("coexisting_facts", make_rows("coexisting_facts", 5)[0], "'all': expected distinct rows, got the cells of row 0 again"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cell_is_named(tmp_path, damage):
    config, cells, message = DAMAGES[damage]
    rows = make_rows(config, 5)
    rows[1] |= cells
    path = write_csv(tmp_path / "rows.csv", config, rows)
    with pytest.raises(BadInput, match=rf"rows\.csv, row 1, field {message}"):
        read_config(path, config)


def test_a_damaged_file_is_named(tmp_path):
    path = write_csv(tmp_path / "rows.csv", "long_hop", make_rows("long_hop", 5))
    whole = path.read_bytes()
    path.write_bytes(whole + b"\r\n\r\n")
    assert len(read_config(path, "long_hop")) == 5  # empty lines do not count as rows
    for content, message in (
        (whole[: whole.rindex(b"Options:")], "not CSV, or truncated within a quoted cell"),
        (whole.replace(b"hop_count", b"hops", 1), "column 'hop_count' is missing; found: id, hops, fact_1"),
        (whole.split(b"\r\n")[0] + b"\r\n", "expected rows below the header, got none"),
    ):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=rf"rows\.csv.*{message}"):
            read_config(path, "long_hop")


def test_an_unreachable_hub_is_one_clear_error(monkeypatch):
    import huggingface_hub

    def refuse(*args, **options):
        raise huggingface_hub.errors.LocalEntryNotFoundError("cannot be reached")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(RunFailed, match="ishirgarg/MemFail could not be downloaded from the Hub: .*use a local folder"):
        open_source("hub")
