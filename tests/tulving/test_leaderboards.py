"""Leaderboards: who is ranked with whom, floors and ceilings, and what is said of the judge."""

from pathlib import Path

import pandas as pd
import pytest

import epbench
from epbench.models.protocol import Request
from epbench.reports.leaderboard import BELOW
from epbench.reports.reported import ReportedRow
from epbench.tulving.dataset.load import load_book
from epbench.tulving.leaderboard import COLUMNS, leaderboards, naming_everything
from epbench.tulving.paper.inputs import Inputs, Line
from epbench.tulving.questions.generate import BINS
from epbench.tulving.reader import EverythingReader

PASSPORT = {"passport": {"n": 30}, "sensitivity": 0.916, "specificity": 0.924}
SCORES = {"chronological_awareness": 0.3, "latest": 0.4, "all_matched": 0.2, "n_by_bin": dict.fromkeys(BINS, 10)}
SCORES |= {"judge": {"name": "lexical", "prompt_hash": "rules-3"} | PASSPORT, "incomplete": {}, "intervals": {}}
REPORTED = ReportedRow("A paper", "ranking", "long", "gpt", "in-context", {"simple_recall_score": 0.67}, {}, {}, {})


def run(label, recall, *, memory="in-context", model="m", source="own", **more):
    scores = {"simple_recall_score": recall} | SCORES | more
    return Line(label, source, Path("runs", label), "long", "f1", memory, model, scores, pd.DataFrame())


def board_of(*runs, reported=()):
    (board,) = leaderboards(Inputs(runs, reported))
    return board


def test_own_released_and_reported_rows_stand_in_one_table_and_are_told_apart():
    others = run("c", 0.1, judge={"name": "a", "prompt_hash": "1", "passport": None}), run("d", 0.0, judge=None)
    board = board_of(run("a", 0.5), run("b", 0.7, source="released"), *others, reported=[REPORTED])
    assert [row[1] for row in board.table.rows] == ["m (released)", "gpt (reported)", "m", "m", "m"]
    said = ["lexical, sensitivity 0.92, specificity 0.92", "the paper's, without a passport"]
    assert [row[-2] for row in board.table.rows] == [*said, said[0], "a, without a passport", "not noted"]
    assert board.table.rows[1][-1] == "A paper, ranking"
    board = board_of(run("a", 0.99), reported=[REPORTED])  # a template book is not the published one
    assert [(row[0], row[3]) for row in board.table.rows] == [("1", "this book"), ("1", "the published book")]
    assert any("other events" in note for note in board.table.notes)


def test_floors_are_the_highest_without_memory_and_ceilings_those_of_the_whole_book_with_the_same_model():
    rag, other = run("rag", 0.85, memory="rag-chapter"), run("other", 0.85, memory="rag-chapter", model="n")
    board = board_of(rag, run("none", 0.9, memory="none"), run("whole", 0.95), other)
    bounds = {of["label"]: [of[f"simple_recall_score_{end}"] for end in ("floor", "ceiling")] for of in board.records}
    assert bounds == {"whole": [0.9, 1], "none": [0.9, 0.95], "rag": [0.9, 0.95], "other": [pytest.approx(0.8), 1]}
    cells = {record["label"]: row[3] for record, row in zip(board.records, board.table.rows, strict=True)}
    assert [label for label in cells if BELOW in cells[label]] == ["rag"]
    few = board_of(run("low", 0.1, n_by_bin={"0": 10}), run("lower", 0.1, n_by_bin={"0": 10, "1": 10}))
    assert [record["simple_recall_score_floor"] for record in few.records] == [1.0, 0.5]


def test_the_floor_of_naming_everything_is_what_that_baseline_scores(short_book):
    rows = load_book(str(short_book)).rows
    asked = [Request(row["id"], "", "", "Who?") for row in rows]
    scored = epbench.score(rows, {reply.id: reply.text for reply in EverythingReader(rows).answer(asked)}).scores
    questions = pd.DataFrame(rows).rename(columns={"answer": "reference"})
    floors = naming_everything(scored["n_by_bin"], pd.concat([questions, questions]))  # as if asked twice
    assert floors.keys() == {*COLUMNS.values(), "harsh_simple_recall_score"}
    assert floors == pytest.approx({name: scored[name] for name in floors}, abs=0.01)
    assert floors["simple_recall_score"] > 0.7 > 0.2 > floors["harsh_simple_recall_score"] and floors["latest"] == 1
