"""What is read: runs, runs on several configs, trainings, and trials of people that others publish."""

import json

import pandas as pd
import pytest

from epbench.booksort.paper.inputs import Inputs, people_of, read_inputs
from epbench.booksort.paper.rates import reported_of
from epbench.booksort.paper.results import DECLARED
from epbench.errors import BadInput
from epbench.reports.reported import read_reported
from tests.booksort.paper.made_runs import make_run, mostly_right


def training_of(folder, dataset, method="sort_lm", control=None):
    """A training whose epochs were asked, but not measured otherwise."""
    for epoch in (0, 1, 10, 2):
        for kind, memory in (("sort", "none"), ("sort-in-context", "in-context")):
            make_run(folder / f"measures/epoch-{epoch}/{kind}", dataset, mostly_right(0.5), memory=memory)
    identity = {"benchmark": "finetuning", "method": method, "model": "tiny", "control": control}
    (folder / "run.json").write_text(json.dumps({"identity": identity, "dataset": str(dataset)}))
    return folder


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
def test_runs_that_differ_otherwise_stay_apart(tmp_path, small_set):
    make_run(tmp_path / "m/a", small_set, mostly_right(0.5), configs=["e120_s20"])
    make_run(tmp_path / "m/b", small_set, mostly_right(0.9), configs=["e120_s20"])  # the same config again
    make_run(tmp_path / "m/c", small_set, mostly_right(0.5), configs=["e250_s20"], memory="in-context")
    assert [run.label for run in read_inputs([tmp_path / "m"], reported=()).runs] == ["m/a", "m/b", "m/c"]


@pytest.mark.slow
def test_trainings_stand_apart_with_their_measures(tmp_path, small_set):
    training_of(tmp_path / "all/books", small_set)
    training_of(tmp_path / "all/control", small_set, control="summaries")
    plain = make_run(tmp_path / "plain", small_set, mostly_right(0.5))
    inputs = read_inputs([plain, tmp_path / "all/books"])
    assert isinstance(inputs, Inputs) and [run.label for run in inputs.runs] == ["plain"]
    (found,) = inputs.trainings
    assert (found.label, found.model, found.trained) == ("books", "tiny", "books")
    measures = [(epoch, memory) for epoch in (0, 1, 2, 10) for memory in ("none", "in-context")]
    assert [(run.epoch, run.memory) for run in found.runs] == measures
    assert {run.training for run in found.runs} == {"books"} and found.runs[2].label == "books, epoch 1"
    together = read_inputs([tmp_path / "all"]).trainings  # from the folder that they lie in
    assert [(one.label, one.trained) for one in together] == [("all/books", "books"), ("all/control", "summaries")]


@pytest.mark.slow
def test_other_runs_are_refused(tmp_path, small_set):
    run = make_run(tmp_path / "r", small_set, mostly_right(0.5))
    content = json.loads((run / "run.json").read_text())
    content["identity"]["benchmark"] = "memfail"
    (run / "run.json").write_text(json.dumps(content))
    with pytest.raises(BadInput, match="'memfail'; expected a run of Book-SORT"):
        read_inputs([run])
    with pytest.raises(BadInput, match="expected 'sort_lm'"):
        read_inputs([training_of(tmp_path / "t", small_set, method="tulving_qa")])


@pytest.mark.slow
def test_a_run_of_an_earlier_version_is_read_from_its_journals(tmp_path, small_set):
    old = make_run(tmp_path / "old", small_set, mostly_right(0.5))
    (whole,) = read_inputs([old], reported=()).runs
    (old / "questions.parquet").unlink()
    (found,) = read_inputs([old], reported=()).runs
    pd.testing.assert_frame_equal(found.questions, whole.questions)
    gone = dict.fromkeys(("dataset", "dataset_folder"), str(tmp_path / "nowhere"))
    (old / "run.json").write_text(json.dumps(json.loads((old / "run.json").read_text()) | gone))
    with pytest.raises(BadInput, match="has no questions.parquet; start the run again"):
        read_inputs([old])


# Trials of people


def people(folder, *rows, head="participant,segment_length,distance,correct"):
    (folder / "t.csv").write_text("".join(f"{row}\n" for row in (head, *rows)), "utf-8")
    return people_of(folder / "t.csv")


def test_every_bin_of_distance_has_its_binomial_test(tmp_path):
    rows = [f"p{i % 10},50,30000,{int(i >= 5)}" for i in range(40)]  # 35 of 40 right
    run = people(tmp_path, *rows, *(f"p{i % 10},50,50,{'true' if i % 2 else 'false'}" for i in range(20)))
    (figure,) = (one.make(Inputs([run])) for one in DECLARED if one.name == "Figure 2")
    far, near = (figure.frame.query(f"over == {over}").iloc[0] for over in (25000, 0))
    assert (far["mean"], far["n"], near["mean"]) == (35 / 40, 40, 0.5)
    assert far["p"] == pytest.approx(1.38e-6, rel=0.01) and near["p"] == 1  # scipy.stats.binomtest(35, 40)
    assert far["p_holm"] == pytest.approx(2 * far["p"]) and (far["model"], far["memory"]) == ("people", "read-once")


def test_accuracies_of_people_are_a_row_of_reported_numbers(tmp_path):
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
