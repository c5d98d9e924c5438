"""Who stands in a row: read from run.json of own runs, and from the names of released runs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from epbench.reports.exhibit import slug
from epbench.reports.reported import ReportedRow
from epbench.tulving.paper.inputs import Inputs, by_book, lines_of, parts_of, read_runs, runs_among
from tests.tulving.paper.given_runs import CLAUDE_BOOK, GPT_BOOK


def test_released_runs_are_known_by_their_names(lines):
    released = [line for line in lines if line.source == "released"]
    gpt, haiku, mini = "gpt-4o-2024-08-06", "claude-3-haiku-20240307", "gpt-4o-mini-2024-07-18"
    passages = {("rag-paragraph", gpt), ("rag-chapter", gpt)}
    whole = {("in-context", gpt), ("in-context", haiku)}
    assert {(line.memory, line.model) for line in released} == whole | passages | {("fine-tuned", mini)}
    assert {line.text for line in released} == {GPT_BOOK, CLAUDE_BOOK}
    writers = "gpt-4o-2024-05-13", "claude-3-5-sonnet-20240620"
    assert {line.judge for line in released} == {f"{writer} (as released)" for writer in writers}


def test_own_runs_are_known_by_their_run_json(lines):
    own = [line for line in lines if line.source == "own"]
    memories = {"whole": "in-context", "chapters": "rag-chapter", "lossy": "rag-paragraph"}
    assert {line.label: line.memory for line in own} == memories
    assert {(line.model, line.judge) for line in own} == {("made", "lexical")}
    assert {line.writer for line in own} == {"template"} and {line.text for line in own} == {"short (ffffffff)"}


def test_a_model_that_openai_has_tuned_is_fine_tuned_memory(given, tmp_path):
    memories = {}
    for name, model, memory in (
        ("tuned", "openai:ft:gpt-4o-mini-2024-07-18:me::a1b2", "none"),
        ("plain", "openai:gpt-4o-mini-2024-07-18", "none"),
        ("read", "openai:ft:gpt-4o-mini-2024-07-18:me::a1b2", "in-context"),
    ):
        folder = Path(shutil.copytree(given.inputs.runs[0].folder, tmp_path / name))
        run = json.loads((folder / "run.json").read_text("utf-8"))
        run["identity"] |= {"model": model, "memory": memory}
        (folder / "run.json").write_text(json.dumps(run))
        (line,) = read_runs([folder])
        memories[name] = line.memory
    assert memories == {"tuned": "fine-tuned", "plain": "none", "read": "in-context"}


def test_rows_are_ordered_by_memory_and_own_ones_come_first(lines):
    memories = [line.memory for line in lines]
    assert memories == sorted(memories, key=["in-context", "rag-paragraph", "rag-chapter", "fine-tuned"].index)
    assert next(line.source for line in lines) == "own"


def test_no_two_runs_have_one_file_name(given, lines):
    assert len({slug(line.label) for line in lines}) == len(lines)
    run = given.inputs.runs[0]
    same = [replace(run, label="a b"), replace(run, label="a-b"), replace(run, label="A B", book="long")]
    labels = [line.label for line in lines_of(Inputs(same))]
    assert len({slug(label) for label in labels}) == 3 and "A B on long" in labels


def test_a_reported_row_may_name_the_writer_of_its_book():
    row = ReportedRow("A paper", "Table 20", "short by gpt-4o", "m", "in-context", {}, {}, {}, {})
    (line,) = lines_of(Inputs([], [row]))
    assert (line.book, line.writer, line.text, line.source) == ("short", "gpt-4o", "short by gpt-4o", "reported")
    assert runs_among([line]) == [] and by_book([line]) == {}


NAMES = {
    "short": ("short", "default", ""),
    "very-long": ("very-long", "default", ""),
    "news-short": ("short", "news", ""),
    "news-very-long": ("very-long", "news", ""),
    "my-town-long-ordered": ("long", "my-town", "-ordered"),
    "long-l3": ("long", "default", "-l3"),
    "own": ("", "default", "own"),
}


@pytest.mark.parametrize("book", NAMES)
def test_names_of_books(book):
    assert parts_of(book) == NAMES[book]


def test_an_own_run_on_a_published_book_knows_its_writer(given):
    published = next(run for run in given.inputs.runs if run.source == "released")
    own = replace(given.inputs.runs[0], fingerprint=published.fingerprint, folder=published.folder)
    found = lines_of(Inputs([own, *given.inputs.runs]))
    (line,) = [line for line in found if line.source == "own" and line.fingerprint == own.fingerprint]
    assert line.writer == "gpt-4o-2024-05-13" and line.text == GPT_BOOK
