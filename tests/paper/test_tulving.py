"""What the tables about answers to questions on Tulving books promise: marks, ranges, notes, groups, and what is refused."""

import csv
import math
import statistics
from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest

from epbench.errors import BadInput
from epbench.files.packaged import packaged
from epbench.progress import no_progress
from epbench.reports.exhibit import Missing, slug, write_exhibits
from epbench.reports.figures import drawing, svg
from epbench.reports.reported import ReportedRow, read_reported
from epbench.statistics.estimate import Estimate
from epbench.tulving.paper import contrasts, recall
from epbench.tulving.paper.contrasts import books_by_order
from epbench.tulving.paper.groups import GROUPABLE, grouped
from epbench.tulving.paper.groups import all_books as row_of_all_books
from epbench.tulving.paper.groups import seeds as compared
from epbench.tulving.paper.inputs import Inputs, lines_of, read_runs
from epbench.tulving.paper.inventions import GROUPS, dialogues, hallucinations, partial_verdicts, sources
from epbench.tulving.paper.make import exhibits
from epbench.tulving.questions.generate import BINS
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.runs import published_runs, score_published_runs
from epbench.tulving.scores.inventions import SOURCES
from tests.paper.tulving_runs import CLAUDE_BOOK, FINGERPRINT, GPT_BOOK
from tests.published_data import BOOKS

pytestmark = pytest.mark.slow

NUMBERS = {"f1_by_bin.0": 0.5, "f1_by_bin.1": 0.25}, {"f1_by_bin.0": 0.125}, {"f1_by_bin.0": 150}
REPORTED = ReportedRow("A paper", "Table 13", "short", "gpt", "in-context", *NUMBERS, {}, "They stopped early.")


def made(make, runs, reported=(), *more):
    """What a function makes of these runs, by name."""
    found = make(lines_of(Inputs(runs, reported)), *more)
    return {one.name: one for one in (found if isinstance(found, list) else [found])}


def test_reported_rows_stand_with_the_others_once_and_are_marked(given):
    other = replace(REPORTED, table="Table 14", scores={"f1_by_bin.0": 0.0})
    rows = [REPORTED, replace(REPORTED, table="Table 14"), replace(REPORTED, source="Another paper"), other]
    table = made(recall.by_bin, given.inputs.runs, [*rows, replace(REPORTED, dataset="long")])["Table 13"].table
    assert table.head[:4] == ["memory", "model", "run", "book"]
    about = ["in-context", "gpt (reported)", "", "short"]
    half, none = [*about, "0.50 ± 0.12", "0.25", "–", "–"], [*about, "0.00 ± 0.12", "–", "–", "–"]
    assert [list(row) for row in table.rows if "(reported)" in row[1]] == [half, half, none]
    assert "A paper: Table 13" in " ".join(table.notes) and "They stopped early." in " ".join(table.notes)
    shares = {"hallucinations": 0.16, "hallucinations.inner": 0.2}
    row = replace(REPORTED, table="E.8", scores=shares, deviations={}, counts={"hallucinations": 150})
    both, inner = made(hallucinations, given.inputs.runs[:1], [row])["E.8"].table.rows[-2:]
    assert list(both) == [
        "gpt in-context (reported)",
        *("in-context", "both", "0.160", "0.110–0.227", "–", "–", "150", "0"),
    ]
    assert inner[3:5] == ["0.200", "–"]


# Which books, runs and questions


def test_who_stands_in_the_parts_of_table_14_and_in_which_order(lines, tulving):
    *_, memories, chunks = recall.by_bin(lines)
    assert (memories.name, chunks.name) == ("Table 14, memories", "Table 14, chunks")
    three, gpt = ["in-context", "rag-paragraph", "rag-chapter"], "gpt-4o-2024-08-06 (released)"
    assert [(row[1], row[3], row[0]) for row in memories.table.rows] == [
        *(("made", "short (ffffffff)", memory) for memory in three),
        *((gpt, CLAUDE_BOOK, memory) for memory in three[:2]),
        *((gpt, GPT_BOOK, memory) for memory in three),
    ]
    assert [row[0] for row in chunks.table.rows] == ["rag-paragraph"] * 3 + ["rag-chapter"] * 2
    rows = tulving.exhibits["Table 4, short"].table.rows  # the best order comes first, and ranges last
    values = [row[-1] for row in rows if "reported" not in row[1]]
    numbers = [float(value.split(" ")[0]) for value in values if "–" not in value]
    assert numbers == sorted(numbers, reverse=True) and "–" in values[-1] and len(numbers) == len(values) - 1


