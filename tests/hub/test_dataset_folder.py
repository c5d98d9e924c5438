import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from datasets import Features, Value, load_dataset

from epbench import BadInput
from epbench.hub.card import CANARY, card
from epbench.hub.dataset_folder import Config, write_dataset, write_tables
from epbench.hub.install import install_dataset
from epbench.hub.rows import stored_rows

FEATURES = Features({"id": Value("string"), "n": Value("int32")})
CONFIGS = [
    Config("second", "test", FEATURES, {"id": ["a", "b"], "n": [1, 2]}),
    Config("first", "train", FEATURES, {"id": ["c"], "n": [3]}),
]
MARK = {"canary": CANARY}
CARD = card(CONFIGS, "# Text", pretty_name="p", license="mit", tags=["t"])


@pytest.fixture
def folder(tmp_path):
    write_dataset(tmp_path / "name", CONFIGS, CARD)
    return tmp_path / "name"


def test_a_folder_loads_with_its_types_and_the_canary_which_readers_leave_out(folder):
    dataset = load_dataset(str(folder))
    assert dataset["test"].to_list() == [{"id": "a", "n": 1} | MARK, {"id": "b", "n": 2} | MARK]
    assert dataset["test"].features == CONFIGS[0].stored_features
    assert load_dataset(str(folder), "first", split="train").to_list() == [{"id": "c", "n": 3} | MARK]
    assert load_dataset(str(folder), streaming=True)["test"].take(1)
    path = folder / "second/test-00000-of-00001.parquet"
    assert b"huggingface" in pq.read_schema(path).metadata and not list(folder.rglob("name.py"))
    for _ in range(2):  # as it is, and as an earlier version wrote it
        assert [*stored_rows(str(folder), "second", "test")] == [{"id": "a", "n": 1}, {"id": "b", "n": 2}]
        pq.write_table(pq.read_table(path, columns=["id", "n"]), path)


def test_the_card_has_what_the_viewer_needs(tmp_path):
    rows = {"test": ("second", "a", 600), "train": ("first", "b", 600), "validation": ("second", "d", 1)}
    configs = [Config(name, split, FEATURES, {"id": [id_] * n, "n": [4] * n}) for split, (name, id_, n) in rows.items()]
    made = card(configs, "# Text", pretty_name="p", license="mit", tags=[])
    header = yaml.safe_load(made.text.split("---")[1])
    files = [{"split": split, "path": f"{name}/{split}-*.parquet"} for split, (name, *_) in rows.items()]
    assert header["configs"] == [
        {"config_name": "second", "default": True, "data_files": [files[0], files[2]]},
        {"config_name": "first", "data_files": [files[1]]},
    ]
    splits = [{split["name"]: split["num_examples"] for split in info["splits"]} for info in header["dataset_info"]]
    assert splits == [{"test": 600, "validation": 1}, {"train": 600}] and header["size_categories"] == ["1K<n<10K"]
    names = {"id": "string", "n": "int32", "canary": "string"}
    types = [{"name": name, "dtype": kind} for name, kind in names.items()]
    assert all(info["features"] == types for info in header["dataset_info"])
    assert CANARY in made.text

    write_dataset(tmp_path / "name", configs, made, {"manifest.json": "{}"})
    assert load_dataset(str(tmp_path / "name"), "second", split="validation").to_list() == [{"id": "d", "n": 4} | MARK]
    assert {split: len(rows) for split, rows in load_dataset(str(tmp_path / "name")).items()} == splits[0]
    assert {path.name for path in (tmp_path / "name").iterdir() if path.is_file()} == {"README.md", "manifest.json"}


def test_nothing_half_written_remains(folder, tmp_path):
    broken = Config("third", "test", FEATURES, {"id": ["a"], "n": ["no number"]})
    before = sorted(p.name for p in tmp_path.rglob("*"))
    with pytest.raises(Exception, match="no number"):
        write_dataset(folder, [*CONFIGS, broken], CARD)
    with pytest.raises(Exception, match="no number"):
        write_dataset(tmp_path / "other", [broken], CARD)
    assert sorted(p.name for p in tmp_path.rglob("*")) == before


def test_a_canary_for_each_row_takes_hardly_any_space(tmp_path):
    config = Config("first", "test", FEATURES, {"id": [str(i) for i in range(3000)], "n": [*range(3000)]})
    write_tables([config.table], tmp_path / "with.parquet")
    write_tables([config.table.drop_columns(["canary"])], tmp_path / "without.parquet")
    sizes = [(tmp_path / f"{name}.parquet").stat().st_size for name in ("with", "without")]
    assert sizes[0] - sizes[1] < 2000 < 3000 * len(CANARY)


def test_the_files_have_a_page_index_and_pages_that_follow_the_content(tmp_path):
    ids = [f"{i:0200}" for i in range(0, 60_000, 7)]
    for file, each in ((tmp_path / "whole.parquet", ids), (tmp_path / "shorter.parquet", ids[5:])):
        write_tables([Config("first", "test", FEATURES, {"id": each, "n": [0] * len(each)}).table], file)
        column = pq.ParquetFile(file).metadata.row_group(0).column(0)
        assert column.has_column_index and column.has_offset_index


def test_a_whole_book_in_one_row_has_no_statistics(tmp_path):
    """They would be its text twice more, in the file's index and in memory."""
    features = Features({"text": Value("large_string")})
    for rows in (["a whole book"], ["a whole book", "another"]):
        file = tmp_path / "set" / "books" / "test-00000-of-00001.parquet"
        write_dataset(tmp_path / "set", [Config("books", "test", features, {"text": rows})], "card")
        assert pq.ParquetFile(file).metadata.row_group(0).column(0).is_stats_set == (len(rows) > 1)
        assert pq.read_table(file).column("text").to_pylist() == rows


def test_a_dictionary_is_written_as_it_is_and_read_as_texts(tmp_path):
    """Each row group has the texts of its own rows, once; a reader sees texts and no dictionary."""
    texts = [random.Random(seed).randbytes(2_000).hex() for seed in range(150)]
    which = [row // 20 for row in range(3000)]
    column = pa.DictionaryArray.from_arrays(pa.array(which), pa.array(texts))
    config = Config("first", "test", FEATURES, {"id": column, "n": list(range(3000))})
    write_dataset(tmp_path / "name", [config], CARD)
    path = tmp_path / "name/first/test-00000-of-00001.parquet"
    stored = pq.read_table(path)
    assert stored.schema.equals(config.stored_features.arrow_schema, check_metadata=True)
    assert stored.equals(config.table)
    groups = [pq.ParquetFile(path).metadata.row_group(at).column(0) for at in range(3)]
    # 50 of 150 texts of 4,000 letters
    assert all(200_000 < group.total_uncompressed_size < 210_000 for group in groups)


@pytest.mark.parametrize("header", ["a: [", "- a\n- b", "configs: 3", "configs: []"])
def test_a_card_whose_header_is_not_one_or_has_no_default_is_said_in_one_line(folder, header):
    (folder / "README.md").write_text(f"---\n{header}\n---\n\n# Text\n")
    said = "expected a header|field 'configs': expected a list|no config is marked 'default: true'"
    with pytest.raises(BadInput, match=rf"README\.md.*({said})"):
        install_dataset(folder)
