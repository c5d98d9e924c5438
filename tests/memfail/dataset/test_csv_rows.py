import json
import os
import shutil
import subprocess
import sys

import pytest

from epbench import BadInput
from epbench.errors import RunFailed
from epbench.memfail.dataset.csv_rows import read_config
from epbench.memfail.dataset.sources import Source, file_of, open_source
from epbench.memfail.dataset.types import CONFIGS
from epbench.memfail.templates.rows import make_rows
from tests.hub.hub_double import HubDouble, Repo
from tests.memfail.made_rows import limited_rows
from tests.memfail.published_csv import PATHS, write_csv, write_published

FIRST_WORDS = {
    "conditional_facts_easy": "Selene just found",
    "conditional_facts_hard": "We just found",
    "coexisting_facts": "I'm packing for",
    "persona_retrieval": "Do you know",
    "long_hop": "When I do",
}


@pytest.mark.parametrize("config", CONFIGS)
def test_the_published_files_are_read_whole(published, config):
    found = read_config(file_of(open_source(str(published)), config), config)
    assert len(found) == (92 if config == "long_hop" else 100)
    question = found[0].get("question") or found[0].get("graded_question") or found[0]["questions"][0]["text"]
    if published.name == "memfail":
        assert question.startswith(FIRST_WORDS[config])
    else:
        assert found == limited_rows()[config]
    if config == "persona_retrieval":
        assert sum(len(row["questions"]) for row in found) == 300
    if config == "long_hop":
        assert question.splitlines()[1:3] == ["", "Options:"]  # bare line feeds within a cell
        assert found[0]["fact_3"] is None and found[0]["chain_4"] is None


@pytest.mark.parametrize("config", CONFIGS)
def test_rows_come_back_as_they_were_written(tmp_path, config):
    rows = make_rows(config, 8, 3)
    write_published(tmp_path / "datasets", {config: rows})
    assert read_config(file_of(open_source(str(tmp_path)), config), config) == rows


def test_a_file_of_another_name_in_the_folder_of_its_config_is_found(tmp_path):
    path = write_csv(tmp_path / "data/long_hop/test.csv", "long_hop", make_rows("long_hop", 5))
    assert file_of(open_source(str(tmp_path)), "long_hop") == path
    shutil.copy(path, path.with_name("train.csv"))
    with pytest.raises(
        BadInput, match=r"test\.csv, .*train\.csv found for long_hop, one file long_hop_chains\.csv expected"
    ):
        file_of(open_source(str(tmp_path)), "long_hop")
    with pytest.raises(BadInput, match="nothing found for persona_retrieval, one file persona_dataset.csv expected"):
        file_of(open_source(str(tmp_path)), "persona_retrieval")


def test_what_is_no_source_is_said():
    with pytest.raises(BadInput, match="'openai:gpt-5' is none of template, hub and a folder; .* no rows with a model"):
        open_source("openai:gpt-5")


def damaged(config, **cells):
    """Three rows of a config (five chains), the second of them changed."""
    rows = make_rows(config, 5)
    rows[1] = rows[1] | cells
    return rows