def test_what_cannot_be_made(given):
    def missing(make, runs, *more):
        return {name for name, one in made(make, runs, (), *more).items() if isinstance(one, Missing)}

    own = given.inputs.runs[:3]
    assert missing(contrasts.ranks, own) == {"Figure 3"} and missing(recall.by_bin, own) == {"Table 3"}
    assert missing(recall.by_kind, own) == {"Table 16"} and missing(recall.diverse_books, own) == {"Table 27"}
    assert missing(books_by_order, own) == {"Table 22", "Table 23"}
    assert missing(contrasts.ranks, own[:1]) == {"Figure 3", "Figure 7"}
    assert missing(contrasts.estimation_plots, own[:1]) == {"Figure 8"}
    assert missing(recall.by_bin, own[:1]) == {"Table 3", "Table 14, memories", "Table 14, chunks"}
    alike = dict.fromkeys(range(1, 21), "Realistic")
    both = {"another": alike}, {"Table 24", "Table 25"}
    for ratings, names in (both, ({own[0].fingerprint: alike}, {"Table 25"})):
        assert missing(contrasts.by_realism, own, ratings) == names
    gpts = [run for run in given.inputs.runs if run.source == "released" and "prompting_model_gpt" in run.folder.name]
    assert missing(contrasts.books_by_writer, gpts) == {"Table 21"}
    assert missing(contrasts.books_by_writer, own) == {"Table 20", "Table 21"}


def test_every_book_has_a_table_and_files_of_its_own(given):
    runs = [*given.inputs.runs, replace(given.inputs.runs[0], book="news-short", fingerprint="e" * 16, label="news")]
    assert {"Table 13, short", "Table 13, news-short"} <= set(made(recall.by_bin, runs))
    longer = made(recall.by_bin, [replace(run, book="long") for run in runs[:1]])
    assert isinstance(longer["Table 13"], Missing) and not isinstance(longer["Table 3"], Missing)
    reported = [replace(REPORTED, table="Table 27", dataset=name) for name in ("short", "news-short", "scifi-short")]
    diverse = made(recall.diverse_books, runs, [*reported, replace(REPORTED, model="other")])["Table 27"]
    books = [row["book"] for row in diverse.records if row["bin"] == "0"]
    assert books == ["short", "news-short", "short", "news-short", "scifi-short"]
    found = exhibits(Inputs([replace(runs[0], book=book, label=book) for book in ("long x", "long-x")]), [])
    assert len({slug(one.name) for one in found}) == len(found)


def test_answers_to_a_repeated_question_are_counted_each(given):
    run = given.inputs.runs[0]
    twice = replace(run, questions=pd.concat([run.questions, run.questions.assign(repeat=1)], ignore_index=True))
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


@pytest.mark.parametrize("archive", [book[0] for book in BOOKS], ids=[book[0].stem for book in BOOKS])
def test_a_published_archive(archive, tmp_path):
    opened = open_archive(archive)
    score_published_runs(opened, tmp_path / "runs", no_progress)
    runs = read_runs([tmp_path / "runs" / run.folder for run in published_runs(opened)], "released")
    found = [one for one in exhibits(Inputs(runs), []) if not isinstance(one, Missing)]
    names = {one.name.partition(",")[0] for one in found}
    assert names >= {"Figure 4", "Table 4", "Table 15", "Table 18", "Table 19", "Figure 8", "E.8"}
    assert all(one.table.rows and one.table.html() for one in found)


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


