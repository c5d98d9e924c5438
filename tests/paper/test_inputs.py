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
from tests.paper.sort_runs import make_run, mostly_right
from tests.paper.tulving_runs import CLAUDE_BOOK, GPT_BOOK


def changed(folder, **more):
    """Change fields of run.json, and of its identity."""
    run = json.loads((folder / "run.json").read_text("utf-8"))
    run["identity"] |= more.pop("identity", {})
    (folder / "run.json").write_text(json.dumps(run | more))
    return folder


# Tulving


@pytest.mark.slow
def test_runs_are_known_by_their_run_json_and_released_ones_by_their_names(lines):
    released, own = ([line for line in lines if line.source == source] for source in ("released", "own"))
    gpt, haiku, mini = "gpt-4o-2024-08-06", "claude-3-haiku-20240307", "gpt-4o-mini-2024-07-18"
    passages = {("rag-paragraph", gpt), ("rag-chapter", gpt)}
    whole = {("in-context", gpt), ("in-context", haiku)}
    assert {(line.memory, line.model) for line in released} == whole | passages | {("fine-tuned", mini)}
    assert {line.text for line in released} == {GPT_BOOK, CLAUDE_BOOK}
    writers = "gpt-4o-2024-05-13", "claude-3-5-sonnet-20240620"
    assert {line.judge for line in released} == {f"{writer} (as released)" for writer in writers}
    memories = {"whole": "in-context", "chapters": "rag-chapter", "lossy": "rag-paragraph"}
    assert {line.label: line.memory for line in own} == memories
    assert {(line.model, line.judge, line.writer, line.text) for line in own} == {
        ("made", "lexical", "template", "short (ffffffff)")
    }
    order = [line.memory for line in lines]  # own ones come first
    assert order == sorted(order, key=["in-context", "rag-paragraph", "rag-chapter", "fine-tuned"].index)
    assert lines[0].source == "own" and len({slug(line.label) for line in lines}) == len(lines)


@pytest.mark.slow
def test_a_model_that_openai_has_tuned_is_fine_tuned_memory(given, tmp_path):
    tuned, plain = "openai:ft:gpt-4o-mini-2024-07-18:me::a1b2", "openai:gpt-4o-mini-2024-07-18"
    folder = Path(shutil.copytree(given.inputs.runs[0].folder, tmp_path / "run"))
    for model, memory, expected in (
        (tuned, "none", "fine-tuned"),
        (plain, "none", "none"),
        (tuned, "in-context", "in-context"),
    ):
        (line,) = read_runs([changed(folder, identity={"model": model, "memory": memory})])
        assert line.memory == expected


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
    assert line.writer == "gpt-4o-2024-05-13" and line.text == GPT_BOOK


def test_names_of_books_and_cues():
    names = {
        "very-long": ("very-long", "default", ""),
        "news-short": ("short", "news", ""),
        "news-very-long": ("very-long", "news", ""),
        "my-town-long-ordered": ("long", "my-town", "-ordered"),
        "long-l3": ("long", "default", "-l3"),
        "own": ("", "default", "own"),
    }
    assert {book: parts_of(book) for book in names} == names
    assert [cue_text(cue) for cue in ("t", "te", "tsec")] == ["(t, *, *, *)", "(t, *, ent, *)", "(t, s, ent, c)"]
    assert " ".join(CUE.texts) == "t s e c ts te tc se sc ec tse tsc tec sec tsec"


# Book-SORT


def training_of(folder, dataset, method="sort_lm", control=None):
    """A training whose epochs were asked, but not measured otherwise."""
    for epoch in (0, 1, 10, 2):
        for kind, memory in (("sort", "none"), ("sort-in-context", "in-context")):
            make_run(folder / f"measures/epoch-{epoch}/{kind}", dataset, mostly_right(0.5), memory=memory)
    identity = {"benchmark": "finetuning", "method": method, "model": "tiny", "control": control}
    (folder / "run.json").write_text(json.dumps({"identity": identity, "dataset": str(dataset)}))
    return folder


@pytest.mark.slow
def test_runs_on_several_configs_in_one_folder_are_one(tmp_path, small_set):
    for config in ("e120_s20", "e250_s20"):
        make_run(tmp_path / "m" / config, small_set, mostly_right(0.5), model="someone/m", configs=[config])
    (run,) = read_inputs([tmp_path / "m"], reported=()).runs
    assert (run.label, run.folder, run.configs) == ("m", tmp_path / "m", ("e120_s20", "e250_s20"))
    parts = [read_inputs([tmp_path / "m" / config], reported=()).runs[0] for config in run.configs]
    assert run.fingerprint == "+".join(part.fingerprint for part in parts)
    assert list(run.questions["id"]) == [id_ for part in parts for id_ in part.questions["id"]]
    (one,) = parts[1:]  # a run by itself is read with its questions
    assert (one.label, one.memory, one.model, one.dataset) == ("e250_s20", "none", "someone/m", "booksort")
    assert one.configs == ("e250_s20",) and (one.training, one.epoch) == (None, None)
    assert len(one.questions) == len((one.folder / "answers.jsonl").read_text().splitlines())


@pytest.mark.slow
def test_runs_that_differ_otherwise_stay_apart_and_so_do_trainings(tmp_path, small_set):
    make_run(tmp_path / "m/a", small_set, mostly_right(0.5), configs=["e120_s20"])
    make_run(tmp_path / "m/b", small_set, mostly_right(0.9), configs=["e120_s20"])  # the same config again
    make_run(tmp_path / "m/c", small_set, mostly_right(0.5), configs=["e250_s20"], memory="in-context")
    assert [run.label for run in read_inputs([tmp_path / "m"], reported=()).runs] == ["m/a", "m/b", "m/c"]
    training_of(tmp_path / "all/books", small_set)
    training_of(tmp_path / "all/control", small_set, control="summaries")
    inputs = read_inputs([tmp_path / "m/a", tmp_path / "all/books"])
    assert isinstance(inputs, SortInputs) and [run.label for run in inputs.runs] == ["a"]
    (found,) = inputs.trainings
    assert (found.label, found.model, found.trained) == ("books", "tiny", "books")
    measures = [(epoch, memory) for epoch in (0, 1, 2, 10) for memory in ("none", "in-context")]
    assert [(run.epoch, run.memory) for run in found.runs] == measures
    assert {run.training for run in found.runs} == {"books"} and found.runs[2].label == "books, epoch 1"
    together = read_inputs([tmp_path / "all"]).trainings  # from the folder that they lie in
    assert [(one.label, one.trained) for one in together] == [("all/books", "books"), ("all/control", "summaries")]


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
    with pytest.raises(BadInput, match="expected 'sort_lm'"):
        read_inputs([training_of(tmp_path / "t", small_set, method="tulving_qa")])


# Trials of people


def people(folder, *rows, head="participant,segment_length,distance,correct"):
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


BAD_TRIALS = {
    ("a,20,300,1", "a,20,far,1"): r"t.csv, row 1: .*distance",
    ("a,20,300,1", "a,20,300,maybe"): r"t.csv, row 1: .*correct",
    ("a,20,300,1", "a,20,300"): r"t.csv, row 1",
    (): "expected a row",
}


def test_bad_trials_are_refused_by_row_and_column(tmp_path):
    for rows, message in BAD_TRIALS.items():
        with pytest.raises(BadInput, match=message):
            people(tmp_path, *rows)
    with pytest.raises(BadInput, match="segment_length"):
        people(tmp_path, "a,1", head="participant,correct")
