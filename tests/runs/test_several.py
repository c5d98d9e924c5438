"""Which runs folders stand for: several runs, shards, and those of a training."""

import json

import pytest

from epbench.errors import BadInput
from epbench.files.typed import fields
from epbench.runs.merge import limit_of, read_shards
from epbench.runs.several import benchmark_of, by_benchmark, check_same, labels_of, measured_runs, names_of, runs_in
from tests.refusals import refusal

KINDS = ("sort", "tulving")


def made(folder, benchmark="b", **identity):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"identity": {"benchmark": benchmark, **identity}, "limit": 3}))
    return folder


def test_runs_are_found_and_named(tmp_path):
    one, two = made(tmp_path / "a" / "run"), made(tmp_path / "b" / "run")
    assert runs_in(one) == [one] == runs_in(tmp_path / "a") and benchmark_of(tmp_path / "a") == "b"
    assert names_of([one]) == {"run": one} and names_of([one, two]) == {str(one): one, str(two): two}
    assert "two runs are called 'run'; rename a folder" in refusal(labels_of, [one, two])
    assert "a run is given twice" in refusal(names_of, [one, one / ".." / "run"])
    assert "nothing: no run.json in it; expected the folder of a run" in refusal(benchmark_of, tmp_path / "nothing")
    other = made(tmp_path / "other", "c")
    assert by_benchmark({"1": one, "x": other, "2": two}) == {"b": {"1": one, "2": two}, "c": {"x": other}}


def test_runs_on_other_questions_are_named(tmp_path):
    described = {tmp_path / name: {"identity": {"split": split}} for name, split in (("a", "test"), ("b", "other"))}
    with pytest.raises(BadInput, match=r"b/run.json: its split is 'other', that of .*a is 'test'"):
        check_same(described, ["split"])
    check_same(described, ["fingerprint"])


def test_shards_of_one_run_are_read(tmp_path):
    shards = [made(tmp_path / str(i), model="m") for i in (1, 2)]
    described = read_shards(shards, tmp_path / "out", fields({}))
    assert [run["limit"] for run in described] == [3, 3] == [limit_of(described, None)] * 2
    assert limit_of(described, 5) == 5 and limit_of([{}, {"limit": None}], None) is None
    with pytest.raises(BadInput, match=r"3/run.json: its model is 'other'; expected 'm', as in .*1"):
        read_shards([*shards, made(tmp_path / "3", model="other")], tmp_path / "out", fields({}))
    with pytest.raises(BadInput, match=r"1/run.json, field 'label': expected a text, found nothing"):
        read_shards(shards, tmp_path / "out", fields({"label": str}))


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


def test_the_first_kind_that_there_is_counts(training):
    assert list(measured_runs({"t": training}, ("none", "tulving", "sort"))) == ["t, epoch 2"]
    with pytest.raises(BadInput, match=r"books: no epoch .* like measures/epoch-1/none or measures/epoch-1/other"):
        measured_runs({"t": training}, ("none", "other"))


def test_trainings_of_the_same_name_are_told_apart_by_their_path(training, tmp_path):
    other = made(tmp_path / "again/books", "finetuning")
    made(other / "measures/epoch-1/sort", "x")
    runs = measured_runs(names_of([training, other]), KINDS)
    assert len(runs) == 4 and f"{other}, epoch 1" in runs


def test_other_folders_stand_for_themselves(tmp_path):
    """A folder of several configs has no run.json; one without any run is refused where its benchmark is asked for."""
    made(tmp_path / "both/easy", "z")
    (tmp_path / "empty").mkdir()
    folders = {"both": tmp_path / "both", "empty": tmp_path / "empty"}
    assert measured_runs(folders, KINDS) == folders
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "run.json").write_text("{")
    assert "damaged/run.json" in refusal(measured_runs, {"damaged": damaged}, KINDS)
