"""The config `book` in rows that the Hub's viewer shows, and eval.yaml beside it."""

from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from hypothesis import given
from hypothesis import strategies as st

from epbench.interop.eval_results import write_eval_results
from epbench.tulving.dataset import schema
from epbench.tulving.dataset.load import load_book
from epbench.tulving.dataset.schema import book_parts
from tests.refusals import refusal
from tests.scripts.in_process import script

LINES = st.lists(st.text(st.sampled_from("ab \n"), max_size=30), max_size=30)


@given(LINES, st.integers(1, 60))
def test_parts_are_short_enough_and_give_the_text_again(lines, most):
    text = "\n\n".join(lines)
    parts = book_parts(text, most)
    assert "".join(parts) == text
    assert all(len(part) <= most for part in parts) and all(parts[:-1])


def test_a_part_ends_after_a_blank_line():
    assert book_parts("one one\n\ntwo\n\nthree", 12) == ["one one\n\n", "two\n\nthree"]


def built(folder):
    """The folder of a book of six chapters."""
    assert script("builders/tulving.py", "--book", "short", "--events", 6, "--out", folder).returncode == 0
    return folder / "short"


def test_a_book_in_several_rows_is_the_same_book(tmp_path, monkeypatch):
    whole = load_book(str(built(tmp_path / "whole")))
    monkeypatch.setattr(schema, "book_parts", partial(book_parts, most=4000))
    parts = load_book(str(built(tmp_path / "parts")))
    assert (parts.book, parts.fingerprint, parts.chapters) == (whole.book, whole.fingerprint, whole.chapters)
    card = (tmp_path / "parts/short/README.md").read_text("utf-8")
    assert "joined, their texts are the book" in card


def test_a_chapter_that_occurs_twice_is_refused(tmp_path):
    (file,) = (built(tmp_path) / "chapters").glob("*.parquet")
    table = pq.read_table(file)
    pq.write_table(pa.concat_tables([table, table.slice(2, 1)]), file)
    refused = refusal(load_book, str(tmp_path / "short"))
    assert "config 'chapters', field 'chapter': expected distinct numbers, found 3 twice" in refused


def test_the_tasks_of_a_dataset_are_the_scores_that_are_exported(tmp_path, monkeypatch):
    listed = yaml.safe_load((built(tmp_path) / "eval.yaml").read_text("utf-8"))
    run = ("eval_scripts/tulving.py", "--dataset", tmp_path / "short", "--memory", "none", "--out", tmp_path / "run")
    assert script(*run).returncode == 0
    monkeypatch.setattr("epbench.interop.eval_results._hub_dataset", lambda where, described: "epbench/short")
    monkeypatch.setattr("epbench.interop.eval_results._check_model", lambda where, model, repo: None)
    address = "https://huggingface.co/datasets/lab/run"
    written = write_eval_results(tmp_path / "run", "lab/model", tmp_path / "page", address)
    entries = yaml.safe_load(written.read_text("utf-8"))
    assert {entry["dataset"]["task_id"] for entry in entries} <= {task["id"] for task in listed["tasks"]}
    assert {entry["source"]["url"] for entry in entries} == {address}