QUESTION = {"text": "q", "is_misleading": False, "distractor": None, "ground_truth_answer": "a"}
DAMAGES = {
    "an empty cell": ("conditional_facts_easy", {"condition": " "}, "field 'condition': found an empty cell, expected a text"),
    "a foreign label": ("conditional_facts_hard", {"condition_met": "Yes"}, "'condition_met': found 'Yes', expected one of yes, no"),
    "two essays": ("conditional_facts_easy", {"entity_facts": ["a", "b"]}, "'entity_facts': found 2 items, expected 1"),
    "no list": ("conditional_facts_easy", {"entity_facts": "['x']"}, "'entity_facts': found .*expected a JSON list"),
    "another JSON": ("coexisting_facts", {"preferences": '"tea"'}, "'preferences': found .*expected a JSON list of texts"),
    "an empty item": ("coexisting_facts", {"preference_facts": ["a", ""]}, "'preference_facts': found the item .*not empty"),
    "too few facts": ("coexisting_facts", {"preferences": ["a", "b", "c"], "preference_facts": ["a", "b"]}, "'preference_facts': found 2 items, expected 3"),
    "too many preferences": ("coexisting_facts", {"preferences": [*"abcdef"]}, "'preferences': found 6 items, expected 2 to 5"),
    "a preference twice": ("coexisting_facts", {"preferences": ["a", "a"], "preference_facts": ["b", "c"]}, "'preferences': found a name for a second time"),
    "two questions": ("persona_retrieval", {"questions": [QUESTION, QUESTION]}, "'questions': found 2 items, expected 3"),
    "a word for a flag": ("persona_retrieval", {"questions": [QUESTION | {"is_misleading": "yes"}] * 3}, "'questions.is_misleading': found .*expected true or false"),
    "a number for a flag": ("persona_retrieval", {"questions": [QUESTION | {"is_misleading": 0}] * 3}, "'questions.is_misleading': found 0, expected true or false"),
    "a missing field": ("persona_retrieval", {"questions": [{"text": "q"}] * 3}, "'questions.is_misleading': found nothing"),
    "an empty question": ("persona_retrieval", {"questions": [QUESTION | {"text": ""}] * 3}, "'questions.text': found an empty text"),
    "a distractor too many": ("persona_retrieval", {"questions": [QUESTION | {"distractor": "Z"}] * 3}, "'questions.distractor': found 'Z', expected a name in misleading questions alone"),
    "a text for an object": ("persona_retrieval", {"questions": ["q"] * 3}, "'questions': found the item .*expected objects"),
    "four hops": ("long_hop", {"hop_count": 4}, "'hop_count': found '4', expected 1, 2 or 3"),
    "a fact too few": ("long_hop", {"fact_2": None}, "'fact_2': found an empty cell, expected 2 of fact_1"),
    "an anchor too many": ("long_hop", {"chain_4": "x"}, "'chain_4': found a text, expected 3 of chain_1"),
    "a foreign letter": ("long_hop", {"correct_choice": "F"}, "'correct_choice': found 'F', expected one of A, B, C, D, E"),
    "another true option": ("long_hop", {"ground_truth_answer": "x"}, "'correct_choice': found .*expected the true answer 'x'"),
    "no options": ("long_hop", {"graded_question": "x"}, "'graded_question': found 'x', expected the stem"),
    "another option in the text": ("long_hop", {"choice_a": "x", "correct_choice": "E"}, "'graded_question': found .*and the choices by letter"),
    "an id twice": ("long_hop", {"id": "longhop-1hop-001"}, "'id': found 'longhop-1hop-001' of row 0 again, expected rows that differ"),
    "a row twice": ("coexisting_facts", make_rows("coexisting_facts", 5)[0], "'all': found the cells of row 0 again, expected rows that differ"),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cell_is_named(tmp_path, damage):
    config, cells, message = DAMAGES[damage]
    path = write_csv(tmp_path / "rows.csv", config, damaged(config, **cells))
    with pytest.raises(
        BadInput, match=rf"rows\.csv, row 1, field {message}" if "field" not in message else rf"row 1, {message}"
    ):
        read_config(path, config)


def test_a_damaged_file_is_named(tmp_path):
    path = write_csv(tmp_path / "rows.csv", "long_hop", make_rows("long_hop", 5))
    whole = path.read_bytes()
    path.write_bytes(whole + b"\r\n\r\n")
    assert len(read_config(path, "long_hop")) == 5  # empty lines are no rows
    within_a_cell = whole.rindex(b"Options:")
    for content, message in (
        (whole[:within_a_cell], "not CSV, or truncated within a quoted cell"),
        (whole + b"x,y\r\n", "row 5: found 2 cells, expected 19"),
        (whole.replace(b"hop_count", b"hops", 1), "column 'hop_count' is missing; found: id, hops, fact_1"),
        (whole.replace(b"longhop", "lönghöp".encode("latin-1"), 1), "not CSV in UTF-8"),
        (whole.split(b"\r\n")[0] + b"\r\n", "no rows below the header"),
        (b"", "column 'id' is missing; found: nothing"),
    ):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=rf"rows\.csv.*{message}"):
            read_config(path, "long_hop")


FETCH = """
from epbench.memfail.dataset.csv_rows import read_config
from epbench.memfail.dataset.sources import file_of, open_source
import json
source = open_source("hub")
print(json.dumps([source.name, read_config(file_of(source, "long_hop"), "long_hop")]))
"""


def fetched(tmp_path, url):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    ours = {"HF_ENDPOINT": url, "HF_HOME": str(tmp_path / "home"), "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
    return subprocess.run([sys.executable, "-c", FETCH], env=clean | ours, capture_output=True, text=True, timeout=120)


def test_rows_come_from_the_hub(tmp_path):
    rows = make_rows("long_hop", 5)
    write_published(tmp_path / "repo", {"long_hop": rows})
    repo = Repo({"type": "dataset", "organization": "ishirgarg", "name": "MemFail"})
    repo.commits.append(
        {PATHS["long_hop"]: (tmp_path / "repo" / PATHS["long_hop"]).read_bytes(), "model.bin": b"no rows"}
    )
    with HubDouble() as hub:
        hub.repos["datasets", "ishirgarg/MemFail"] = repo
        done = fetched(tmp_path, hub.url)
        assert done.returncode == 0, done.stderr
        name, found = json.loads(done.stdout)
        assert found == rows and repo.sha(1) in name
        assert not any("model.bin" in request for request in hub.requests)


def test_a_hub_that_does_not_answer_is_one_clear_error(monkeypatch):
    import huggingface_hub

    def refuse(*args, **options):
        raise huggingface_hub.errors.LocalEntryNotFoundError("cannot be reached")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(RunFailed, match="ishirgarg/MemFail did not come from the Hub: .*give its folder as --source"):
        open_source("hub")


def test_a_source_names_no_path_of_this_machine(tmp_path):
    assert open_source(str(tmp_path)) == Source(f"the folder `{tmp_path.name}`", tmp_path)
