"""All cards of datasets at once: they parse, are those that the code writes, and say what is in the files."""

import json
import re

import pyarrow.parquet as pq
import pytest
import yaml
from datasets import Features

from epbench.hub.card import VERSION, card, header_of
from epbench.hub.dataset_folder import CANARY, CROISSANT_FILE, FIELDS
from tests.conftest import NINE_TEXTS
from tests.hub.test_dataset_folder import CONFIGS
from tests.scripts.in_process import ROOT, ran
from tests.scripts.run_files import without_bytes

CARDS = {path.parent.name: path for path in sorted((ROOT / "dataset_cards").glob("*/README.md"))}
BOOKS = {"short", "long", "very-long", "short-ordered", "long-ordered"}
BOOKS |= {f"{universe}-{book}" for universe in ("news", "scifi") for book in ("short", "long")}
BOOKS |= {f"long-l{level}" for level in (2, 3, 4, 5)}
FROM_ARCHIVE = {"short-gpt-4o", "long-gpt-4o"}
"""Published books that another model wrote. Their texts are not at hand, so their cards lack sizes and no command writes them."""
PAPERS = {"booksort": "2410.08133", "memfail": "2605.26667"} | dict.fromkeys(BOOKS | FROM_ARCHIVE, "2501.13121")


def parts(card):
    """The header and the Markdown."""
    _, header, text = card.read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(header), text


def test_there_is_a_card_for_every_published_dataset():
    assert CARDS.keys() == PAPERS.keys()
    assert {path.name for card in CARDS.values() for path in card.parent.iterdir()} == {"README.md"}


MADE = {name: card for name, card in CARDS.items() if name not in FROM_ARCHIVE}


@pytest.mark.parametrize("name", MADE)
def test_the_header_has_what_the_hub_reads(name):
    header, _ = parts(MADE[name])
    told_anew = re.search(r"-l[2-5]$", name) is not None  # the levels have rows of their second version
    assert header["version"] == ("0.2.0" if told_anew else VERSION)
    assert header["language"] == "en" and "epbench" in header["tags"]
    assert header["license"] == ("cc0-1.0" if name == "booksort" else "mit")
    assert header["task_categories"] == ["multiple-choice" if name == "booksort" else "question-answering"]
    configs, infos = header["configs"], header["dataset_info"]
    assert [config["config_name"] for config in configs] == [info["config_name"] for info in infos]
    assert [config.get("default", False) for config in configs] == [True] + [False] * (len(configs) - 1)
    for config, info in zip(configs, infos, strict=True):
        assert [file["split"] for file in config["data_files"]] == [split["name"] for split in info["splits"]]
        for file in config["data_files"]:
            assert file["path"] == f"{config['config_name']}/{file['split']}-*.parquet"
        assert list(Features._from_yaml_list(info["features"]))[-1] == "canary"
    rows = sum(split["num_examples"] for info in infos for split in info["splits"])
    (category,) = header["size_categories"]
    least = {"n<1K": 0, "1K<n<10K": 1_000, "10K<n<100K": 10_000, "100K<n<1M": 100_000}[category]
    assert least <= rows < max(1_000, 10 * least)


@pytest.mark.parametrize("name", CARDS)
def test_the_text_is_well_formed_markdown_with_paper_and_canary(name):
    _, text = parts(CARDS[name])
    fences = [line for line in text.splitlines() if line.startswith("```")]
    assert len(fences) % 2 == 0 and fences.count("```bibtex") == 1
    prose = re.sub(r"(?ms)^```.*?^```$", "", text)
    assert not re.search(r"\{\w*\}", prose), "a placeholder was not filled in"
    assert len(re.findall(r"(?m)^# ", prose)) == 1
    for table in re.findall(r"(?m)(?:^\|.*\n)+", prose):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1, table
    paper = PAPERS[name]
    assert f"[arXiv {paper}](https://arxiv.org/abs/{paper})" in prose
    assert set(re.findall(r"arxiv\.org/abs/([\d.]+\d)", text)) == {paper}
    assert f"```\n{CANARY}\n```" in text
    fields = dict(re.findall(r"(?m)^\| `rai:(\w+)` \| (.+) \|$", text))
    assert fields.keys() == FIELDS.keys() and all(value.strip() for value in fields.values())


