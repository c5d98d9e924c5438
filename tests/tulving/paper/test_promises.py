"""What tables promise beside their numbers: reported rows are marked, failed questions are ranges, notes say what was left out."""

import math
import statistics
from dataclasses import replace

import pandas as pd
import pytest

from epbench.errors import BadInput
from epbench.reports.exhibit import Missing, slug
from epbench.reports.figures import drawing, svg
from epbench.reports.reported import ReportedRow
from epbench.statistics.estimate import Estimate
from epbench.tulving.paper import recall
from epbench.tulving.paper.contrasts import books_by_order
from epbench.tulving.paper.groups import GROUPABLE, grouped, hallucinations
from epbench.tulving.paper.inputs import Inputs, lines_of
from epbench.tulving.paper.make import exhibits
from epbench.tulving.paper.order import all_books
from epbench.tulving.paper.order import seeds as compared
from epbench.tulving.paper.recall import CUE
from epbench.tulving.paper.rows import cue_text
from epbench.tulving.questions.generate import BINS

NUMBERS = {"f1_by_bin.0": 0.5, "f1_by_bin.1": 0.25}, {"f1_by_bin.0": 0.125}, {"f1_by_bin.0": 150}
REPORTED = ReportedRow("A paper", "Table 13", "short", "gpt", "in-context", *NUMBERS, {}, "They stopped early.")


def made(make, runs, reported=(), *more):
    """What a function makes of these runs, by name."""
    found = make(lines_of(Inputs(runs, reported)), *more)
    return {one.name: one for one in (found if isinstance(found, list) else [found])}


# Rows of papers


def test_reported_rows_stand_with_the_others_once_and_are_marked(given):
    rows = [REPORTED, replace(REPORTED, table="Table 14"), replace(REPORTED, dataset="long")]
    table = made(recall.by_bin, given.inputs.runs, rows)["Table 13"].table
    assert table.head[:4] == ["memory", "model", "run", "book"]
    assert [list(row) for row in table.rows if "(reported)" in row[1]] == [
        ["in-context", "gpt (reported)", "", "short", "0.50 ± 0.12", "0.25", "–", "–"]
    ]
    assert "A paper: Table 13" in " ".join(table.notes) and "They stopped early." in " ".join(table.notes)


def test_reported_rows_that_say_something_else_stay(given):
    other = replace(REPORTED, table="Table 14", scores={"f1_by_bin.0": 0.0})
    rows = [REPORTED, replace(REPORTED, source="Another paper"), other, REPORTED]
    table = made(recall.by_bin, given.inputs.runs[:1], rows)["Table 13"].table
    assert [list(row[4:6]) for row in table.rows[1:]] == [["0.50 ± 0.12", "0.25"]] * 2 + [["0.00 ± 0.12", "–"]]


def test_the_hallucinations_that_a_paper_reports(given):
    shares = {"hallucinations": 0.16, "hallucinations.inner": 0.2}
    row = replace(REPORTED, table="E.8", scores=shares, deviations={}, counts={"hallucinations": 150})
    exhibit = made(hallucinations, given.inputs.runs[:1], [row])["E.8"]
    both, inner = exhibit.table.rows[-2:]
    assert list(both[:3]) == ["gpt in-context (reported)", "in-context", "both"]
    assert list(both[3:]) == ["0.160", "0.110–0.227", "–", "–", "150", "0"]
    assert inner[3:5] == ["0.200", "–"] and any("A paper, E.8" in note for note in exhibit.table.notes)


# Which books and questions


def test_cues_are_written_and_ordered_as_in_the_paper():
    assert [cue_text(cue) for cue in ("t", "te", "tsec")] == ["(t, *, *, *)", "(t, *, ent, *)", "(t, s, ent, c)"]
    assert " ".join(CUE.texts) == "t s e c ts te tc se sc ec tse tsc tec sec tsec"


def test_every_book_has_a_table_of_its_own(given):
    runs = [*given.inputs.runs, replace(given.inputs.runs[0], book="news-short", fingerprint="e" * 16, label="news")]
    found = made(recall.by_bin, runs)
    assert {"Table 13, short", "Table 13, news-short"} <= set(found) and isinstance(found["Table 3"], Missing)
    longer = made(recall.by_bin, [replace(run, book="long") for run in runs])
    assert isinstance(longer["Table 13"], Missing) and not isinstance(longer["Table 3"], Missing)
    reported = [replace(REPORTED, table="Table 27", dataset=name) for name in ("short", "news-short", "scifi-short")]
    diverse = made(recall.diverse_books, runs, [*reported, replace(REPORTED, model="other")])["Table 27"]
    books = [row["book"] for row in diverse.records if row["bin"] == "0"]
    assert books == ["short", "news-short", "short", "news-short", "scifi-short"]


