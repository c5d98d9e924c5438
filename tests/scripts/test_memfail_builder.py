"""The builder of MemFail's tables as a user runs it."""

import json
import re
from pathlib import Path

import pytest

from epbench.memfail.dataset.schema import complete, features_of
from epbench.memfail.dataset.types import CONFIGS
from epbench.memfail.templates.rows import make_rows
from tests.conftest import ROOT
from tests.hub.hub_double import HubDouble, Repo
from tests.memfail.published_csv import PATHS, write_published


@pytest.fixture(scope="module")
def made(script, tmp_path_factory):
    """The default dataset."""
    out = tmp_path_factory.mktemp("memfail")
    done = script("builders/memfail.py", "--out", out)
    assert done.returncode == 0, done.stderr
    return out / "memfail", done.stdout


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    tables = {name: make_rows(name, 6, seed=1) for name in CONFIGS}
    return write_published(tmp_path_factory.mktemp("reference") / "datasets", tables)


def refused(done, message, status=2):
    assert done.returncode == status, (done.returncode, done.stderr)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1 and lines[0].startswith("error: ") and message in lines[0], done.stderr


def files_of(folder: Path):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_config_loads(made):
    from datasets import load_dataset

    folder, shown = made
    assert set(files_of(folder)) == {
        "README.md",
        "validation.json",
        *(f"{c}/test-00000-of-00001.parquet" for c in CONFIGS),
    }
    for config in CONFIGS:
        dataset = load_dataset(str(folder), config, split="test")
        assert dataset.features == features_of(config) and len(dataset) == 100 and config in shown
        assert dataset.to_list() == complete(config, make_rows(config, 100, 0))
    assert load_dataset(str(folder), split="test")[0]["id"] == "easy-000"


def test_the_report_beside_the_card_is_that_of_the_rows(made):
    report = json.loads((made[0] / "validation.json").read_text())
    assert list(report) == list(CONFIGS)
    assert report["persona_retrieval"]["misleading"] == 150 and report["long_hop"]["rows"] == 100
    assert "tokens_per_row" not in report["long_hop"]


def test_the_same_command_writes_the_same_bytes(script, made, tmp_path):
    assert script("builders/memfail.py", "--rows", 100, "--seed", 0, "--out", tmp_path).returncode == 0
    assert files_of(tmp_path / "memfail") == files_of(made[0])


def test_the_published_card_is_that_of_the_default_rows(made):
    cards = (ROOT / "dataset_cards/memfail/README.md", made[0] / "README.md")
    kept, written = (re.sub(r"num_bytes: \d+", "", card.read_text("utf-8")) for card in cards)
    assert kept == written, "run `make cards`"  # bytes in memory depend on the version of pyarrow


