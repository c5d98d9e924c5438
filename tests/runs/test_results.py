"""What a finished run leaves, and how the folders of several runs are read."""

import json

import pytest

from epbench import BadInput
from epbench.files.typed import fields
from epbench.runs.merge import limit_of, read_shards
from epbench.runs.results import RESULTS, write_results
from epbench.runs.several import benchmark_of, by_benchmark, check_same, labels_of, names_of, runs_in


def made(folder, benchmark="b", **identity):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({"identity": {"benchmark": benchmark, **identity}, "limit": 3}))
    return folder


def test_results_are_written_whole(tmp_path):
    written = {"scores": {"a": None}, "usage": {"n": 1}, "table": "| x |", "report": "<html>"}
    write_results(tmp_path, **written)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(RESULTS)
    assert json.loads((tmp_path / "scores.json").read_text()) == {"a": None}


def test_runs_are_found_and_named(tmp_path):
    one, two = made(tmp_path / "a" / "run"), made(tmp_path / "b" / "run")
    assert runs_in(one) == [one] == runs_in(tmp_path / "a") and benchmark_of(tmp_path / "a") == "b"
    assert names_of([one]) == {"run": one} and names_of([one, two]) == {str(one): one, str(two): two}
    with pytest.raises(BadInput, match="two runs are called 'run'; rename a folder"):
        labels_of([one, two])
    with pytest.raises(BadInput, match="a run is given twice"):
        names_of([one, one / ".." / "run"])
    with pytest.raises(BadInput, match="nothing: no run.json in it; expected the folder of a run"):
        benchmark_of(tmp_path / "nothing")
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
    with pytest.raises(BadInput, match="the shards have different limits"):
        limit_of([{"limit": 3}, {"limit": 4}], None)
    with pytest.raises(BadInput, match="1: one of the shards; expected another folder for the whole run"):
        read_shards(shards, shards[0], fields({}))
    with pytest.raises(BadInput, match=r"3/run.json: its model is 'other'; expected 'm', as in .*1"):
        read_shards([*shards, made(tmp_path / "3", model="other")], tmp_path / "out", fields({}))
    with pytest.raises(BadInput, match=r"1/run.json, field 'label': expected a text, found nothing"):
        read_shards(shards, tmp_path / "out", fields({"label": str}))
