"""Which measured runs a folder stands for."""

import json

import pytest

from epbench.errors import BadInput
from epbench.runs.several import by_benchmark, measured_runs, names_of

KINDS = ("sort", "tulving")


def made(folder, benchmark):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"identity": {"benchmark": benchmark}}))
    return folder


@pytest.fixture
def training(tmp_path):
    """Epochs 0, 9 and 10 have a run of the first kind, epoch 2 of another only, and epoch 3 is not measured yet."""
    folder = made(tmp_path / "books", "finetuning")
    for epoch in (10, 0, 9):
        made(folder / f"measures/epoch-{epoch}/sort", "x")
        made(folder / f"measures/epoch-{epoch}/sort-in-context", "x")
    made(folder / "measures/epoch-2/tulving", "y")
    (folder / "measures/epoch-3/sort").mkdir(parents=True)
    made(folder / "measures/epoch-last/sort", "x")
    return folder


def test_a_training_stands_for_its_epochs_in_their_order(training, tmp_path):
    plain = made(tmp_path / "plain", "x")
    runs = measured_runs(names_of([plain, training]), KINDS)
    assert list(runs) == ["plain", "books, epoch 0", "books, epoch 9", "books, epoch 10"]
    assert runs["plain"] == plain and runs["books, epoch 10"] == training / "measures/epoch-10/sort"
    assert by_benchmark(runs) == {"x": runs}
    assert by_benchmark({"t": training}) == {"finetuning": {"t": training}}


def test_the_first_kind_that_there_is_counts(training, tmp_path):
    assert list(measured_runs({"t": training}, ("none", "tulving", "sort"))) == ["t, epoch 2"]
    with pytest.raises(BadInput, match=r"books: no epoch .* like measures/epoch-1/none or measures/epoch-1/other"):
        measured_runs({"t": training}, ("none", "other"))
    with pytest.raises(BadInput, match="fresh: no epoch of this training has been measured"):
        measured_runs({"fresh": made(tmp_path / "fresh", "finetuning")}, KINDS)


def test_trainings_of_the_same_name_are_told_apart_by_their_path(training, tmp_path):
    other = made(tmp_path / "again/books", "finetuning")
    made(other / "measures/epoch-1/sort", "x")
    runs = measured_runs(names_of([training, other]), KINDS)
    assert len(runs) == 4 and f"{other}, epoch 1" in runs


def test_what_is_given_twice_is_refused(training):
    with pytest.raises(BadInput, match="a run is given twice, by itself and by its training"):
        measured_runs(names_of([training, training / "measures/epoch-9/sort"]), KINDS)
    with pytest.raises(BadInput, match="a run is given twice"):
        measured_runs(names_of([training, training / "measures/.."]), KINDS)


def test_other_folders_stand_for_themselves(tmp_path):
    """A folder of several configs has no run.json; one without any run is refused where its benchmark is asked for."""
    made(tmp_path / "both/easy", "z")
    (tmp_path / "empty").mkdir()
    folders = {"both": tmp_path / "both", "empty": tmp_path / "empty"}
    assert measured_runs(folders, KINDS) == folders
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    with pytest.raises(BadInput, match=r"damaged/run\.json"):
        measured_runs({"damaged": damaged}, KINDS)
