import json

import pytest

from epbench.booksort.context.prompts import load_prompts
from epbench.booksort.context.requests import requests_for
from epbench.booksort.judging import CUT_OFF
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
            cut, whole = ("Let me think about", "length"), (pair.answer, "stop")
            answer, ended = cut if i < 24 else whole
            journal.add(keys[pair.id], id=pair.id, repeat=0, answer=answer, ended=ended)
        journal.close()
        scores = finish(folder, pairs, keys, "cut")
    assert (scores["n_failed"], scores["n_invalid"], scores["accuracy"]) == (24, 0, None)
    assert scores["incomplete"]["accuracy"] == [(len(pairs) - 24) / len(pairs), 1.0]
    assert json.loads((tmp_path / "r/usage.json").read_text())["failed"] == {CUT_OFF: 24}


def test_the_last_answer_to_the_prompt_of_the_run_counts(tmp_path, pairs, requests):
    keys = {request.id: request.key("m") for request in requests}
    late, silent, *rest = pairs
    journal = Journal(tmp_path / ANSWERS)
    journal.add(keys[late.id], id=late.id, repeat=0, failure="timeout")
    journal.add(keys[late.id], id=late.id, repeat=0, answer=late.answer)
    journal.add("of another prompt", id=late.id, repeat=0, answer=OTHER[late.answer])
    journal.add(keys[silent.id], id=silent.id, repeat=0, answer="Neither.")
    journal.close()
    rows = {row.id: row for row in scored_pairs(tmp_path, pairs, keys)}
    assert list(rows) == [pair.id for pair in pairs]
    assert rows[late.id].correct and not rows[late.id].failed and rows[late.id].greedy == late.answer
    assert (rows[silent.id].predicted, rows[silent.id].correct, rows[silent.id].failed) == ("X", False, False)
    assert all(rows[pair.id].failed for pair in rest)  # what was never asked is no wrong answer either
