"""The shipped numbers of the paper and of its README, cell by cell against their texts where these lie beside the checkout."""

import json

import pytest

from epbench.files.packaged import packaged
from epbench.reports.exhibit import Missing
from epbench.reports.reported import read_reported
from epbench.tulving.paper.inputs import MEMORIES, parts_of
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.books import read_book
from tests.published_data import BOOKS
from tests.tulving.paper.seed_tables import SEEDS, leaderboard, paper_tables

FILE = packaged("epbench.tulving") / "reported.json"
PAPER, README = (next(iter(SEEDS.glob(f"{number}_*.txt")), None) for number in ("000", "001"))
needs_texts = pytest.mark.skipif(
    not PAPER or not README, reason="the texts of the paper do not lie beside the checkout"
)


def shipped():
    """The rows by table, without the notes, which are ours."""
    tables = {table["table"]: table["rows"] for table in json.loads(FILE.read_text("utf-8"))["tables"]}
    return {name: [{key: row[key] for key in row if key != "note"} for row in rows] for name, rows in tables.items()}


ROWS = {3: 11, 4: 11, 13: 11, 14: 11, 20: 8, 21: 3, 22: 8, 23: 4, 24: 4, 25: 6, 27: 6} | dict.fromkeys(range(15, 20), 1)
"""The number of rows of each table of the paper."""
CELLS = {15: 14, 16: 51, 17: 41, 18: 24, 19: 28}
"""The number of cells of those with one row."""


@needs_texts
@pytest.mark.parametrize("number", ROWS)
def test_every_cell_of_the_paper(number):
    rows = shipped()[f"Table {number}"]
    assert rows == paper_tables(PAPER)[f"Table {number}"] and len(rows) == ROWS[number]
    assert len(rows[0]["scores"]) == CELLS.get(number, len(rows[0]["scores"]))


@needs_texts
def test_every_row_of_the_ranking():
    assert shipped()["leaderboard"] == leaderboard(README) and len(shipped()["leaderboard"]) == 21


def test_the_rows_are_in_our_words():
    rows = read_reported(FILE, "tulving")
    assert len(rows) == 135
    assert {row.memory for row in rows} <= set(MEMORIES)
    books = "short, long, short-ordered, news-short, news-long, scifi-short, scifi-long, short by gpt-4o"
    assert {row.dataset for row in rows} == set(books.split(", "))
    assert all(parts_of(row.dataset.partition(" by ")[0])[0] for row in rows)
    for row in rows:
        assert all(-1 <= value <= 1 for value in row.scores.values()) and row.source.startswith("Huet et al.")
        assert set(row.deviations) <= set(row.scores) and set(row.counts) <= set(row.scores)


def test_a_number_that_the_paper_repeats_is_the_same_everywhere():
    found = {}
    for row in read_reported(FILE, "tulving"):
        for score, value in row.scores.items():
            about = row.dataset, row.model, row.memory, score
            assert found.setdefault(about, value) == value, about


def means(row, part):
    """The number of questions and their mean F1, by one part of the names of the cells."""
    found = {}
    for name, mean in row["scores"].items():
        found.setdefault(name.split(".")[part], []).append((row["counts"][name], mean))
    return {value: (sum(n for n, _ in of), sum(n * mean for n, mean in of)) for value, of in found.items()}


@pytest.mark.parametrize(("number", "beside"), [(15, 3), (16, 3), (17, 13), (18, 3), (19, 16)])
def test_the_cells_of_a_table_have_the_means_of_another_one(number, beside):
    """They are the numbers of gpt-4o with the whole book in its context, which not every caption says."""
    rows = shipped()
    (row,) = rows[f"Table {number}"]
    other = next(one for one in rows[f"Table {beside}"] if (one["model"], one["memory"]) == ("gpt-4o", "in-context"))
    found, expected = means(row, 2 if number < 19 else 1), means(other, 1)
    if number == 19:
        expected.pop("tsec")
    assert found.keys() == expected.keys()
    for value, (n, total) in found.items():
        assert n == expected[value][0] and total / n == pytest.approx(expected[value][1] / n, abs=0.0101), value


@pytest.mark.parametrize(("archive", "length"), [book[:2] for book in BOOKS])
def test_the_counts_are_those_of_the_published_questions(archive, length):
    opened = open_archive(archive)
    selected = [q for q in read_book(opened, opened.books[0]).selected if q.get == "all"]
    asked = [{"elements": str(len(q.cue)), "cue": q.cue, "bin": q.bin, "trace": q.trace} for q in selected]
    for row in (shipped()[f"Table {number}"][0] for number in CELLS):
        for name, n in row["counts"].items() if row["dataset"] == length else ():
            kinds, *values = name.removeprefix("f1_by_").split(".")
            assert sum([question[kind] for kind in kinds.split("_and_")] == values for question in asked) == n, name


def test_every_number_stands_in_its_table_beside_those_of_runs(made):
    numbers, tests = {}, []
    for exhibit in made.values():
        for row in [] if isinstance(exhibit, Missing) else exhibit.records:
            if row.get("paper") and "alternative" in row:
                tests.append([row.get("book", ""), row["first"], row["second"], row["p"], row["p_below"], row["paper"]])
            elif row.get("paper") and "score" in row:
                assert row["source"] == "reported" and {one["source"] for one in exhibit.records} > {"reported"}
                numbers.setdefault(_about(row), []).append((row["mean"], row.get("sd"), row["n"]))
    seen = set()
    for row in read_reported(FILE, "tulving"):
        for score, value in row.scores.items() if row.table.startswith("Table") else ():
            kind, _, pair = score.partition(".")
            if kind in ("p", "p_below"):
                first, second = (f"{row.model} {row.memory} (reported) on {one}" for one in pair.split(">"))
                if row.table == "Table 21":
                    first, second = (f"{one} {row.memory} (reported)" for one in pair.split(">"))
                elif row.table == "Table 25":
                    first, second = pair.split(">")
                number = (value, None) if kind == "p" else (None, value)
                book = row.dataset if row.table == "Table 21" else ""
                tests.remove([book, first, second, *number, f"{row.source}, {row.table}"])
            else:
                about = row.dataset, row.model, row.memory, score
                number = value, row.deviations.get(score), row.counts.get(score)
                whole = (
                    3 if row.table in {f"Table {n}" for n in CELLS} else 2
                )  # others repeat numbers without the count
                assert number[:whole] in {one[:whole] for one in numbers[about]}, (row.table, about)
                seen.add(about)
    assert not tests and seen == numbers.keys()


def _about(row):
    """Whose number a row of a frame holds, and its name in the file."""
    dataset = f"{row['book']} by {row['writer']}" if row["writer"] else row["book"]
    kinds = [name for name in ("elements", "cue", "trace", "realism", "bin") if name in row]
    score = f"f1_by_{'_and_'.join(kinds)}.{'.'.join(row[name] for name in kinds)}"
    if kinds in (["bin"], ["realism", "bin"]):
        score = ".".join(("f1_by_bin", row["bin"], *([row["realism"]] if "realism" in row else [])))
    return dataset, row["model"], row["memory"], score if kinds else row["score"]
