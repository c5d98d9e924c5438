import json

import pytest

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.judging.answers import CUT_OFF
from epbench.booksort.scores.results import finish, scored_pairs
from epbench.journals.answers import ANSWERS
from epbench.journals.journal import Journal
from epbench.runs.folder import open_run

PACK = load_prompts()
OTHER = {"A": "B", "B": "A"}


@pytest.fixture(scope="module")
def requests(pairs):
    return requests_for("in-context", pairs, PACK, 3)


def test_an_answer_that_was_cut_off_is_neither_right_nor_wrong(tmp_path, pairs, requests):
    keys = {request.id: request.key("m") for request in requests}
    with open_run(tmp_path / "r", {"benchmark": "booksort"}, {}) as folder:
        journal = Journal(folder / ANSWERS)
        for i, pair in enumerate(pairs):
            cut = {"answer": "Let me think about", "ended": "length"}
            journal.add(
                keys[pair.id], id=pair.id, repeat=0, **(cut if i < 24 else {"answer": pair.answer, "ended": "stop"})
            )
        journal.close()
        scores = finish(folder, pairs, keys, "cut")
    assert (scores["n_failed"], scores["n_invalid"], scores["accuracy"]) == (24, 0, None)
    assert scores["incomplete"]["accuracy"] == [(len(pairs) - 24) / len(pairs), 1.0]
    assert json.loads((tmp_path / "r/usage.json").read_text())["failed"] == {CUT_OFF: 24}


def test_the_greedy_answer_is_what_was_written(tmp_path, pairs, requests):
    """A model whose most probable token is neither label, though it holds one for more probable than the other."""
    keys = {request.id: request.key("m") for request in requests}
    with open_run(tmp_path / "r", {"benchmark": "booksort"}, {}) as folder:
        journal = Journal(folder / ANSWERS)
        for i, pair in enumerate(pairs):
            known = {OTHER[pair.answer]: 1e-5, pair.answer: 5e-5}
            journal.add(
                keys[pair.id], id=pair.id, repeat=0, answer="The" if i % 4 else pair.answer, probabilities=known
            )
        journal.close()
        scores = finish(folder, pairs, keys, "greedy")
    assert scores["accuracy"] == 1.0 and scores["n_invalid"] == 0
    assert (scores["greedy_accuracy"], scores["greedy_invalid"]) == (0.25, 0.75)
    assert scores["label_mass"] == pytest.approx(6e-5) and scores["warnings"]
    assert scores["warnings"] == json.loads((tmp_path / "r/scores.json").read_text())["warnings"]


def test_rows_come_from_the_journal(tmp_path, pairs, requests):
    keys = {request.id: request.key("m") for request in requests}
    journal = Journal(tmp_path / ANSWERS)
    right, wrong, silent, failed, late, *rest = pairs
    known = {"A": 0.5, "B": 0.5, right.answer: 0.7}
    journal.add(keys[right.id], id=right.id, repeat=0, answer=right.answer, probabilities=known)
    journal.add(keys[wrong.id], id=wrong.id, repeat=0, answer=f"Answer: {OTHER[wrong.answer]}")
    journal.add(keys[silent.id], id=silent.id, repeat=0, answer="Neither.")
    journal.add(keys[failed.id], id=failed.id, repeat=0, failure="timeout")
    journal.add(keys[late.id], id=late.id, repeat=0, failure="timeout")
    journal.add(keys[late.id], id=late.id, repeat=0, answer=late.answer)
    journal.add("of another prompt", id=right.id, repeat=0, answer=OTHER[right.answer])
    journal.close()
    rows = {row.id: row for row in scored_pairs(tmp_path, pairs, keys)}
    assert list(rows) == [pair.id for pair in pairs]
    assert rows[right.id].correct and {rows[right.id].p_a, rows[right.id].p_b} == {0.5, 0.7}
    assert rows[right.id].greedy == right.answer == rows[right.id].written
    assert rows[silent.id].written == rows[failed.id].written == "X" and rows[wrong.id].written == OTHER[wrong.answer]
    assert (rows[wrong.id].predicted, rows[wrong.id].correct) == (OTHER[wrong.answer], False)
    assert (rows[silent.id].predicted, rows[silent.id].correct, rows[silent.id].failed) == ("X", False, False)
    assert (rows[failed.id].failed, rows[failed.id].correct, rows[failed.id].p_a) == (True, False, None)
    assert rows[late.id].correct and not rows[late.id].failed
    assert all(rows[pair.id].failed for pair in rest)  # what was never asked is no wrong answer either
    for pair in pairs:
        row = rows[pair.id]
        assert (row.book_idx, row.excerpt_idx, row.distance, row.distance_bin) == (
            pair.book_idx, pair.excerpt_idx, row.seg2_pos - row.seg1_pos, pair.distance_bin,
        )  # fmt: skip
        assert (row.excerpt_length, row.segment_length, row.answer) == (
            pair.excerpt_length, pair.segment_length, pair.answer,
        )  # fmt: skip
        assert row.retrieved_both is None and row.retrieved_order is None
