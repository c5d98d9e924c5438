"""Every number of every table and figure, against the journals and the files of books by plain loops; and which are made."""

import re
from itertools import combinations

import pytest
from scipy.stats import friedmanchisquare

from epbench.progress import no_progress
from epbench.reports.exhibit import Missing, slug, write_exhibits
from epbench.tulving.paper import comparisons, contrasts, recall
from epbench.tulving.paper.inputs import Inputs, lines_of, read_runs
from epbench.tulving.paper.make import exhibits
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.runs import published_runs, score_published_runs
from tests.published_data import BOOKS
from tests.tulving.paper.given_runs import CLAUDE_BOOK, GPT_BOOK
from tests.tulving.paper.plain_answers import CHECKS, Answers, check_rows, check_spread
from tests.tulving.paper.plain_books import EXPECTED, check_books, check_expected, plain_books

ALL = (*CHECKS, *EXPECTED, "Table 6", "Books of several seeds")


def of_name(made, name):
    """The exhibits of a name, for each book or run; tests of ranks have a name of their own."""
    parts = [one for one in made if one.startswith(f"{name},") and (", tests" in one) == (", tests" in name)]
    return [made[one] for one in [name, *parts] if one in made]


@pytest.fixture(scope="module")
def told(folders):
    return plain_books(folders)


@pytest.mark.parametrize("name", ALL)
def test_every_number_is_that_of_the_journals_and_files(name, made, world, given, told):
    found, answers = of_name(made, name), Answers(given, lines_of(world))
    assert found and not any(isinstance(one, Missing) for one in found)
    for exhibit in found:
        if name == "Table 6":
            check_expected(exhibit.records)
        elif name == "Books of several seeds":
            check_spread(exhibit, answers.lines)
        elif name in EXPECTED:
            check_books(exhibit, name, told)
        else:
            check_rows(exhibit, name, answers)


def test_no_exhibit_is_left_out(made):
    checked = {one.name for name in ALL for one in of_name(made, name)}
    missing = {one.name for one in made.values() if isinstance(one, Missing)}
    assert made.keys() - checked - missing == {"Figure 6, short by openai:tiny", "Figure 6, short (released)"}
    # No run of these is on one of the books, and nobody rated these; test_inventions.py makes both tables.
    assert missing == {"Figure 6, scifi-short", "Invented items", "E.7"}


def test_no_question_is_left_out(made, world, given):
    answers = Answers(given, lines_of(world))
    of_run = [f"Table {number}, whole" for number in (15, 17, 18)]
    for name in ("Table 13, short", "Table 3", *of_run, "F1 by trace, get"):
        rows = [row for row in made[name].records if row["source"] == "own"]
        for label in {row["label"] for row in rows}:
            of = [row for row in rows if row["label"] == label]
            asked = answers.asked(of[0], **({} if name.startswith("F1") else {"get": "all"}))
            assert sum(row["n"] + row["n_failed"] for row in of) == len(asked), (name, label)


def test_everything_is_made_in_the_order_of_the_paper_and_says_who_judged(made):
    order = [*(f"Table {n}" for n in range(2, 29)), *(f"Figure {n}" for n in range(3, 9)), "E.8"]
    names = [name.partition(",")[0] for name in made if name.partition(",")[0] in order]
    numbers = [int(name[6:]) for name in dict.fromkeys(names) if name.startswith("Table") and name != "Table 28"]
    assert numbers == sorted(numbers) and set(made) >= {"Harsh F1", "E.8, cues", "Figure 3"}
    for one in made.values():
        if not isinstance(one, Missing):
            assert one.records and {len(row) for row in one.table.rows} == {len(one.table.head)}, one.name
            values = [value for row in one.records for value in row.values()]
            assert not any(isinstance(value, float) and value != value for value in values), one.name
            is_about_answers = {"judge", "alternative"} & set(one.records[0])
            assert any("Judge" in note for note in one.table.notes) or not is_about_answers, one.name
            assert not re.search(r"\bnan\b", one.table.markdown()), one.name


@pytest.mark.slow
def test_everything_can_be_written(made, tmp_path, drawn_pictures):
    made_ones = [one for one in reversed(made.values()) if not isinstance(one, Missing)]
    first_of_each = {one.name.partition(",")[0]: one for one in made_ones}
    write_exhibits(tmp_path, "Tulving books", [*first_of_each.values(), made["Figure 7, tests, short (ffffffff)"]])
    assert len(list(tmp_path.glob("*.svg"))) == len(first_of_each) + 1
    written = (tmp_path / f"{slug(first_of_each['Figure 4'].name)}.svg").read_text("utf-8")
    assert "2 matching events" in written and "whole" in written


