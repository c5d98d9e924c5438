"""Files that would unpack to far more than their size are refused before that, with a line that states the limit."""

import io
import json
import tracemalloc
import zipfile
from contextlib import nullcontext

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from epbench import BadInput
from epbench.files.typed import fields
from epbench.hub import rows as stored
from epbench.tulving.judging import own_answers as answers_file
from epbench.tulving.judging.own_answers import read_answers
from epbench.tulving.released import archive
from epbench.tulving.released.archive import Files
from tests.refusals import refusal
from tests.torture.archives import zipped

COLUMN = fields({"x": str})


def zip_of(path, **entries):
    path.write_bytes(zipped(entries.items()))
    return path


def table(rows, value="x", as_text=True):
    """Return a table of equal rows, which Parquet stores once and reads back as strings or as references to one string."""
    content = io.BytesIO()
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows), pa.array([value]))
    pq.write_table(pa.table({"x": column}), content, store_schema=not as_text)
    return content.getvalue()


@pytest.mark.slow
def test_a_bomb_of_a_gigabyte_is_refused_in_little_memory(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as file, file.open("a", "w") as entry:
        for _ in range(64):
            entry.write(bytes(2**24))
    files = Files(tmp_path / "bomb.zip")
    tracemalloc.start()
    try:
        assert "entry a: expected at most 67,108,864 bytes, found more" in refusal(files.read, "a")
        assert tracemalloc.get_traced_memory()[1] < 2**28
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [0, 5, 10_000])
def test_the_size_in_a_header_is_not_believed(tmp_path, monkeypatch, size):
    """The header gives a wrong size for an entry of 100,000 bytes: the entry is refused, and never read completely."""
    monkeypatch.setattr(archive, "MAX_FILE_BYTES", 9_999)
    content = bytearray(zip_of(tmp_path / "a.zip", a=bytes(100_000)).read_bytes())
    at = content.find(b"PK\1\2") + 24
    content[at : at + 4] = size.to_bytes(4, "little")
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(BadInput, match=r"entry a: (damaged \(Bad CRC-32|expected at most 9,999 bytes)"):
        Files(tmp_path / "a.zip").read("a")
    for text, said in (("[1, 2, 3]", ""), ("[" + "1, " * 5_000 + "4]", r"a\.json: expected at most 9,999 bytes")):
        (tmp_path / "a.json").write_text(text)  # in a folder, too
        with pytest.raises(BadInput, match=said) if said else nullcontext():
            Files(tmp_path).json("a.json", list)


def test_a_zip_with_too_many_entries(tmp_path, monkeypatch):
    path = zip_of(tmp_path / "a.zip", **{str(i): "" for i in range(30)})
    assert len(Files(path).paths) == 30
    monkeypatch.setattr(archive, "MAX_FILES", 29)
    assert "expected at most 29 entries, found 30" in refusal(Files, path)
    monkeypatch.setattr(archive, "MAX_LISTING_BYTES", 1000)  # the list is not even read
    assert "list of entries has more than 1,000 bytes" in refusal(Files, path)


@pytest.mark.slow
def test_a_table_with_too_many_equal_rows_or_that_unpacks_to_more_than_the_memory(tmp_path):
    rows = zip_of(tmp_path / "rows.zip", t=table(3_000_000))
    assert rows.stat().st_size < 100_000
    assert "entry t: expected at most 1,000,000 rows, found 3,000,000" in refusal(Files(rows).table, "t", COLUMN)
    for as_text in (True, False):
        path = zip_of(tmp_path / f"{as_text}.zip", t=table(5_000, "x" * 1_000_000, as_text))  # 5 GB
        assert "entry t: its rows unfold to more than 268,435,456 bytes" in refusal(Files(path).table, "t", COLUMN)


def test_a_dataset_folder_has_limits_too(tmp_path, monkeypatch):
    (tmp_path / "qa").mkdir()
    (tmp_path / "qa/test-0.parquet").write_bytes(table(2_000, "x" * 1000))
    assert len(list(stored.stored_rows(str(tmp_path), "qa", "test"))) == 2_000
    monkeypatch.setattr(stored, "MAX_BYTES", 1_000_000)
    with pytest.raises(BadInput, match=r"test-0\.parquet: its rows unfold to more than 1,000,000 bytes"):
        list(stored.stored_rows(str(tmp_path), "qa", "test", stored.MAX_BYTES))
    monkeypatch.setattr(stored, "MAX_ROWS", 1999)
    with pytest.raises(BadInput, match=r"test-0\.parquet: expected at most 1,999 rows, found 2,000"):
        list(stored.stored_rows(str(tmp_path), "qa", "test"))


def test_an_answer_and_a_line_of_answers_have_a_limit(tmp_path):
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"id": "a", "answer": "x" * answers_file.MAX_ANSWER}) + "\n")
    assert len(read_answers(path, ["a"]).answers["a"]) == 1_000_000
    path.write_text('{"id": "b", "answer": "y"}\n' + json.dumps({"id": "a", "answer": "x" * 1_000_001}))
    with pytest.raises(
        BadInput, match="line 2, field 'answer': expected at most 1,000,000 characters, found 1,000,001"
    ):
        read_answers(path, ["a", "b"])
    path.write_text(json.dumps({"id": "a", "answer": "x" * 10_000_000}))
    assert "line 1: expected at most 8,000,000 bytes" in refusal(read_answers, path, ["a"])
