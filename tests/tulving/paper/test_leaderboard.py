from pathlib import Path

import pandas as pd
import pytest

from epbench.exhibits.leaderboard import BELOW
from epbench.exhibits.reported import ReportedRow
from epbench.tulving.paper.inputs import Inputs, PaperRun
from epbench.tulving.paper.leaderboard import abstaining, judge_in_words, leaderboards
from epbench.tulving.questions.generate import BINS

CHECKED = {
    "name": "lexical",
    "prompt_hash": "rules-3",
    "passport": {"n": 30},
    "sensitivity": 0.916,
    "specificity": 0.924,
}


def run(label, recall, *, memory="in-context", model="m", book="long", fingerprint="f1", source="own", **more):
    scores = {
        "simple_recall_score": recall, "chronological_awareness": 0.3, "latest": 0.4, "all_matched": 0.2,
        "n_by_bin": dict.fromkeys(BINS, 10), "incomplete": {}, "intervals": {}, "judge": CHECKED,
    } | more  # fmt: skip
    return PaperRun(label, source, Path("runs", label), book, fingerprint, memory, model, scores, pd.DataFrame())


def reported(recall=0.67, dataset="long"):
    return ReportedRow("A paper", "ranking", dataset, "gpt", "in-context", {"simple_recall_score": recall}, {}, {}, {})


def test_own_released_and_reported_rows_stand_in_one_table_and_are_told_apart():
    (board,) = leaderboards(Inputs([run("a", 0.5), run("b", 0.7, source="released")], [reported()]))
    assert [(row[0], row[1]) for row in board.table.rows] == [
        ("1", "m (released)"),
        ("2", "gpt (reported)"),
        ("3", "m"),
    ]
    assert board.table.rows[1][-1] == "A paper, ranking" and "without a passport" in board.table.rows[1][-2]
    assert board.name == "Leaderboard, long"


def test_a_template_book_is_not_ranked_against_the_published_one():
    (board,) = leaderboards(Inputs([run("a", 0.99)], [reported()]))
    assert [(row[0], row[3]) for row in board.table.rows] == [("1", "this book"), ("1", "the published book")]
    assert any("other events" in note for note in board.table.notes)


def test_the_floor_is_to_abstain_always_or_the_model_without_memory_whichever_is_higher():
    runs = [run("rag", 0.25, memory="rag-chapter"), run("none", 0.3, memory="none"), run("other", 0.25, model="n")]
    (board,) = leaderboards(Inputs(runs))
    floors = {record["label"]: record["simple_recall_score_floor"] for record in board.records}
    assert floors == {"rag": 0.3, "none": 0.3, "other": pytest.approx(0.2)}
    cells = {record["label"]: row[3] for record, row in zip(board.records, board.table.rows, strict=True)}
    assert BELOW in cells["rag"] and BELOW not in cells["none"] and BELOW not in cells["other"]


def test_the_ceiling_is_the_same_model_with_the_whole_book():
    runs = [
        run("rag", 0.5, memory="rag-chapter"),
        run("whole", 0.9),
        run("alone", 0.4, memory="rag-chapter", model="n"),
    ]
    (board,) = leaderboards(Inputs(runs))
    ceilings = {record["label"]: record["simple_recall_score_ceiling"] for record in board.records}
    assert ceilings == {"rag": 0.9, "whole": 1.0, "alone": 1.0}


def test_two_books_of_one_name_have_a_leaderboard_each():
    boards = leaderboards(Inputs([run("a", 0.5, fingerprint="aaaaaaaa"), run("b", 0.7, fingerprint="bbbbbbbb")]))
    assert [board.name for board in boards] == ["Leaderboard, long, aaaaaa", "Leaderboard, long, bbbbbb"]


def test_an_incomplete_run_has_no_rank():
    lost = run("lost", None, incomplete={"simple_recall_score": [0.1, 0.9]})
    (board,) = leaderboards(Inputs([lost, run("a", 0.2)]))
    assert [row[0] for row in board.table.rows] == ["1", "–"] and board.table.rows[1][3] == "0.100–0.900"


def test_who_abstains_always_is_right_in_bin_0_alone():
    assert abstaining(BINS)["simple_recall_score"] == pytest.approx(0.2)
    assert abstaining(("1", "2"))["simple_recall_score"] == 0 and abstaining(BINS)["latest"] == 0


def test_a_judge_is_named_with_its_passport():
    assert judge_in_words(CHECKED, "lexical") == "lexical, sensitivity 0.92, specificity 0.92"
    assert judge_in_words({"passport": None}, "x") == "x, without a passport"
    assert judge_in_words(None, "not noted") == "not noted"
