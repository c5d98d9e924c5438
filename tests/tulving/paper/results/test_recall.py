"""Tables 3, 13 and 27: every cell against the journals."""

from dataclasses import replace

import pytest

from epbench.exhibits.exhibit import Missing
from epbench.exhibits.reported import ReportedRow
from epbench.tulving.paper.inputs import Inputs
from epbench.tulving.paper.lines import lines_of
from epbench.tulving.paper.results.recall import diverse_books, long_recall, short_recall
from tests.tulving.paper.given_runs import check_record, line_of, plain, text_of

REPORTED = ReportedRow(
    "A paper", "Table 13", "short", "gpt", "in-context", {"f1_by_bin.0": 0.5, "f1_by_bin.1": 0.25}, {"f1_by_bin.0": 0.125},
    {"f1_by_bin.0": 150}, {}, "They stopped early.",
)  # fmt: skip
BINS = ["0", "1", "2", "3-5"]


def check(made, lines, given):
    """Every record and every cell of a table with a column for each bin."""
    table = made.table
    n_leading = table.text_columns
    assert [title.split(" ")[0] for title in table.head[n_leading:]] == BINS
    for record in made.records:
        if record["source"] != "reported":
            line = line_of(record, lines)
            check_record(record, plain(line, given, get="all", bin=record["bin"]))
    shown = {(record["label"], record["fingerprint"], record["writer"]) for record in made.records}
    assert len(table.rows) == len(shown) and len(made.records) == sum(
        cell != "–" for row in table.rows for cell in row[n_leading:]
    )
    return table


def test_every_cell_of_the_short_book(lines, given):
    (made,) = short_recall(lines)
    table = check(made, lines, given)
    assert made.name == "Table 13" and table.head[:4] == ["memory", "model", "run", "book"]
    expected = [[text_of(plain(line, given, get="all", bin=bin_)) for bin_ in BINS] for line in lines]
    assert [list(row[4:]) for row in table.rows] == expected
    assert any("*" in cell for row in expected for cell in row)
    assert any(note.startswith("*") for note in table.notes) and any("Judges differ" in note for note in table.notes)


def test_reported_rows_stand_with_the_others_and_are_marked(given):
    lines = lines_of(
        Inputs(given.inputs.runs, [REPORTED, replace(REPORTED, table="Table 14"), replace(REPORTED, dataset="long")])
    )
    (made,) = short_recall(lines)
    rows = [row for row in made.table.rows if "(reported)" in row[1]]
    assert [list(row) for row in rows] == [
        ["in-context", "gpt (reported)", "", "short", "0.50 ± 0.12", "0.25", "–", "–"]
    ]
    assert "A paper: Table 13" in " ".join(made.table.notes) and "They stopped early." in " ".join(made.table.notes)
    records = [record for record in made.records if record["source"] == "reported"]
    assert [(r["bin"], r["mean"], r["sd"], r["n"]) for r in records] == [
        ("0", 0.5, 0.125, 150),
        ("1", 0.25, None, None),
    ]


def test_every_book_has_a_table_of_its_own(given):
    runs = [*given.inputs.runs, *(replace(run, book="news-short") for run in given.inputs.runs[:1])]
    lines = lines_of(Inputs(runs))
    assert [one.name for one in short_recall(lines)] == ["Table 13, short", "Table 13, news-short"]
    assert isinstance(long_recall(lines)[0], Missing)
    lines = lines_of(Inputs([replace(run, book="long") for run in runs]))
    assert [one.name for one in long_recall(lines)] == ["Table 3"] and isinstance(short_recall(lines)[0], Missing)


def test_diverse_books_compare_one_reader_on_several_books(given, lines):
    assert isinstance(diverse_books(lines)[0], Missing)
    whole = given.inputs.runs[0]
    news = replace(whole, book="news-short", fingerprint="e" * 16, label="news")
    reported = [replace(REPORTED, table="Table 27", dataset=name) for name in ("short", "news-short", "scifi-short")]
    found = lines_of(Inputs([*given.inputs.runs, news], [*reported, replace(REPORTED, model="other")]))
    (made,) = diverse_books(found)
    assert made.name == "Table 27" and {row[1] for row in made.table.rows} == {"made", "gpt (reported)"}
    assert [record["book"] for record in made.records if record["bin"] == "0"] == [
        "short", "news-short", "short", "news-short", "scifi-short"
    ]  # fmt: skip
    for record in made.records[:8]:
        line = next(
            line
            for line in found
            if line.book == record["book"] and line.memory == "in-context" and line.source == "own"
        )
        check_record(record, plain(line, given, get="all", bin=record["bin"]))


def test_without_runs_there_is_no_table():
    for made in (long_recall([]), short_recall([]), diverse_books([])):
        assert len(made) == 1 and isinstance(made[0], Missing) and made[0].needs


def test_a_bin_whose_questions_were_all_lost_is_a_range_from_0_to_1(given):
    run = given.inputs.runs[0]
    lost = run.questions.assign(outcome=run.questions["outcome"].where(run.questions["bin"] != "1", "failed"))
    (made,) = short_recall(lines_of(Inputs([replace(run, questions=lost)])))
    assert [cell for row in made.table.rows for cell in row if "*" in cell] == ["0.00–1.00*"]
    with pytest.raises(StopIteration):
        next(record for record in made.records if record["bin"] == "1" and record["mean"] is not None)


def test_reported_rows_that_say_something_else_stay(given):
    rows = [
        REPORTED,
        replace(REPORTED, source="Another paper"),
        replace(REPORTED, scores={"f1_by_bin.0": 0.0}),
        REPORTED,
    ]
    (made,) = short_recall(lines_of(Inputs(given.inputs.runs[:1], rows)))
    assert [list(row[4:6]) for row in made.table.rows[1:]] == [["0.50 ± 0.12", "0.25"]] * 2 + [["0.00 ± 0.12", "–"]]


def test_answers_to_a_repeated_question_are_counted_each(given):
    run = given.inputs.runs[0]
    (made,) = short_recall(lines_of(Inputs([replace(run, questions=run.questions.assign(repeat=1))])))
    assert any("once for each answer" in note for note in made.table.notes)
