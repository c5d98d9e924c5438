"""What is read: runs, from run.json or the names of released runs; trainings; and trials of people that others publish."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from epbench.booksort.paper.inputs import Inputs as SortInputs
from epbench.booksort.paper.inputs import people_of, read_inputs
from epbench.booksort.paper.rates import reported_of
from epbench.booksort.paper.results import DECLARED
from epbench.errors import BadInput
from epbench.reports.exhibit import slug
from epbench.reports.reported import ReportedRow, read_reported
from epbench.tulving.paper.inputs import Inputs, by_book, lines_of, parts_of, read_runs, runs_among
from epbench.tulving.paper.recall import CUE, cue_text
from tests.paper.sort_runs import make_run, make_training, mostly_right
from tests.paper.tulving_runs import CLAUDE_BOOK, GPT_BOOK, LOSSY


def changed(folder, **more):
    """Change fields of run.json, and of its identity."""
    run = json.loads((folder / "run.json").read_text("utf-8"))
    run["identity"] |= more.pop("identity", {})
    (folder / "run.json").write_text(json.dumps(run | more))
    return folder


# Tulving


@pytest.mark.slow
def test_runs_are_known_by_their_run_json_and_released_ones_by_their_names(lines, given, tmp_path):
    released, own = ([line for line in lines if line.source == source] for source in ("released", "own"))
    gpt, haiku, mini = "gpt-4o-2024-08-06", "claude-3-haiku-20240307", "gpt-4o-mini-2024-07-18"
    read = {("in-context", gpt), ("in-context", haiku), ("rag-paragraph", gpt), ("rag-chapter", gpt)}
    assert {(line.memory, line.model) for line in released} == read | {("fine-tuned", mini)}
    judges = {(line.text, line.judge) for line in released}
    assert judges == {(text, f"{text.removeprefix('short by ')} (as released)") for text in (GPT_BOOK, CLAUDE_BOOK)}
    memories = {"whole": "in-context", "chapters": "rag-chapter", LOSSY: "rag-paragraph"}
    assert {line.label: line.memory for line in own} == memories
    about = {(line.model, line.judge, line.writer, line.text) for line in own}
    assert about == {("made", "lexical", "template", "short (ffffffff)")}
    order = [line.memory for line in lines]  # own ones come first
    assert order == sorted(order, key=["in-context", "rag-paragraph", "rag-chapter", "fine-tuned"].index)
    assert lines[0].source == "own" and len({slug(line.label) for line in lines}) == len(lines)
    # A model that OpenAI has tuned is fine-tuned memory
    folder = Path(shutil.copytree(given.inputs.runs[0].folder, tmp_path / "run"))
    tuned, plain = "openai:ft:gpt-4o-mini-2024-07-18:me::a1b2", "openai:gpt-4o-mini-2024-07-18"
    found = []
    for model, memory in ((tuned, "none"), (plain, "none"), (tuned, "in-context")):
        found += read_runs([changed(folder, identity={"model": model, "memory": memory})])
    assert [line.memory for line in found] == ["fine-tuned", "none", "in-context"]


@pytest.mark.slow
def test_labels_writers_and_reported_rows(given):
    run = given.inputs.runs[0]
    same = [replace(run, label="a b"), replace(run, label="a-b"), replace(run, label="A B", book="long")]
    labels = [line.label for line in lines_of(Inputs(same))]
    assert len({slug(label) for label in labels}) == 3 and "A B on long" in labels  # no two have one file name
    row = ReportedRow("A paper", "Table 20", "short by gpt-4o", "m", "in-context", {}, {}, {}, {})
    (line,) = lines_of(Inputs([], [row]))
    assert (line.book, line.writer, line.text, line.source) == ("short", "gpt-4o", "short by gpt-4o", "reported")
    assert runs_among([line]) == [] and by_book([line]) == {}
    published = next(run for run in given.inputs.runs if run.source == "released")
    own = replace(run, fingerprint=published.fingerprint, folder=published.folder)  # it knows its writer
    found = lines_of(Inputs([own, *given.inputs.runs]))
    (line,) = [line for line in found if line.source == "own" and line.fingerprint == own.fingerprint]
    assert (line.writer, line.text) == ("gpt-4o-2024-05-13", GPT_BOOK)


def test_names_of_books_and_cues():
    names = {"very-long": ("very-long", "default", ""), "my-town-long-ordered": ("long", "my-town", "-ordered")}
    names |= {"long-l3": ("long", "default", "-l3"), "own": ("", "default", "own")}
    assert {book: parts_of(book) for book in names} == names
    assert [cue_text(cue) for cue in ("t", "te", "tsec")] == ["(t, *, *, *)", "(t, *, ent, *)", "(t, s, ent, c)"]
    assert " ".join(CUE.texts) == "t s e c ts te tc se sc ec tse tsc tec sec tsec"


# Book-SORT


@pytest.mark.slow
def test_runs_on_several_configs_in_one_folder_are_one_and_others_stay_apart(tmp_path, small_set):
    half = mostly_right(0.5)
    for config in ("e120_s20", "e250_s20"):
        make_run(tmp_path / "one" / config, small_set, half, model="someone/m", configs=[config])
    (run,) = read_inputs([tmp_path / "one"], reported=()).runs
    assert (run.label, run.folder, run.configs) == ("one", tmp_path / "one", ("e120_s20", "e250_s20"))
    parts = [read_inputs([tmp_path / "one" / config], reported=()).runs[0] for config in run.configs]
    assert run.fingerprint == "+".join(part.fingerprint for part in parts)
    assert list(run.questions["id"]) == [id_ for part in parts for id_ in part.questions["id"]]
    part = parts[1]
    assert (part.label, part.memory, part.model, part.dataset) == ("e250_s20", "none", "someone/m", "booksort")
    make_run(tmp_path / "m/a", small_set, half, configs=["e120_s20"])
    make_run(tmp_path / "m/b", small_set, mostly_right(0.9), configs=["e120_s20"])  # the same config again
    make_run(tmp_path / "m/c", small_set, half, configs=["e250_s20"], memory="in-context")
    assert [run.label for run in read_inputs([tmp_path / "m"], reported=()).runs] == ["m/a", "m/b", "m/c"]
    plans = dict.fromkeys((0, 1, 10, 2), half)
    for label, control in (("books", None), ("control", "summaries")):
        make_training(tmp_path / "all" / label, small_set, plans, control=control)
    inputs = read_inputs([tmp_path / "m/a", tmp_path / "all/books"])
    assert isinstance(inputs, SortInputs) and [run.label for run in inputs.runs] == ["a"]
    (found,) = inputs.trainings
    assert (found.label, found.model, found.trained) == ("books", "tiny", "books")
    measures = [(epoch, memory) for epoch in (0, 1, 2, 10) for memory in ("none", "in-context")]
    assert [(run.epoch, run.memory) for run in found.runs] == measures
    assert {run.training for run in found.runs} == {"books"} and found.runs[2].label == "books, epoch 1"
    together = read_inputs([tmp_path / "all"]).trainings  # from the folder that they lie in
    assert [(one.label, one.trained) for one in together] == [("all/books", "books"), ("all/control", "summaries")]
    with pytest.raises(BadInput, match="expected 'sort_lm'"):
        read_inputs([changed(tmp_path / "all/books", identity={"method": "tulving_qa"})])


@pytest.mark.slow
def test_other_runs_are_refused_and_those_of_an_earlier_version_are_read_from_their_journals(tmp_path, small_set):
    old = make_run(tmp_path / "old", small_set, mostly_right(0.5))
    (whole,) = read_inputs([old], reported=()).runs
    (old / "questions.parquet").unlink()
    (found,) = read_inputs([old], reported=()).runs
    pd.testing.assert_frame_equal(found.questions, whole.questions)
    changed(old, **dict.fromkeys(("dataset", "dataset_folder"), str(tmp_path / "nowhere")))
    with pytest.raises(BadInput, match="has no questions.parquet; start the run again"):
        read_inputs([old])
    with pytest.raises(BadInput, match="'memfail'; expected a run of Book-SORT"):
        read_inputs([changed(old, identity={"benchmark": "memfail"})])


# Trials of people


def people(folder, *rows, head="participant,segment_length,distance,correct"):
    """What is read of a file with these rows."""
    (folder / "t.csv").write_text("".join(f"{row}\n" for row in (head, *rows)), "utf-8")
    return people_of(folder / "t.csv")


def test_trials_of_people_have_a_test_for_every_distance_and_make_a_row_of_reported_numbers(tmp_path):
    rows = [f"p{i % 10},50,30000,{int(i >= 5)}" for i in range(40)]  # 35 of 40 right
    run = people(tmp_path, *rows, *(f"p{i % 10},50,50,{'true' if i % 2 else 'false'}" for i in range(20)))
    (figure,) = (one.make(SortInputs([run])) for one in DECLARED if one.name == "Figure 2")
    far, near = (figure.frame.query(f"over == {over}").iloc[0] for over in (25000, 0))
    assert (far["mean"], far["n"], near["mean"]) == (35 / 40, 40, 0.5)
    assert far["p"] == pytest.approx(1.38e-6, rel=0.01) and near["p"] == 1  # scipy.stats.binomtest(35, 40)
    assert far["p_holm"] == pytest.approx(2 * far["p"]) and (far["model"], far["memory"]) == ("people", "read-once")
    run = people(tmp_path, "a,20,300,1", "a,20,300,0", "b,50,300,1", "b,50,9,1")
    (tmp_path / "reported.json").write_text(json.dumps(reported_of(run)), "utf-8")
    (row,) = read_reported(tmp_path / "reported.json", "booksort")
    assert row.scores == {"accuracy": 0.75, "accuracy_s20": 0.5, "accuracy_s50": 1.0} and row.counts["accuracy"] == 4
    for row, message in {"a,20,far,1": ".*distance", "a,20,300,maybe": ".*correct", "a,20,300": ""}.items():
        with pytest.raises(BadInput, match=rf"t.csv, row 1: {message}"):
            people(tmp_path, "a,20,300,1", row)
    with pytest.raises(BadInput, match="expected a row"):
        people(tmp_path)
    with pytest.raises(BadInput, match="segment_length"):
        people(tmp_path, "a,1", head="participant,correct")
