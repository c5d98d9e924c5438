"""Leaderboards: who is ranked with whom, floors and ceilings, and what is said of the judge."""

from pathlib import Path

import pandas as pd
import pytest

import epbench
from epbench.booksort.paper.inputs import Inputs as SortInputs
from epbench.booksort.paper.inputs import reported_numbers
from epbench.booksort.paper.make import leaderboards as sort_leaderboards
from epbench.models.protocol import Request
from epbench.reports.leaderboard import BELOW
from epbench.reports.reported import ReportedRow
from epbench.tulving.dataset.load import load_book
from epbench.tulving.paper.inputs import Inputs, Line
from epbench.tulving.paper.make import COLUMNS, judge_in_words, leaderboards, naming_everything
from epbench.tulving.questions.generate import BINS
from epbench.tulving.reader.lexical import EverythingReader

CHECKED = {"name": "lexical", "prompt_hash": "rules-3", "passport": {"n": 30}}
CHECKED |= {"sensitivity": 0.916, "specificity": 0.924}
SCORES = {"chronological_awareness": 0.3, "latest": 0.4, "all_matched": 0.2, "n_by_bin": dict.fromkeys(BINS, 10)}
SCORES |= {"judge": CHECKED, "incomplete": {}, "intervals": {}}
REPORTED = ReportedRow("A paper", "ranking", "long", "gpt", "in-context", {"simple_recall_score": 0.67}, {}, {}, {})


def run(label, recall, *, memory="in-context", model="m", source="own", **more):
    scores = {"simple_recall_score": recall} | SCORES | more
    return Line(label, source, Path("runs", label), "long", "f1", memory, model, scores, pd.DataFrame())


def test_own_released_and_reported_rows_stand_in_one_table_and_are_told_apart():
    (board,) = leaderboards(Inputs([run("a", 0.5), run("b", 0.7, source="released")], [REPORTED]))
    ranked = [("1", "m (released)"), ("2", "gpt (reported)"), ("3", "m")]
    assert [(row[0], row[1]) for row in board.table.rows] == ranked and board.name == "Leaderboard, long"
    assert board.table.rows[1][-1] == "A paper, ranking" and "without a passport" in board.table.rows[1][-2]
    (board,) = leaderboards(Inputs([run("a", 0.99)], [REPORTED]))  # a template book is not the published one
    assert [(row[0], row[3]) for row in board.table.rows] == [("1", "this book"), ("1", "the published book")]
    assert any("other events" in note for note in board.table.notes)


def test_the_floor_is_to_abstain_to_name_everything_or_the_model_without_memory_whichever_is_highest():
    runs = [run("rag", 0.85, memory="rag-chapter"), run("none", 0.9, memory="none"), run("other", 0.85, model="n")]
    (board,) = leaderboards(Inputs(runs))
    floors = {record["label"]: record["simple_recall_score_floor"] for record in board.records}
    assert floors == {"rag": 0.9, "none": 0.9, "other": pytest.approx(0.8)}
    cells = {record["label"]: row[3] for record, row in zip(board.records, board.table.rows, strict=True)}
    assert [label for label in cells if BELOW in cells[label]] == ["rag"]
    few = [run("low", 0.1, n_by_bin={"0": 10}), run("lower", 0.1, n_by_bin={"0": 10, "1": 10})]
    (board,) = leaderboards(Inputs(few))
    assert [record["simple_recall_score_floor"] for record in board.records] == [1.0, 0.5]


def test_the_floor_of_naming_everything_is_what_that_baseline_scores(short_book):
    rows = load_book(str(short_book)).rows
    asked = [Request(row["id"], "", "", "Who?") for row in rows]
    scored = epbench.score(rows, {reply.id: reply.text for reply in EverythingReader(rows).answer(asked)}).scores
    questions = pd.DataFrame(rows)[["id", "trace", "get", "bin", "n_chapters", "answer"]]
    questions = questions.rename(columns={"answer": "reference"})
    floors = naming_everything(scored["n_by_bin"], pd.concat([questions, questions]))  # as if asked twice
    assert floors.keys() == {*COLUMNS.values(), "harsh_simple_recall_score"}
    assert floors == pytest.approx({name: scored[name] for name in floors}, abs=0.01)
    assert floors["simple_recall_score"] > 0.7 > 0.2 > floors["harsh_simple_recall_score"] and floors["latest"] == 1
    assert scored["items_ratio"] > 1.5 and scored["latest_several"] == 1


def test_the_ceiling_is_the_same_model_with_the_whole_book_and_a_judge_has_its_passport():
    rag, alone = run("rag", 0.5, memory="rag-chapter"), run("alone", 0.4, memory="rag-chapter", model="n")
    (board,) = leaderboards(Inputs([rag, run("whole", 0.9), alone]))
    ceilings = {record["label"]: record["simple_recall_score_ceiling"] for record in board.records}
    assert ceilings == {"rag": 0.9, "whole": 1.0, "alone": 1.0}
    assert judge_in_words(CHECKED, "lexical") == "lexical, sensitivity 0.92, specificity 0.92"
    assert judge_in_words({"passport": None}, "x") == "x, without a passport"
    assert judge_in_words(None, "not noted") == "not noted"


@pytest.mark.slow
def test_reported_rows_alone_make_a_leaderboard_of_sort_and_own_rows_are_ranked_apart(sort_inputs, booksort):
    (board,) = sort_leaderboards(SortInputs([], reported=reported_numbers()))
    assert {record["source"] for record in board.records} == {"reported"}
    assert all(record["accuracy_floor"] in (0.5, None) for record in board.records)
    values = [record["accuracy_mean"] for record in board.records if record["accuracy_mean"] is not None]
    assert values == sorted(values, reverse=True)
    own = [r for board in sort_leaderboards(sort_inputs) for r in board.records if r["source"] == "own"]
    assert len(own) >= len(sort_inputs.runs)
    for label, rows in booksort.rows.items():
        (record,) = [one for one in own if one["label"] == label]
        right = [row.right for row in rows]
        assert record["accuracy_mean"] == (None if None in right else sum(right) / len(right))
        assert (record["accuracy_lowest"] is not None) == (None in right)
        assert record["accuracy_floor"] >= 0.5 and record["about"] == "these pairs"