@pytest.mark.slow
def test_the_cards_are_those_that_the_code_writes(tmp_path):
    texts = NINE_TEXTS.get("gutenberg")  # tests of its builder compare what the card of made-up texts says
    ran("builders/cards.py", *(["--texts", texts] if texts else []), "--out", tmp_path)
    written = {path.parent.name: without_bytes(path) for path in tmp_path.glob("*/README.md")}
    kept = {name: without_bytes(card) for name, card in MADE.items() if texts or name != "booksort"}
    assert written == kept, "run `make cards`, with TEXTS=DIR for the card of Book-SORT"


@pytest.fixture(scope="module", params=["short", "memfail"])
def built(request, short_book, tmp_path_factory):
    if request.param == "short":
        return short_book
    out = tmp_path_factory.mktemp("built")
    ran("builders/memfail.py", "--out", out)
    return out / "memfail"


def test_a_card_counts_what_is_in_the_files(built):
    header = header_of(ROOT / "dataset_cards" / built.name)
    folders = {path.name for path in built.iterdir() if path.is_dir()}
    assert {info["config_name"] for info in header["dataset_info"]} == folders
    for info in header["dataset_info"]:
        for split in info["splits"]:
            (file,) = (built / info["config_name"]).glob(f"{split['name']}-*.parquet")
            table = pq.read_table(file)
            assert table.num_rows == split["num_examples"]
            assert Features.from_arrow_schema(table.schema) == Features._from_yaml_list(info["features"])
            assert table.nbytes == pytest.approx(split["num_bytes"], rel=0.02)


def test_the_file_for_machines_says_what_the_card_says(built):
    header, text = parts(built / "README.md")
    content = json.loads((built / CROISSANT_FILE).read_text("utf-8"))
    assert content["@type"] == "sc:Dataset" and content["name"] == built.name
    assert "http://mlcommons.org/croissant/RAI/1.0" in content["conformsTo"]
    assert content["@context"]["rai"] == "http://mlcommons.org/croissant/RAI/"
    assert (content["version"], content["license"]) == (header["version"], "https://spdx.org/licenses/MIT")
    fields = {name.removeprefix("rai:"): value for name, value in content.items() if name.startswith("rai:")}
    assert fields.keys() == FIELDS.keys() and fields.pop("dataCollectionType") == ["Others"]
    assert all(f"| `rai:{name}` | {value} |" in text for name, value in fields.items())


def test_a_field_of_responsible_use_is_one_cell_and_the_same_for_machines():
    use = {"dataBiases": "English | only,\n  of one kind.", "dataCollectionType": ["Others", "Document analysis"]}
    made = card(CONFIGS, "# Text", pretty_name="Text", license="unknown", tags=[], responsible_use=use)
    assert "| `rai:dataBiases` | English / only, of one kind. |\n" in made.text
    assert "| `rai:dataCollectionType` | Others, Document analysis |\n" in made.text
    content = json.loads(made.files("mine")[CROISSANT_FILE])
    assert content["rai:dataBiases"] == "English / only, of one kind." and content["license"] == "unknown"
    assert content["rai:dataCollectionType"] == use["dataCollectionType"] and content["name"] == "mine"
    none = card(CONFIGS, "# Text", pretty_name="Text", license="mit", tags=[])
    assert none.files("mine") == {"README.md": none.text} and "rai:" not in none.text


def test_croissants_own_library_reads_the_file_without_an_error(built):
    pytest.importorskip("mlcroissant")
    from mlcroissant import Dataset

    metadata = Dataset(built / CROISSANT_FILE).metadata
    assert not metadata.issues.errors and metadata.data_collection_type == ["Others"]
    assert metadata.data_biases and metadata.data_use_cases and metadata.data_limitations
