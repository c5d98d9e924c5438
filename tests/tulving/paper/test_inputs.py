"""Who stands in a row: read from run.json of own runs, and from the names of released runs."""

from dataclasses import replace

import pytest

from epbench.reports.exhibit import slug
from epbench.reports.reported import ReportedRow
from epbench.tulving.paper.inputs import Inputs, by_book, is_plain, lines_of, runs_among, size_of, universe_of
from tests.tulving.paper.given_runs import CLAUDE_BOOK, GPT_BOOK


def test_released_runs_are_known_by_their_names(lines):
    found = {(line.memory, line.model) for line in lines if line.source == "released"}
    assert found == {
        ("in-context", "gpt-4o-2024-08-06"), ("in-context", "claude-3-haiku-20240307"), ("rag-paragraph", "gpt-4o-2024-08-06"),
        ("rag-chapter", "gpt-4o-2024-08-06"), ("fine-tuned", "gpt-4o-mini-2024-07-18"),
    }  # fmt: skip
    assert {line.text for line in lines if line.source == "released"} == {GPT_BOOK, CLAUDE_BOOK}
    assert {line.judge for line in lines if line.source == "released"} == {
        "gpt-4o-2024-05-13 (as released)", "claude-3-5-sonnet-20240620 (as released)"
    }  # fmt: skip


def test_own_runs_are_known_by_their_run_json(lines):
    own = [line for line in lines if line.source == "own"]
    assert {(line.label, line.memory, line.model, line.judge) for line in own} == {
        ("whole", "in-context", "made", "lexical"), ("chapters", "rag-chapter", "made", "lexical"),
        ("lossy", "rag-paragraph", "made", "lexical"),
    }  # fmt: skip
    assert {line.writer for line in own} == {"template"} and {line.text for line in own} == {"short (ffffffff)"}


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


@pytest.mark.parametrize(
    ("book", "size", "universe", "plain"),
    [
        ("short", "short", "default", True), ("very-long", "very-long", "default", True), ("long", "long", "default", True),
        ("news-short", "short", "news", True), ("my-town-long-ordered", "long", "my-town", False),
        ("news-very-long", "very-long", "news", True), ("long-l3", "long", "default", False), ("own", "", "default", False),
    ],
)  # fmt: skip
def test_names_of_books(book, size, universe, plain):
    assert (size_of(book), universe_of(book), is_plain(book)) == (size, universe, plain)


def test_an_own_run_on_a_published_book_knows_its_writer(given):
    published = next(run for run in given.inputs.runs if run.source == "released")
    own = replace(given.inputs.runs[0], fingerprint=published.fingerprint, folder=published.folder)
    found = lines_of(Inputs([own, *given.inputs.runs]))
    (line,) = [line for line in found if line.source == "own" and line.fingerprint == own.fingerprint]
    assert line.writer == "gpt-4o-2024-05-13" and line.text == GPT_BOOK