def test_rows_and_seed_and_configs_can_be_chosen(script, tmp_path):
    chosen = ["--rows", "30", "--seed", "7", "--config", "persona_retrieval", "long_hop"]
    done = script("builders/memfail.py", *chosen, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "memfail"
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == ["long_hop", "persona_retrieval"]
    assert f"`python builders/memfail.py {' '.join(chosen)}`" in (folder / "README.md").read_text()


def test_harder_rows_are_built_reproducibly(script, tmp_path):
    from datasets import load_dataset

    done = script("builders/memfail.py", "--hard", "--rows", "12", "--seed", "3", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "memfail"
    card = (folder / "README.md").read_text()
    assert "`python builders/memfail.py --rows 12 --seed 3 --hard`" in card and "cannot infer" in card
    shortcuts = {
        name: found["shortcuts"] for name, found in json.loads((folder / "validation.json").read_text()).items()
    }
    for config in CONFIGS:
        rows = load_dataset(str(folder), config, split="test").to_list()
        assert rows == complete(config, make_rows(config, 12, 3, harder=True))
        (shown,) = re.findall(rf"{config} +(\d\.\d\d) +(\d\.\d\d)(?: +(\d\.\d\d))?\s*$", done.stdout, re.MULTILINE)
        assert [*filter(None, shown)] == [f"{score:.2f}" for score in shortcuts[config].values()]


def test_published_files_are_converted(script, published, tmp_path):
    from datasets import load_dataset

    done = script("builders/memfail.py", "--source", published, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    card = (tmp_path / "memfail/README.md").read_text()
    assert "license: unknown" in card and "the folder `datasets`" in card and str(tmp_path.parent) not in card
    for config in CONFIGS:
        expected = complete(config, make_rows(config, 6, seed=1))
        assert load_dataset(str(tmp_path / "memfail"), config, split="test").to_list() == expected


def test_converted_rows_go_to_the_cache_and_not_to_the_hub(script, published, tmp_path):
    assert (
        script("builders/memfail.py", "--source", published, "--config", "long_hop", "--out", tmp_path).returncode == 0
    )
    folder = tmp_path / "memfail"
    refused(script("builders/publish.py", folder, "--to", "hub"), "README.md, field 'license': expected the licence")
    home = {"HF_HOME": str(tmp_path / "home")}
    assert script("builders/publish.py", folder, "--to", "cache", **home).returncode == 0
    assert (tmp_path / "home/datasets/epbench___memfail/long_hop").is_dir()


def test_rows_come_from_the_hub(script, published, tmp_path):
    repo = Repo({"type": "dataset", "organization": "ishirgarg", "name": "MemFail"})
    repo.commits.append({path: (published / path).read_bytes() for path in PATHS.values()})
    with HubDouble() as hub:
        hub.repos["datasets", "ishirgarg/MemFail"] = repo
        env = {
            "HF_HUB_OFFLINE": "0",
            "HF_ENDPOINT": hub.url,
            "HF_HOME": str(tmp_path / "home"),
            "HF_HUB_DISABLE_XET": "1",
            "NO_PROXY": "127.0.0.1",
        }
        done = script("builders/memfail.py", "--source", "hub", "--out", tmp_path, **env)
        assert done.returncode == 0, done.stderr
        assert (
            f"`ishirgarg/MemFail` on the Hub, revision `{repo.sha(1)}`" in (tmp_path / "memfail/README.md").read_text()
        )
        del hub.repos["datasets", "ishirgarg/MemFail"]
        done = script(
            "builders/memfail.py", "--source", "hub", "--out", tmp_path, **env | {"HF_HOME": str(tmp_path / "other")}
        )
        refused(done, "ishirgarg/MemFail could not be downloaded from the Hub", status=1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--config", "easy"], "--config: expected one of conditional_facts_easy"),
        (["--source", "hf:some/model"], "--source: expected template, hub or a folder, got 'hf:some/model'"),
        (["--source", "nowhere"], "--source: expected template, hub or a folder, got 'nowhere'"),
        (["--source", ".", "--rows", "5"], "--rows and --seed work only with --source template"),
        (["--source", ".", "--hard"], "--hard works only with --source template"),
        (["--rows", "0"], "rows: expected at least 1, got 0"),
        (["--rows", "3"], "rows: expected at least 5 for long_hop"),
        (["--rows", "5000"], "are needed, but the lists give only"),
        (["--rows", "many"], "invalid int value"),
    ],
)
def test_bad_input_is_one_line(script, tmp_path, args, message):
    refused(script("builders/memfail.py", *args, "--out", tmp_path), message)
    assert not (tmp_path / "memfail").exists()


def test_a_damaged_file_leaves_no_dataset(script, published, tmp_path):
    path = tmp_path / "rows" / PATHS["coexisting_facts"]
    path.parent.mkdir(parents=True)
    path.write_bytes((published / PATHS["coexisting_facts"]).read_bytes().replace(b"[", b"(", 1))
    args = ["--source", tmp_path / "rows", "--config", "coexisting_facts", "--out", tmp_path]
    refused(
        script("builders/memfail.py", *args),
        "coexisting_facts_dataset.csv, row 0, field 'preferences': expected a JSON list",
    )
    assert not (tmp_path / "memfail").exists()


def test_another_folder_is_not_replaced(script, tmp_path):
    (tmp_path / "memfail").mkdir()
    (tmp_path / "memfail/notes.txt").write_text("mine")
    refused(script("builders/memfail.py", "--out", tmp_path), "exists and is not a dataset folder")


def test_tokens_need_their_encoding(script, tmp_path):
    blocked = {
        "TIKTOKEN_CACHE_DIR": str(tmp_path / "none"),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }
    done = script("builders/memfail.py", "--tokens", "--config", "long_hop", "--out", tmp_path, **blocked)
    refused(done, "the encoding cl100k_base is not available")