def test_names_that_would_make_one_file_are_numbered(given):
    runs = [replace(given.inputs.runs[0], book=book, label=book) for book in ("long x", "long-x")]
    found = exhibits(Inputs(runs), [])
    assert len({slug(one.name) for one in found}) == len(found)


def test_answers_to_a_repeated_question_are_counted_each(given):
    run = given.inputs.runs[0]
    both = pd.concat([run.questions, run.questions.assign(repeat=1)], ignore_index=True)
    twice = replace(run, questions=both)
    found = made(recall.by_bin, [twice]) | made(grouped, [twice], [], ["repeat"])
    assert any("once for each answer" in note for note in found["Table 13"].table.notes)
    assert [row["n"] for row in found["F1 by repeat"].records] == [len(run.questions)] * 2
    both, once = (made(hallucinations, [one])["E.8"].records for one in (twice, run))
    for row, single in zip(both, once, strict=True):
        assert (row["n"], row["share_mean"], row["share_low"]) == (2 * single["n"], single["share_mean"], None)


def test_an_ordered_book_stands_before_the_same_book_as_it_was(given):
    whole, _, lossy = given.inputs.runs[:3]
    other = {"book": "short-ordered", "fingerprint": "e" * 16}
    ordered = [replace(run, label=f"{run.label} ordered", **other) for run in (whole, lossy)]
    rows = [replace(REPORTED, table="Table 22", dataset=book) for book in ("short", "short-ordered")]
    found = made(books_by_order, [*given.inputs.runs, *ordered], rows)
    own, paper = ("made", "made"), ("gpt (reported)",)
    expected = [(model, book) for of in (own, paper) for book in ("short-ordered", "short") for model in of]
    assert [(row[1], row[3].split(" ")[0]) for row in found["Table 22"].table.rows] == expected
    assert any("left out of the tests" in note for note in found["Table 23"].table.notes)


# Answers that name something


def test_a_missing_answer_names_nothing_and_hides_nothing(given):
    """Whoever leaves out what never happened has invented nothing, and has not shown that they would not."""
    questions = given.inputs.runs[0].questions.copy()
    gone = (questions["bin"] == "0") & (questions["get"] == "all") & (questions["trace"] == "times")
    questions.loc[gone, ["outcome", "f1", "answer"]] = ["wrong", 0.0, None]
    questions["items"] = [[] if lost else list(items) for lost, items in zip(gone, questions["items"], strict=True)]
    row = made(hallucinations, [replace(given.inputs.runs[0], questions=questions)])["E.8"].records[0]
    n = int(gone.sum())
    assert row["n_failed"] == n and row["share_mean"] is None
    assert row["share_highest"] - row["share_lowest"] == pytest.approx(n / (row["n"] + n))


def test_it_says_which_difference_two_runs_can_show(given):
    lossy, first, second = given.inputs.runs[2:5]
    exhibit = made(hallucinations, [first, second])["E.8"]
    both = [row for row in exhibit.records if row["origin"] == "both"]
    n, rate = both[0]["n"], statistics.fmean(row["share_mean"] for row in both)
    (note,) = [note for note in exhibit.table.notes if "power 0.8" in note]
    assert f"the same {n} questions about short, with shares around {rate:.3f}" in note
    difference = float(note.split("differ by ")[1].split(" ")[0])
    assert difference == pytest.approx((1.96 + 0.8416) * (2 * rate * (1 - rate) / n) ** 0.5, rel=0.05)
    assert not any("power" in note for note in made(hallucinations, [first, lossy])["E.8"].table.notes)


# Groups