def test_invented_items_are_counted_by_their_source(given, all_books, tmp_path):
    """Where an item comes from is tested with the scores; the readers deny or add `Nobody Else`, which is nowhere."""
    book, run = replace(all_books[0], fingerprint=FINGERPRINT), given.inputs.runs[0]
    questions = run.questions.copy()
    others = sorted({chapter.event.entity for chapter in book.chapters})
    questions["items"] = [[others[at % len(others)], "Nobody Else"] for at in range(len(questions))]
    questions["scores"] = [[0.0] * len(true) for true in questions["reference"]]
    questions["answer"], questions["outcome"] = "It says so.", "wrong"
    exhibit = sources(lines_of(Inputs([replace(run, questions=questions), given.inputs.runs[3]])), [book])
    write_exhibits(tmp_path, "made", [exhibit])
    with (tmp_path / "invented-items.csv").open(encoding="utf-8") as file:
        written = list(csv.DictReader(file))
    counts = Counter((row["bin"] == "0", row["item_from"]) for row in written)
    kept = questions[(questions["trace"] != "full_details") | (questions["bin"] == "0")]
    assert {kind for _, kind in counts} == {*SOURCES} and counts.total() > 1.5 * len(kept)
    for row in exhibit.frame.to_dict("records"):
        is_empty = GROUPS[row["questions"]]
        n, of = (
            counts[is_empty, row["source_of_items"]],
            sum(n for (group, _), n in counts.items() if group == is_empty),
        )
        answers = int(((kept["bin"] == "0") == is_empty).sum())
        assert (row["found"], row["mean"], row["items"], row["answers"]) == (n, pytest.approx(n / of), of, answers)
    assert {row["distance"] for row in written if row["item_from"] == "matching"} == {"0"}
    assert any("Not traced, without their books" in note for note in exhibit.notes)
    assert isinstance(sources(lines_of(given.inputs), []), Missing)


def test_what_the_judge_did_not_see_is_not_traced(given, all_books):
    """The readers add `Nobody Else` to every answer but abstentions; lost questions and missing answers add nothing."""
    exhibit = sources(lines_of(Inputs(given.inputs.runs[2:3])), [replace(all_books[0], fingerprint=FINGERPRINT)])
    of = {row["questions"]: row for row in exhibit.frame.to_dict("records") if row["source_of_items"] == "nowhere"}
    asked = [q for _, q in given.plain(given.inputs.runs[2]) if q and (q["trace"] != "full_details" or q["bin"] == "0")]
    for group, is_empty in GROUPS.items():
        known = [q for q in asked if (q["bin"] == "0") == is_empty]
        named = [q for q in known if any("nobody else" in item.lower() for item in q["items"])]
        assert of[group]["answers"] == len(known) and of[group]["inventing"] >= len(named)
        assert is_empty or named  # where nothing matches, the word `nobody` makes an abstention of it


def test_dialogue_is_counted_and_papers_stand_beside(given):
    run, turn = given.inputs.runs[0], "\n\nHuman: Really?\n\nAssistant: Yes."
    questions = run.questions.copy()
    has = [i % 3 == 0 and answer is not None for i, answer in enumerate(questions["answer"])]
    said = enumerate(zip(questions["answer"], has, strict=True))
    questions["answer"] = [f"{answer}{turn * (i % 2 + 1)}" if talks else answer for i, (answer, talks) in said]
    reported = read_reported(packaged("epbench.tulving", "reported.json"), "tulving")
    lines = lines_of(Inputs([replace(run, questions=questions)], reported))
    own, paper = dialogues(lines).records
    assert own["n"] == len(has) and own["mean"] == pytest.approx(sum(has) / len(has)) and own["most"] == 4
    for name, flag in (("f1_with", True), ("f1_without", False)):
        f1 = [value for value, talks in zip(questions["f1"], has, strict=True) if talks == flag]
        assert own[name] == pytest.approx(statistics.fmean(f1))
    assert (paper["n"], round(paper["mean"] * 685), paper["model"]) == (685, 342, "claude-3-5-sonnet")
    assert {row["model"]: row["mean"] for row in partial_verdicts(lines).records[1:]} == {
        "gpt-4o": 0.04,
        "gpt-4o-mini": 0.08,
    }


# Groups