def test_friedman_is_named_with_its_numbers(made, world, given):
    rows = made["Figure 7, short (ffffffff)"].records
    f1 = Answers(given, lines_of(world)).matched(rows[0])
    statistic, p = friedmanchisquare(*f1.values())
    notes = made["Figure 7, short (ffffffff)"].table.notes
    assert f"χ² = {statistic:.1f}, p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}" in notes[0]
    assert any("questions that not all runs have answered are left out" in note for note in notes)
    pairs = made["Figure 7, tests, short (ffffffff)"].records
    same = {frozenset((pair["label"], pair["second"])) for pair in pairs if pair["different"] == "no"}
    for one, other in combinations(rows, 2):
        assert (frozenset((one["label"], other["label"])) in same) == (other["label"] in str(one["not_different_from"]))


def test_who_stands_in_the_parts_of_table_14(lines):
    *_, memories, chunks = recall.by_bin(lines)
    assert (memories.name, chunks.name) == ("Table 14, memories", "Table 14, chunks")
    three, gpt = ["in-context", "rag-paragraph", "rag-chapter"], "gpt-4o-2024-08-06 (released)"
    assert [(row[1], row[3], row[0]) for row in memories.table.rows] == [
        *(("made", "short (ffffffff)", memory) for memory in three),
        *((gpt, CLAUDE_BOOK, memory) for memory in three[:2]),
        *((gpt, GPT_BOOK, memory) for memory in three),
    ]
    assert [row[0] for row in chunks.table.rows] == ["rag-paragraph"] * 3 + ["rag-chapter"] * 2


def test_the_best_order_comes_first_and_ranges_last(made):
    values = [row[-1] for row in made["Table 4, short"].table.rows if "reported" not in row[1]]
    numbers = [float(value.split(" ")[0]) for value in values if "–" not in value]
    assert numbers == sorted(numbers, reverse=True) and "–" in values[-1] and len(numbers) == len(values) - 1


def test_without_runs_everything_is_missing_and_says_what_it_needs():
    missing = {one.name for one in exhibits(Inputs([]), []) if isinstance(one, Missing) and one.needs}
    names = {*(f"Figure {n}" for n in (3, 4, 7, 8)), *(f"Table {n}" for n in (3, 4, 13, *range(15, 26), 27))}
    assert names <= missing


def test_what_cannot_be_made(given):
    def missing(make, runs, *more):
        return {one.name for one in make(lines_of(Inputs(runs)), *more) if isinstance(one, Missing)}

    own = given.inputs.runs[:3]
    assert missing(comparisons.ranks, own) == {"Figure 3"} and missing(recall.by_bin, own) == {"Table 3"}
    assert missing(recall.by_kind, own) == {"Table 16"} and missing(recall.diverse_books, own) == {"Table 27"}
    assert missing(contrasts.books_by_order, own) == {"Table 22", "Table 23"}
    assert missing(comparisons.ranks, own[:1]) == {"Figure 3", "Figure 7"}
    assert missing(comparisons.estimation_plots, own[:1]) == {"Figure 8"}
    assert missing(recall.by_bin, own[:1]) == {"Table 3", "Table 14, memories", "Table 14, chunks"}
    alike = dict.fromkeys(range(1, 21), "Realistic")
    both = {"another": alike}, {"Table 24", "Table 25"}
    for ratings, names in (both, ({own[0].fingerprint: alike}, {"Table 25"})):
        assert missing(contrasts.by_realism, own, ratings) == names
    gpts = [run for run in given.inputs.runs if run.source == "released" and "prompting_model_gpt" in run.folder.name]
    assert missing(contrasts.books_by_writer, gpts) == {"Table 21"}
    assert missing(contrasts.books_by_writer, own) == {"Table 20", "Table 21"}


@pytest.mark.slow
@pytest.mark.parametrize("archive", [book[0] for book in BOOKS], ids=[book[0].stem for book in BOOKS])
def test_a_published_archive(archive, tmp_path):
    opened = open_archive(archive)
    score_published_runs(opened, tmp_path / "runs", no_progress)
    runs = read_runs([tmp_path / "runs" / run.folder for run in published_runs(opened)], "released")
    made = [one for one in exhibits(Inputs(runs), []) if not isinstance(one, Missing)]
    found = {one.name.partition(",")[0] for one in made}
    assert found >= {"Figure 4", "Table 4", "Table 15", "Table 18", "Table 19", "Figure 8", "E.8"}
    assert all(one.table.rows and one.table.html() for one in made)
