"""Which runs are read, and what the tables about their answers promise: marks, ranges, notes, groups, and what is refused."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import pandas as pd
import pytest

from epbench.errors import BadInput
from epbench.progress import no_progress
from epbench.reports.exhibit import Missing, slug
from epbench.reports.reported import ReportedRow
from epbench.tulving.paper import groups, inventions, recall
from epbench.tulving.paper.inputs import Inputs, lines_of, parts_of, read_runs
from epbench.tulving.paper.make import exhibits
from epbench.tulving.questions.generate import BINS
from epbench.tulving.released.archive import open_archive
from epbench.tulving.released.runs import published_runs, score_published_runs
from epbench.tulving.scores.inventions import SOURCES
from tests.paper.conftest import CLAUDE_BOOK, FINGERPRINT, GPT_BOOK, LOSSY
from tests.published_data import BOOKS

pytestmark = pytest.mark.slow

MEMORIES = ("in-context", "rag-paragraph", "rag-chapter", "fine-tuned")
ORDERED_BY = {"Table 14, memories, short": "source model writer memory", "Table 14, chunks, short": "memory source"}
ORDERED_BY |= {"Table 22": "source is_plain", "Table 27": "source is_long universe"}
NUMBERS = {"f1_by_bin.0": 0.5, "f1_by_bin.1": 0.25}, {"f1_by_bin.0": 0.125}, {"f1_by_bin.0": 150}
REPORTED = ReportedRow("A paper", "Table 13", "short", "gpt", "in-context", *NUMBERS, {}, "They stopped early.")


def made(make, runs, reported=(), *more):
    """What a function makes of these runs, by name."""
    found = make(lines_of(Inputs(runs, reported)), *more)
    return {one.name: one for one in (found if isinstance(found, list) else [found])}


def test_runs_are_known_by_their_run_json_and_released_ones_by_their_names(lines, given, tmp_path):
    released, own = ([line for line in lines if line.source == source] for source in ("released", "own"))
    gpt, haiku, mini = "gpt-4o-2024-08-06", "claude-3-haiku-20240307", "gpt-4o-mini-2024-07-18"
    read = {("in-context", gpt), ("in-context", haiku), ("rag-paragraph", gpt), ("rag-chapter", gpt)}
    assert {(line.memory, line.model) for line in released} == read | {("fine-tuned", mini)}
    judges = {(text, f"{text.removeprefix('short by ')} (as released)") for text in (GPT_BOOK, CLAUDE_BOOK)}
    assert {(line.text, line.judge) for line in released} == judges and lines[0] == own[0]
    about = [("whole", "in-context"), (LOSSY, "rag-paragraph"), ("chapters", "rag-chapter")]
    told = {(line.label, line.memory): (line.model, line.judge, line.writer, line.text) for line in own}
    assert told == dict.fromkeys(about, ("made", "lexical", "template", "short (ffffffff)"))
    order = [line.memory for line in lines]
    assert order == sorted(order, key=MEMORIES.index)
    folder, plain = Path(shutil.copytree(own[0].folder, tmp_path / "run")), "gpt-4o-mini-2024-07-18"
    run, tuned = json.loads((folder / "run.json").read_text("utf-8")), f"ft:{plain}:me::a1b2"  # by OpenAI
    for model, memory, found in ((tuned, "none", "fine-tuned"), (plain, "none", "none"), (tuned, "in-context", None)):
        run["identity"] |= {"model": f"openai:{model}", "memory": memory}
        (folder / "run.json").write_text(json.dumps(run))
        assert read_runs([folder])[0].memory == (found or memory)


@pytest.mark.parametrize("archive", [book[0] for book in BOOKS], ids=[book[0].stem for book in BOOKS])
def test_a_published_archive(archive, tmp_path):
    opened = open_archive(archive)
    score_published_runs(opened, tmp_path / "runs", no_progress)
    runs = read_runs([tmp_path / "runs" / run.folder for run in published_runs(opened)], "released")
    found = [one for one in exhibits(Inputs(runs), []) if not isinstance(one, Missing)]
    names = {one.name.partition(",")[0] for one in found}
    assert names >= {"Figure 4", "Table 4", "Table 15", "Table 18", "Table 19", "Figure 8", "E.8"}
    assert all(one.table.rows and one.table.html() for one in found)


def test_labels_and_writers_tell_lines_apart(lines, given):
    run = given.inputs.runs[0]
    same = [replace(run, label="a b"), replace(run, label="a-b"), replace(run, label="A B", book="long")]
    for found in (lines, lines_of(Inputs(same))):  # no two have one file name
        assert len({slug(line.label) for line in found}) == len(found)
    assert "A B on long" in {line.label for line in found}
    (line,) = lines_of(Inputs([], [replace(REPORTED, dataset="short by gpt-4o")]))
    assert (line.book, line.writer, line.text, line.source) == ("short", "gpt-4o", "short by gpt-4o", "reported")
    published = next(run for run in given.inputs.runs if run.source == "released")
    own = replace(run, fingerprint=published.fingerprint, folder=published.folder)  # it knows its writer
    found = lines_of(Inputs([own, *given.inputs.runs]))
    (line,) = [line for line in found if line.source == "own" and line.fingerprint == own.fingerprint]
    assert (line.writer, line.text) == ("gpt-4o-2024-05-13", GPT_BOOK)
    names = {"very-long": ("very-long", "default", ""), "my-town-long-ordered": ("long", "my-town", "-ordered")}
    assert {book: parts_of(book) for book in names} == names


def test_reported_rows_stand_with_the_others_once(given):
    other = replace(REPORTED, table="Table 14", scores={"f1_by_bin.0": 0.0})
    rows = [REPORTED, replace(REPORTED, table="Table 14"), replace(REPORTED, source="Another paper"), other]
    table = made(recall.by_bin, given.inputs.runs, [*rows, replace(REPORTED, dataset="long")])["Table 13"].table
    found = [tuple(row[1:6]) for row in table.rows if "(reported)" in row[1]]
    cells = [("0.50 ± 0.12", "0.25")] * 2 + [("0.00 ± 0.12", "–")]
    assert found == [("gpt (reported)", "", "short", *of) for of in cells]
    assert "A paper: Table 13" in " ".join(table.notes) and "They stopped early." in " ".join(table.notes)
    row = replace(REPORTED, table="E.8", scores={"hallucinations": 0.16}, deviations={}, counts={"hallucinations": 150})
    share = made(inventions.hallucinations, given.inputs.runs[:1], [row])["E.8"].records[-1]
    assert [round(share[f"share_{of}"], 3) for of in ("mean", "low", "high")] == [0.16, 0.11, 0.227]


def test_rows_stand_in_the_order_of_the_paper(tulving):
    def about(row):
        universe, _, size = row["book"].removesuffix("-ordered").rpartition("-")
        memory, is_plain = MEMORIES.index(row["memory"]), not row["book"].endswith("-ordered")
        return row | {"memory": memory, "is_plain": is_plain, "is_long": size == "long", "universe": universe}

    for name, columns in ORDERED_BY.items():
        places = [itemgetter(*columns.split())(about(row)) for row in tulving.exhibits[name].records]
        assert places == sorted(places) and len({*places}) > 3, name


def test_what_cannot_be_made(given):
    def missing(runs, **more):
        return {one.name for one in exhibits(Inputs(runs), [], **more) if isinstance(one, Missing)}

    runs, alike = given.inputs.runs, dict.fromkeys(range(1, 21), "Realistic")
    gpts = [run for run in runs if run.source == "released" and "prompting_model_gpt" in run.folder.name]
    few, more = missing(runs[:1]), missing(runs[:3])
    assert few - more == {"Figure 7", "Figure 8", "Table 14, memories", "Table 14, chunks"}
    assert more >= {"Figure 3", "Books of several seeds", *(f"Table {n}" for n in (3, 16, *range(20, 26), 27))}
    assert more - missing(runs[:3], realism={runs[0].fingerprint: alike}) == {"Table 24"}  # with nothing to compare
    assert more == missing(runs[:3], realism={"another": alike}) and "Table 13" not in more
    assert "Table 13" in missing([replace(runs[0], book="long")])
    assert {"Table 20", "Table 21"} & missing(gpts) == {"Table 21"}


def test_every_book_has_a_table_and_files_of_its_own(given):
    runs = [replace(given.inputs.runs[0], book=book, label=book) for book in ("long x", "long-x", "short")]
    found = {one.name: slug(one.name) for one in exhibits(Inputs(runs), [])}
    assert {"Table 3, long x", "Table 3, long-x, 2"} <= found.keys() and len({*found.values()}) == len(found)


def test_answers_to_a_repeated_question_are_counted_each(given):
    run = given.inputs.runs[3]
    again = run.questions.assign(repeat=1, items=run.questions["items"].map(lambda items: [*items, *items]))
    twice = replace(run, questions=pd.concat([run.questions, again], ignore_index=True))
    found = made(recall.by_bin, [twice]) | made(groups.grouped, [twice], [], ["repeat"])
    assert any("once for each answer" in note for note in found["Table 13"].table.notes)
    assert [row["n"] for row in found["F1 by repeat"].records] == [len(run.questions)] * 2
    both, once = (made(inventions.hallucinations, [one])["E.8"].records for one in (twice, run))
    for row, single in zip(both, once, strict=True):
        assert (row["n"], row["share_mean"], row["share_low"]) == (2 * single["n"], single["share_mean"], None)
        assert row["items_mean"] == pytest.approx(single["items_mean"])  # an item that is named twice is one


def test_a_missing_answer_names_nothing_and_hides_nothing(given):
    """Whoever leaves out what never happened has invented nothing, and has not shown that they would not."""
    questions = given.inputs.runs[0].questions.copy()
    gone = (questions["bin"] == "0") & (questions["get"] == "all") & (questions["trace"] == "times")
    questions.loc[gone, ["outcome", "f1", "answer"]] = ["wrong", 0.0, None]
    questions["items"] = [[] if lost else list(items) for lost, items in zip(gone, questions["items"], strict=True)]
    row = made(inventions.hallucinations, [replace(given.inputs.runs[0], questions=questions)])["E.8"].records[0]
    assert row["n_failed"] == (n := int(gone.sum())) and row["share_mean"] is None
    assert row["share_highest"] - row["share_lowest"] == pytest.approx(n / (row["n"] + n))


def test_invented_items_are_counted_by_their_source(given, all_books):
    """Where an item comes from is tested with the scores."""
    book, run = replace(all_books[0], fingerprint=FINGERPRINT), given.inputs.runs[0]
    questions, people = run.questions.copy(), sorted({chapter.event.entity for chapter in book.chapters})
    questions["items"] = [[people[at % len(people)], "Nobody Else"] for at in range(len(questions))]
    questions["scores"] = [[0.0] * len(true) for true in questions["reference"]]
    questions["answer"], questions["outcome"] = "It says so.", "wrong"
    runs = [replace(run, questions=questions), given.inputs.runs[3]]
    (exhibit,) = made(inventions.sources, runs, [], [book]).values()
    items = exhibit.points.to_dict("records")
    counts = Counter((item["bin"] == "0", item["item_from"]) for item in items)
    assert {kind for _, kind in counts} == {*SOURCES}
    assert {item["distance"] for item in items if item["item_from"] == "matching"} == {0}
    for row in exhibit.frame.to_dict("records"):
        is_empty = inventions.GROUPS[row["questions"]]
        n, of = counts[is_empty, row["source_of_items"]], sum(counts[is_empty, source] for source in SOURCES)
        assert (row["found"], row["mean"], row["items"]) == (n, pytest.approx(n / of), of)
    assert any("Not traced, without their books" in note for note in exhibit.notes)
    for run in given.inputs.runs[:3]:  # lost questions name nothing
        asked = [q for _, q in given.plain(run) if q and (q["trace"] != "full_details" or q["bin"] == "0")]
        (exhibit,) = made(inventions.sources, [run], [], [book]).values()
        for row in exhibit.frame.to_dict("records"):
            assert row["answers"] == sum((q["bin"] == "0") == inventions.GROUPS[row["questions"]] for q in asked)


def test_groups_stand_in_the_order_of_the_benchmark_and_others_are_refused(lines):
    runs = [line for line in lines if line.source == "own"]
    table = groups.grouped(runs, ["bin"]).table
    assert [row[0] for row in table.rows] == [bin_ for bin_ in BINS if bin_ != "6+" for _ in runs]
    assert groups.grouped(runs[:1], ["entity"]).table.rows[-1][0] == "not given"
    numbers = [int(row[0]) for row in groups.grouped(runs[:1], ["template"]).table.rows]
    assert numbers == sorted(numbers) and groups.grouped(runs[:1], ["id"]).plot is None
    lossy = [line for line in runs if line.label == LOSSY]
    by_outcome = {row["outcome"]: row["n_failed"] > 0 for row in groups.grouped(lossy, ["outcome"]).records}
    assert list(by_outcome.items()) == [("right", False), ("wrong", False), ("failed", True)]
    for column, said in {"reference": "a list", "f1": "averaged", "bins": ""}.items():
        with pytest.raises(BadInput, match=f"{column!r}.*{said}.*{', '.join(groups.GROUPABLE)}"):
            groups.grouped(lines, ["cue", column])
    with pytest.raises(BadInput, match="grouped by"):
        groups.grouped(lines, ["cue", "cue"])


def test_books_of_several_seeds(given):
    """The complete runs with the whole book in mind, as if one reader and one judge had read three books."""
    whole = [run for run in given.inputs.runs if run.memory == "in-context" and "claude-3" not in run.model]
    about = [{"label": f"seed {n}", "scores": run.scores | {"judge": None}} for n, run in enumerate(whole)]
    runs = [replace(run, model="m", source="own", **of) for run, of in zip(whole, about, strict=True)]
    (exhibit,) = made(groups.seeds, [*runs[:2], replace(runs[0], label="again")]).values()
    said = " ".join(exhibit.table.notes)
    assert "differ in more than the book" in said and "again is left out: it is on the same book as seed 0." in said
    lost = runs[0].scores | {"latest": None, "incomplete": {"latest": [0.1, 0.4]}, "intervals": {}}
    for n in (1, 2):  # books beside it, without which there is no mean of them
        (found,) = made(groups.seeds, [replace(runs[0], scores=lost), *runs[1 : 1 + n]]).values()
        (row, *_, whole) = [row for row in found.records if row["score"] == "latest"]
        assert (row["mean"], row["within"], row["lowest"], row["highest"]) == (None, None, 0.1, 0.4)
        assert (whole["label"], whole["n_books"], whole["mean"] is None) == ("all books", n, n == 1)
        assert any("is not in the row of all books" in note for note in found.table.notes)