def test_groups_stand_in_the_order_of_the_benchmark(lines, drawn_pictures):
    runs = [line for line in lines if line.source == "own"]
    table = grouped(runs, ["bin"]).table
    assert [row[0] for row in table.rows] == [bin_ for bin_ in BINS if bin_ != "6+" for _ in runs]
    assert table.sections == [2, 5, 8]
    numbers = [int(row[0]) for row in grouped(runs[:1], ["template"]).table.rows]
    assert numbers == sorted(numbers) and numbers[-1] == 35
    assert grouped(runs[:1], ["entity"]).table.rows[-1][0] == "not given"
    (lossy,) = [line for line in runs if line.label == "lossy"]
    by_outcome = {row["outcome"]: row["n_failed"] > 0 for row in grouped([lossy], ["outcome"]).records}
    assert list(by_outcome.items()) == [("right", False), ("wrong", False), ("failed", True)]
    with drawing():
        assert "times, all" in svg(grouped(runs[:1], ["trace", "get"]).plot())
    assert grouped(runs[:1], ["id"]).plot is None


def test_other_columns_are_refused_with_those_there_are(lines):
    for column, said in {"reference": "a list", "chapters": "a list", "f1": "averaged", "bins": "", "": ""}.items():
        with pytest.raises(BadInput, match=f"{column!r}.*{said}.*{', '.join(GROUPABLE)}"):
            grouped(lines, ["cue", column])
    with pytest.raises(BadInput, match="grouped by"):
        grouped(lines, ["cue", "cue"])


# Books of several seeds


def test_books_of_several_seeds(given, drawn_pictures):
    """The complete runs with the whole book in mind, as if one reader and one judge had read three books."""
    whole = [run for run in given.inputs.runs if run.memory == "in-context" and "claude-3" not in run.model]
    about = {"model": "m", "source": "own"}
    runs = [
        replace(run, label=f"seed {n}", scores=run.scores | {"judge": None}, **about) for n, run in enumerate(whole)
    ]
    again = replace(runs[0], label="again")
    (exhibit,) = made(compared, [*runs[:2], again]).values()
    notes = exhibit.table.notes
    assert all(words in " ".join(notes) for words in ("Within a book:", "differ in more than the book"))
    with drawing():
        assert "mean ± deviation between books" in svg(exhibit.plot())
    assert "again is left out: it is on the same book as seed 0." in notes
    (alone,) = made(compared, [runs[0], again]).values()
    assert isinstance(alone, Missing)
    lost = runs[0].scores | {"latest": None, "incomplete": {"latest": [0.1, 0.4]}, "intervals": {}}
    (found,) = made(compared, [replace(runs[0], scores=lost), *runs[1:]]).values()
    row = next(row for row in found.records if row["score"] == "latest" and row["lowest"] is not None)
    assert (row["mean"], row["within"], row["lowest"], row["highest"]) == (None, None, 0.1, 0.4)
    assert any("is not in the row of all books" in note for note in found.table.notes)


def test_books_without_a_score_or_an_interval_are_not_in_the_mean(lines):
    def score(value, half=0.0392, n=10):
        return Estimate(n, 0, value) if half is None else Estimate(n, 0, value, None, value - half, value + half)

    def whole(**found):
        return row_of_all_books(lines[0], "latest", found)

    row = whole(a=score(0.4), b=score(0.8), c=Estimate(5, 5, lowest=0.1, highest=0.6), d=score(0.9, None))
    assert (row["n_books"], row["n"], row["low"], row["high"]) == (2, 20, 0.0, 1.0)
    assert row["mean"] == pytest.approx(0.6) and row["within"] == pytest.approx(0.02, rel=1e-4)
    assert row["between"] == pytest.approx(math.sqrt(0.08 - 0.0004), rel=1e-4) and row["between_high"] == 0.5
    alone = whole(a=score(0.4), b=Estimate(5, 5))
    assert (alone["n_books"], alone["mean"], alone["within"], alone["between"]) == (1, None, None, None)
    same = whole(a=score(1.0, 0.0), b=score(1.0, 0.0))
    assert (same["between"], same["between_low"], same["low"]) == (0, None, None)
