import json

import pandas as pd
import pytest

from epbench.booksort.paper.inputs import Inputs, read_inputs
from epbench.errors import BadInput
from tests.booksort.paper.made_runs import make_run, mostly_right


def training_of(folder, dataset, method="sort_lm", control=None):
    """A training whose epochs were asked, but not measured otherwise."""
    for epoch in (0, 1, 10, 2):
        for kind, memory in (("sort", "none"), ("sort-in-context", "in-context")):
            make_run(folder / f"measures/epoch-{epoch}/{kind}", dataset, mostly_right(0.5), memory=memory)
    identity = {"benchmark": "finetuning", "method": method, "model": "tiny", "control": control}
    (folder / "run.json").write_text(json.dumps({"identity": identity, "dataset": str(dataset)}))
    return folder


def test_a_run_is_read_with_its_questions(tmp_path, small_set):
    folder = make_run(tmp_path / "base", small_set, mostly_right(0.5), model="someone/m", configs=["e250_s20"])
    (run,) = read_inputs([folder], reported=()).runs
    assert (run.label, run.memory, run.model, run.dataset) == ("base", "none", "someone/m", "booksort")
    assert run.configs == ("e250_s20",) and (run.training, run.epoch) == (None, None)
    assert len(run.questions) == len((folder / "answers.jsonl").read_text().splitlines())


def test_runs_on_several_configs_in_one_folder_are_one(tmp_path, small_set):
    for config in ("e120_s20", "e250_s20"):
        make_run(tmp_path / "m" / config, small_set, mostly_right(0.5), configs=[config])
    (run,) = read_inputs([tmp_path / "m"], reported=()).runs
    assert (run.label, run.folder, run.configs) == ("m", tmp_path / "m", ("e120_s20", "e250_s20"))
    parts = [read_inputs([tmp_path / "m" / config], reported=()).runs[0] for config in run.configs]
    assert run.fingerprint == "+".join(part.fingerprint for part in parts)
    assert list(run.questions["id"]) == [id_ for part in parts for id_ in part.questions["id"]]


@pytest.mark.slow
def test_runs_that_differ_otherwise_stay_apart(tmp_path, small_set):
    make_run(tmp_path / "m/a", small_set, mostly_right(0.5), configs=["e120_s20"])
    make_run(tmp_path / "m/b", small_set, mostly_right(0.9), configs=["e120_s20"])  # the same config again
    make_run(tmp_path / "m/c", small_set, mostly_right(0.5), configs=["e250_s20"], memory="in-context")
    assert [run.label for run in read_inputs([tmp_path / "m"], reported=()).runs] == ["m/a", "m/b", "m/c"]


@pytest.mark.slow
def test_a_training_stands_apart_with_its_measures(tmp_path, small_set):
    training = training_of(tmp_path / "books", small_set)
    plain = make_run(tmp_path / "plain", small_set, mostly_right(0.5))
    inputs = read_inputs([plain, training])
    assert isinstance(inputs, Inputs) and [run.label for run in inputs.runs] == ["plain"]
    (found,) = inputs.trainings
    assert (found.label, found.model, found.trained) == ("books", "tiny", "books")
    assert [(run.epoch, run.memory) for run in found.runs] == [
        (epoch, memory) for epoch in (0, 1, 2, 10) for memory in ("none", "in-context")
    ]
    assert {run.training for run in found.runs} == {"books"} and found.runs[2].label == "books, epoch 1"


@pytest.mark.slow
def test_trainings_beside_one_another_are_read_from_their_folder(tmp_path, small_set):
    training_of(tmp_path / "all/books", small_set)
    training_of(tmp_path / "all/control", small_set, control="summaries")
    found = read_inputs([tmp_path / "all"]).trainings
    assert [(one.label, one.trained) for one in found] == [("all/books", "books"), ("all/control", "summaries")]


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
