"""Trials of people that others publish, as the run of one reader."""

import pytest

from epbench.booksort.paper.inputs import Inputs
from epbench.booksort.paper.results import DECLARED
from epbench.booksort.paper.trials import people_of, reported_of
from epbench.errors import BadInput
from epbench.reports.reported import read_reported

HEAD = "participant,segment_length,distance,correct\n"


def trials(path, rows):
    path.write_text(HEAD + "".join(f"{row}\n" for row in rows), "utf-8")
    return path


def test_every_bin_of_distance_has_its_binomial_test(tmp_path):
    rows = [f"p{i % 10},50,30000,{int(i >= 5)}" for i in range(40)]  # 35 of 40 right
    rows += [f"p{i % 10},50,50,{'true' if i % 2 else 'false'}" for i in range(20)]
    run = people_of(trials(tmp_path / "trials.csv", rows))
    (figure,) = (one.make(Inputs([run])) for one in DECLARED if one.name == "Figure 2")
    far, near = (figure.frame.query(f"over == {over}").iloc[0] for over in (25000, 0))
    assert (far["mean"], far["n"], near["mean"]) == (35 / 40, 40, 0.5)
    assert far["p"] == pytest.approx(1.38e-6, rel=0.01) and near["p"] == 1  # scipy.stats.binomtest(35, 40)
    assert far["p_holm"] == pytest.approx(2 * far["p"]) and (far["model"], far["memory"]) == ("people", "read-once")


def test_its_accuracies_are_a_row_of_reported_numbers(tmp_path):
    import json

    run = people_of(trials(tmp_path / "t.csv", ["a,20,300,1", "a,20,300,0", "b,50,300,1", "b,50,9,1"]))
    (tmp_path / "reported.json").write_text(json.dumps(reported_of(run)), "utf-8")
    (row,) = read_reported(tmp_path / "reported.json", "booksort")
    assert row.scores == {"accuracy": 0.75, "accuracy_s20": 0.5, "accuracy_s50": 1.0} and row.counts["accuracy"] == 4


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,20,far,1", r"t.csv, row 1: .*distance"),
        ("a,20,300,maybe", r"t.csv, row 1: .*correct"),
        ("a,20,300", r"t.csv, row 1"),
    ],
)
def test_bad_trials_are_refused_by_row(tmp_path, row, message):
    with pytest.raises(BadInput, match=message):
        people_of(trials(tmp_path / "t.csv", ["a,20,300,1", row]))


def test_a_file_without_trials_or_columns_is_refused(tmp_path):
    with pytest.raises(BadInput, match="expected a row"):
        people_of(trials(tmp_path / "t.csv", []))
    (tmp_path / "t.csv").write_text("participant,correct\na,1\n", "utf-8")
    with pytest.raises(BadInput, match="segment_length"):
        people_of(tmp_path / "t.csv")
