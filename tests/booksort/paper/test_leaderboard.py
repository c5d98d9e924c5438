from dataclasses import replace

from epbench.booksort.paper.inputs import Inputs, reported_numbers
from epbench.booksort.paper.make import leaderboards


def test_reported_rows_alone_make_a_leaderboard():
    (board,) = leaderboards(Inputs([], reported=reported_numbers()))
    assert {record["source"] for record in board.records} == {"reported"}
    assert all(record["accuracy_floor"] in (0.5, None) for record in board.records)
    values = [record["accuracy_mean"] for record in board.records if record["accuracy_mean"] is not None]
    assert values == sorted(values, reverse=True)


def test_an_own_row_is_the_share_of_right_answers_and_ranked_apart(given):
    boards = leaderboards(replace(given, reported=reported_numbers()))
    records = [record for board in boards for record in board.records if record["source"] == "own"]
    assert len(records) >= len(given.runs)
    for run in given.runs:
        (record,) = [one for one in records if one["label"] == run.label]
        outcomes = list(run.questions["outcome"])
        if "failed" in outcomes:
            assert record["accuracy_mean"] is None and record["accuracy_lowest"] is not None
        else:
            assert record["accuracy_mean"] == outcomes.count("right") / len(outcomes)
        assert record["accuracy_floor"] >= 0.5 and record["about"] == "these pairs"
