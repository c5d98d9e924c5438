"""JSON, CSV and errors of writing: what is read can be written, and what cannot be read or written is named."""

import json

import pytest
from datasets import Features, Value
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench import BadInput
from epbench.booksort.context.prompts import load_prompts
from epbench.files.prompt_packs import load_pack
from epbench.files.text import parse_json, read_csv, shown
from epbench.files.writing import write_text
from epbench.hub.card import header_of
from epbench.hub.dataset_folder import Config, write_dataset
from epbench.models.estimate import read_prices
from epbench.models.load import Options
from tests.full_disk import full_disk
from tests.refusals import refusal


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d"', "\ufffd"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        (r'{"\udc00": ["\uD800x"]}', {"\ufffd": ["\ufffdx"]}),
        ('"\\\\ud83d"', "\\ud83d"),
    ],
)
def test_half_a_surrogate_pair_is_replaced(text, value):
    assert parse_json(text) == parse_json(text.encode()) == parse_json(text.encode("utf-16")) == value


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe\x00", b'"\xe9"', b'"\xed\xa0\xbd"', b"[" * 100_000, b"9" * 5_000, b'["\\ud83d",' * 990]
)  # fmt: skip
def test_what_is_no_json_is_one_short_line(content):
    with pytest.raises(ValueError) as error:
        parse_json(content)
    assert "\n" not in str(error.value) and len(str(error.value)) < 300


@settings(deadline=None)
@given(st.binary() | st.text().map(lambda text: json.dumps(text).encode()))
def test_bytes_give_a_value_or_a_value_error(content):
    try:
        value = parse_json(content)
    except ValueError:
        return
    json.dumps(value, ensure_ascii=False).encode()


def test_a_long_or_deep_value_is_shown_short():
    deep = [[[[[[["x"]]]]]]]
    assert len(shown("x" * 10**6)) < 100 and len(shown(10**4000)) < 100 and len(shown(deep)) < 100
    assert len(shown([["x" * 1000] * 1000] * 1000)) < 5000


CSV_FAULTS = {
    "a missing column": (b"a\n1\n", "column 'b' is missing; found: a"),
    "a column twice": (b"a,b,a\n1,2,3\n", "column 'a' found 2 times in the header, expected once"),
    "too few cells": (b"a,b\n1,2\n1\n", "row 1: found 1 cells, expected 2"),
    "a zero byte": (b"a,b\n1,2\n1,\0\n", "row 1, field 'b': found a zero byte, expected text"),
    "a quote that is not closed": (b'a,b\n1,"2\n', "truncated within a quoted cell"),
    "Latin-1": (b"a,b\n1,\xe9\n", "not CSV in UTF-8 ('utf-8' codec can't decode byte 0xe9"),
    "a huge cell": (b"a,b\n1," + b"x" * (16 * 2**20 + 1) + b"\n", "field larger than field limit"),
}


@pytest.mark.parametrize("fault", CSV_FAULTS)
def test_a_damaged_csv_file_is_named(tmp_path, fault):
    content, message = CSV_FAULTS[fault]
    (tmp_path / "a.csv").write_bytes(content)
    said = refusal(list, read_csv(tmp_path / "a.csv", ("a", "b")))
    assert said.startswith(f"{tmp_path / 'a.csv'}") and message in said


def test_a_csv_file_with_a_mark_more_columns_and_long_cells_is_read(tmp_path):
    long = "x" * 200_000  # more than the module csv takes by itself
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbfb,c,a\n"1\n2",,' + long.encode() + b"\n\n")
    assert list(read_csv(tmp_path / "a.csv", ("a", "b"))) == [{"b": "1\n2", "c": "", "a": long}]
    assert "expected a CSV file that can be read" in refusal(list, read_csv(tmp_path, ()))


@settings(deadline=None)
@given(st.binary(max_size=60) | st.text('ab,"\n\r\0\ufeff', max_size=60).map(str.encode))
def test_no_bytes_make_a_csv_file_fail_otherwise(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(content)
    try:
        list(read_csv(path, ("a",)))
    except BadInput as error:
        assert str(error).startswith(str(path))


def write_long_text(out):
    write_text(out / "run.json", "x" * 100_000)


def write_long_table(out):
    rows = {"x": [str(hash(str(i))) for i in range(30_000)]}
    write_dataset(out, [Config("one", "test", Features({"x": Value("string")}), rows)], "card")


@pytest.mark.parametrize(
    ("write", "file"), [(write_long_text, "run.json"), (write_long_table, "one/test-00000-of-00001.parquet")]
)
def test_a_file_that_cannot_be_written_whole_is_named(tmp_path, write, file):
    with full_disk(20_000), pytest.raises(OSError, match="File too large") as error:
        write(tmp_path / "out")
    assert error.value.filename == str(tmp_path / "out" / file)


@pytest.mark.parametrize(
    ("load", "name", "text"),
    [
        (lambda path: load_pack(path, Options, {}), "pack.toml", "a = " + "[" * 100_000),
        (lambda path: load_pack(path, Options, {}), "pack.toml", "#" * 1_000_001),
        (load_prompts, "p1.yaml", "[" * 1_000),
        (read_prices, "prices.json", "[" * 100_000),
        (lambda path: header_of(path.parent), "README.md", "-" * 1_000_001),
    ],
)
def test_settings_that_are_nested_without_end_or_far_too_large_are_refused(tmp_path, load, name, text):
    (tmp_path / name).write_text(text)
    assert f"{name}: " in refusal(load, tmp_path / name)