def test_groups_stand_in_the_order_of_the_benchmark(given, lines, drawn_pictures):
    runs = [line for line in lines if line.source == "own"]
    rows = grouped(runs, ["bin"]).table.rows
    assert [row[0] for row in rows] == [bin_ for bin_ in BINS if bin_ != "6+" for _ in runs]
    assert grouped(runs, ["bin"]).table.sections == [2, 5, 8]
    numbers = [int(row[0]) for row in grouped(runs[:1], ["template"]).table.rows]
    assert numbers == sorted(numbers) and numbers[-1] == 35
    assert grouped(runs[:1], ["entity"]).table.rows[-1][0] == "not given"
    (lossy,) = [line for line in runs if line.label == "lossy"]
    by_outcome = {row["outcome"]: row["n_failed"] > 0 for row in grouped([lossy], ["outcome"]).records}
    assert list(by_outcome.items()) == [("right", False), ("wrong", False), ("failed", True)]
    with drawing():
        assert "times, all" in svg(grouped(runs, ["trace", "get"]).plot())
    assert grouped(runs, ["id"]).plot is None


@pytest.mark.parametrize("column", ["reference", "chapters", "f1", "tau", "bins", ""])
def test_other_columns_are_refused_with_those_there_are(lines, column):
    with pytest.raises(BadInput) as error:
        grouped(lines, ["cue", column])
    assert repr(column) in str(error.value) and ", ".join(GROUPABLE) in str(error.value)
    assert ("a list" in str(error.value)) == (column in ("reference", "chapters"))
    assert ("averaged" in str(error.value)) == (column in ("f1", "tau"))
    for columns in ([], ["cue", "cue"]):
        with pytest.raises(BadInput, match="grouped by"):
            grouped(lines, columns)
    with pytest.raises(BadInput, match="no run"):
        grouped([], ["cue"])


# Books of several seeds


@pytest.fixture(scope="module")
def seeds(given):
    """The complete runs with the whole book in mind, as if one reader and one judge had read three books."""
    whole = [run for run in given.inputs.runs if run.memory == "in-context" and "claude-3" not in run.model]
    one_reader = [replace(run, model="m", source="own", scores=run.scores | {"judge": None}) for run in whole]
    return [replace(run, label=f"seed {n}") for n, run in enumerate(one_reader)]


def test_a_second_run_on_a_book_is_left_out_and_one_book_has_no_spread(seeds, drawn_pictures):
    again = replace(seeds[0], label="again", scores=seeds[0].scores)
    exhibit = made(compared, [*seeds[:2], again])["Books of several seeds"]
    notes = exhibit.table.notes
    assert all(words in " ".join(notes) for words in ("Within a book:", "differ in more than the book"))
    with drawing():
        assert "mean ± deviation between books" in svg(exhibit.plot())
    assert "again is left out: it is on the same book as seed 0." in notes
    assert isinstance(made(compared, [seeds[0], again])["Books of several seeds"], Missing)


def test_books_without_a_score_or_an_interval_are_not_in_the_mean(seeds):
    def score(value, half=0.0392, n=10):
        return Estimate(n, 0, value) if half is None else Estimate(n, 0, value, None, value - half, value + half)

    def whole(**found):
        return all_books(lines_of(Inputs(seeds[:1]))[0], "latest", found)

    row = whole(a=score(0.4), b=score(0.8), c=Estimate(5, 5, lowest=0.1, highest=0.6), d=score(0.9, None))
    assert (row["n_books"], row["n"], row["low"], row["high"]) == (2, 20, 0.0, 1.0)
    assert row["mean"] == pytest.approx(0.6) and row["within"] == pytest.approx(0.02, rel=1e-4)
    assert row["between"] == pytest.approx(math.sqrt(0.08 - 0.0004), rel=1e-4) and row["between_high"] == 0.5
    alone = whole(a=score(0.4), b=Estimate(5, 5))
    assert (alone["n_books"], alone["mean"], alone["within"], alone["between"]) == (1, None, None, None)
    same = whole(a=score(1.0, 0.0), b=score(1.0, 0.0))
    assert (same["between"], same["between_low"], same["low"]) == (0, None, None)
    lost = seeds[0].scores | {"latest": None, "incomplete": {"latest": [0.1, 0.4]}, "intervals": {}}
    found = made(compared, [replace(seeds[0], scores=lost), *seeds[1:]])["Books of several seeds"]
    row = next(row for row in found.records if row["score"] == "latest" and row["lowest"] is not None)
    assert (row["mean"], row["within"], row["lowest"], row["highest"]) == (None, None, 0.1, 0.4)
    assert any("is not in the row of all books" in note for note in found.table.notes)
