from dataclasses import replace

import pytest

from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.leaderboard import leaderboards


@pytest.fixture(scope="module")
def board(made):
    (found,) = leaderboards(replace(made.inputs, reported={}))
    return found


def test_nothing_gives_no_leaderboard():
    assert leaderboards(Inputs()) == []


def test_every_cell_is_the_success_rate_of_its_run(board, made):
    expected = {
        (run.label, run.config, k): None if scores["failed"] else scores["success_rate"]
        for run in made.inputs.runs
        for k, scores in run.scores["by_k"].items()
    }
    found = {}
    for record in board.records:
        k = record["memory"].rpartition("k = ")[2]
        for config in {config for _, config, _ in expected}:
            if (record["label"], config, k) in expected:
                found[record["label"], config, k] = record[f"{config}_mean"]
    assert found == expected


def test_floors_and_ceilings_are_those_of_the_baselines_on_the_same_rows(board, made):
    runs = {(run.system, run.config, run.model, run.judge): run for run in made.inputs.runs}
    checked = 0
    for run in made.inputs.runs:
        for k in run.scores["by_k"]:
            (record,) = [r for r in board.records if r["label"] == run.label and r["memory"].endswith(f"k = {k}")][:1]
            empty = runs.get(("none", run.config, run.model, run.judge))
            floor = record[f"{run.config}_floor"]
            assert floor >= run.scores["floor"]["success_rate"]
            if empty is not None and k in empty.scores["by_k"] and not empty.scores["by_k"][k]["failed"]:
                assert floor >= empty.scores["by_k"][k]["success_rate"]
                checked += 1
            assert 0 <= record[f"{run.config}_ceiling"] <= 1
    assert checked


def test_reported_rows_name_their_file(made):
    (found,) = leaderboards(replace(made.inputs, sources={"rates.json": "a table of the paper"}))
    reported = [record for record in found.records if record["source"] == "reported"]
    assert reported and all(record["origin"] == "rates.json" for record in reported)
    assert any("rates.json: a table of the paper." in note for note in found.table.notes)
