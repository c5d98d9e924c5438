"""Tables 20 to 23: rows against the journals, tests against scipy."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import mannwhitneyu

from epbench.exhibits.exhibit import Missing
from epbench.exhibits.reported import ReportedRow
from epbench.tulving.paper.inputs import Inputs
from epbench.tulving.paper.lines import lines_of
from epbench.tulving.paper.results.books_compared import books_by_order, books_by_writer
from tests.tulving.paper.given_runs import CLAUDE_BOOK, GPT_BOOK, check_record, line_of, plain, text_of


def known(values):
    return [value for value in values if value is not None]


def check_test(record, row, first, second):
    """A record and its row against the same test in scipy."""
    expected = mannwhitneyu(first, second, alternative="greater", method="asymptotic")
    means = [math.fsum(values) / len(values) for values in (first, second)]
    assert (record["n_first"], record["n_second"]) == (len(first), len(second))
    assert (record["u"], record["p"]) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))
    assert (record["mean_first"], record["mean_second"]) == (pytest.approx(means[0]), pytest.approx(means[1]))
    effect = sum((one > other) + (one == other) / 2 for one in first for other in second) / len(first) / len(second)
    assert record["effect"] == pytest.approx(effect) and record["p"] <= record["p_holm"] <= 1
    shown = f"{expected.pvalue:.3f}" if expected.pvalue >= 0.001 else "<0.001"
    assert list(row[2:6]) == [
        f"{len(first)} / {len(second)}",
        f"{means[0]:.3f} / {means[1]:.3f}",
        f"{effect:.3f}",
        shown,
    ]


def test_books_by_two_writers(lines, given):
    recall, tests = books_by_writer(lines)
    assert (recall.name, tests.name) == ("Table 20", "Table 21")
    for record in recall.records:
        check_record(record, plain(line_of(record, lines), given, get="all", bin=record["bin"]))
    alone = ("rag-chapter", "fine-tuned")  # with which only one of the two books was read
    released = [line for line in lines if line.source == "released" and line.memory not in alone]
    assert len(recall.table.rows) == len(released)
    for row in recall.table.rows:
        (line,) = [ln for ln in released if (ln.memory, f"{ln.model} (released)", ln.text) == (row[0], row[1], row[2])]
        assert list(row[3:]) == [text_of(plain(line, given, get="all", bin=bin_)) for bin_ in ("0", "1", "2", "3-5")]


def test_a_gpt_is_expected_to_do_better_than_a_claude_on_all_questions(lines, given):
    _, tests = books_by_writer(lines)
    assert [record["book"] for record in tests.records] == [CLAUDE_BOOK, GPT_BOOK]
    for record, row in zip(tests.records, tests.table.rows, strict=True):
        gpt, claude = (
            next(
                line
                for line in lines
                if line.text == record["book"] and line.memory == "in-context" and name in line.model
            )
            for name in ("gpt-4o-2024", "claude")
        )
        assert record["first"] == gpt.who and record["second"] == claude.who
        check_test(record, row, plain(gpt, given), plain(claude, given))
    smaller = sorted(record["p"] for record in tests.records)
    assert sorted(r["p_holm"] for r in tests.records) == pytest.approx(
        [min(1, 2 * smaller[0]), max(min(1, 2 * smaller[0]), smaller[1])]
    )
    assert any("get = all, latest and chronological" in note for note in tests.table.notes)


def test_an_ordered_book_beside_the_same_book_as_it_was(given):
    whole, _, lossy = given.inputs.runs[:3]
    ordered = [
        replace(run, book="short-ordered", fingerprint="e" * 16, label=f"{run.label} ordered") for run in (whole, lossy)
    ]
    rows = [
        ReportedRow("A paper", "Table 22", book, "gpt", "in-context", {"f1_by_bin.0": 0.5}, {}, {}, {})
        for book in ("short", "short-ordered")
    ]
    lines = lines_of(Inputs([*given.inputs.runs, *ordered], rows))
    recall, tests = books_by_order(lines)
    assert (recall.name, tests.name) == ("Table 22", "Table 23")
    assert [(row[1], row[3].split(" ")[0]) for row in recall.table.rows] == [
        ("made", "short-ordered"), ("made", "short-ordered"), ("made", "short"), ("made", "short"),
        ("gpt (reported)", "short-ordered"), ("gpt (reported)", "short"),
    ]  # fmt: skip
    for record, row, run in zip(tests.records, tests.table.rows, (whole, lossy), strict=True):
        (line,) = [line for line in lines if line.run is run]
        values = known(plain(line, given, get="all"))
        check_test(record, row, values, values)
        assert record["n_lost"] == 2 * (len(plain(line, given, get="all")) - len(values))
    assert tests.records[1]["n_lost"] > 0 and any("left out of the tests" in note for note in tests.table.notes)


def test_what_cannot_be_made(given):
    own = lines_of(Inputs(given.inputs.runs[:3]))
    for made in (books_by_writer(own), books_by_order(own), books_by_writer([]), books_by_order([])):
        assert len(made) == 2 and all(isinstance(one, Missing) for one in made)
    gpt_only = [
        run for run in given.inputs.runs if run.source == "released" and "prompting_model_gpt" in run.folder.name
    ]
    recall, tests = books_by_writer(lines_of(Inputs(gpt_only)))
    assert recall.name == "Table 20" and isinstance(tests, Missing) and isinstance(gpt_only[0].folder, Path)
