"""Question by question of a MemFail run: the way of each fact in the table, and each card on the page against the journals."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.memfail.dataset.load import GoldMemory, Question, QuestionRecord
from epbench.memfail.judging.diagnosis import Outcome
from epbench.memfail.scores.run_files import COLUMNS, nearest, question_rows
from epbench.memfail.scores.scoring import cards_of
from epbench.runs.benchmark import read_questions
from epbench.runs.results import QUESTIONS, write_questions

GOLD = (
    GoldMemory("r1/0", "Ada keeps bees on the roof.", ("Ada", "bees"), ("roof",)),
    GoldMemory("r1/1", "Ada sails on Sundays.", ("Ada", "sails"), ("Sundays",)),
)
TEXT = "What does Ada do?"
ASKED = Question("q1", "coexisting_facts", "r1", "direct", TEXT, TEXT, GOLD, "bees, sails")
RECORD = QuestionRecord(ASKED, 5, "", ("Bees: Ada has them on a roof.", "Bob bakes."), "She keeps bees.")
DONE = Outcome(
    "q1", "r1", "direct", "direct", 5, 2, 9, "retrieval_error", False, True, ("correct", "retrieval_error"),
    ("r1/0", "r1/1"), reason="no sailing", reasons=("the bees", "no sailing"),
)  # fmt: skip
FAILED = Outcome("q2", "r1", "", "", 5, 0, 0, needs=("r1/0",), failure="overloaded")
STORE = ["Bob bakes.", "Ada sails each Sunday.", "Bees: Ada has them on a roof.", "Ada is kind."]


def rows():
    lost = QuestionRecord(replace(ASKED, id="q2", kind="", gold=GOLD[:1]), 5, "", failure="overloaded")
    return question_rows([DONE, FAILED], [RECORD, lost], {"": STORE}, "planted")


def test_the_table_has_the_way_of_each_fact_from_what_was_told_to_the_answer():
    right, failed = rows()
    bees = {
        "fact": "r1/0", "told": "Ada keeps bees on the roof.", "stage": "correct",
        "stored": "Bees: Ada has them on a roof.", "retrieved": "Bees: Ada has them on a roof.", "reason": "the bees",
    }  # fmt: skip
    sails = {
        "fact": "r1/1", "told": "Ada sails on Sundays.", "stage": "retrieval_error", "stored": "Ada sails each Sunday.",
        "retrieved": None, "reason": "no sailing",
    }  # fmt: skip
    assert right == {
        "id": "q1", "k": 5, "row": "r1", "kind": "direct", "group": "direct", "success": False, "label": "retrieval_error",
        "vacuous": False, "answer_right": True, "config": "coexisting_facts", "system": "planted", "outcome": "wrong", "needs": [bees, sails],
        "question": TEXT, "reference": "bees, sails", "answer": "She keeps bees.",
        "retrieved": ["Bees: Ada has them on a roof.", "Bob bakes."], "n_stored": 4, "reason": "no sailing",
        "failure": None,
    }  # fmt: skip
    assert failed["success"] is failed["answer_right"] is None
    assert failed["outcome"] == "failed" and failed["answer"] is None and failed["failure"] == "overloaded"
    assert failed["needs"] == [
        {"fact": "r1/0", "told": GOLD[0].text, "stage": "failed", "stored": None, "retrieved": None, "reason": None}
    ]


def test_the_file_has_the_same_rows_and_the_same_bytes_each_time(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    write_questions(tmp_path, COLUMNS, rows())
    first = (tmp_path / QUESTIONS).read_bytes()
    assert pq.read_table(tmp_path / QUESTIONS).to_pylist() == [{name: row[name] for name in COLUMNS} for row in rows()]
    assert list(read_questions(tmp_path, COLUMNS).columns) == list(COLUMNS)
    write_questions(tmp_path, COLUMNS, rows())
    assert (tmp_path / QUESTIONS).read_bytes() == first and [p.name for p in tmp_path.iterdir()] == [QUESTIONS]


BOATS = GoldMemory("r/0", "Ada paints boats only when it rains.", ("Ada", "paints boats"), ("when it rains",))


def test_what_matters_counts_before_the_other_words():
    essay = "Ada lives by the sea and only sings."
    assert nearest(BOATS, (essay, "Ada paints", "rain: Ada paints boats")) == "rain: Ada paints boats"
    assert nearest(BOATS, ("Ada paints boats when it rains, and more, and more", BOATS.text)) == BOATS.text
    memories = ("Ada cooks.", "Ada sings.", "Ada sleeps.", "Boats are painted.")
    assert nearest(BOATS, memories) == "Boats are painted."  # a rare word says more
    assert nearest(BOATS, ()) is None and nearest(BOATS, ("nothing in common",)) is None


@given(st.lists(st.text("ab cdr", max_size=12), max_size=8).map(tuple), st.randoms())
def test_the_order_of_the_store_does_not_matter(memories, random):
    shuffled = list(memories)
    random.shuffle(shuffled)
    gold = GoldMemory("r/0", "ab cd rr", ("ab",), ())
    assert nearest(gold, memories) == nearest(gold, tuple(shuffled))
    assert nearest(gold, (*memories, gold.text)) is not None


ORDER = ["storage_error", "summary_error", "retrieval_error", "correct"]


def test_a_fact_that_passed_and_one_that_did_not_come_back():
    card, lost = cards_of(rows())
    told, stored, summary, retrieved, answer = card.trails[0].steps
    assert (told.text, stored.text) == ("Ada keeps bees on the roof.", "Bees: Ada has them on a roof.")
    assert [step.state for step in (stored, summary, retrieved, answer)] == ["passed"] * 4
    found = retrieved.text, retrieved.note, answer.text
    assert found == ("Bees: Ada has them on a roof.", "judge: the bees", "She keeps bees.")
    _, stored, summary, retrieved, _ = card.trails[1].steps
    assert [step.state for step in (stored, summary, retrieved)] == ["passed", "passed", "not passed"]
    assert (stored.text, retrieved.text, retrieved.note) == ("Ada sails each Sunday.", None, "judge: no sailing")
    assert (card.outcome, card.facets["label"], card.reason) == ("wrong", "retrieval error", "no sailing")
    assert (lost.outcome, lost.answer, lost.reason) == ("failed", None, "overloaded")
    assert {step.state for step in lost.trails[0].steps[1:]} == {"not judged"}


@pytest.mark.parametrize("stage", ORDER)
def test_no_stage_after_the_first_that_failed_was_judged(stage):
    row = rows()[0]
    need = {**row["needs"][0], "stage": stage, "reason": "why"}
    steps = cards_of([{**row, "needs": [need]}])[0].trails[0].steps[1:4]
    passed = ORDER.index(stage)
    rest = ["not passed"] + ["not judged"] * 3 if passed < 3 else []
    assert [step.state for step in steps] == (["passed"] * passed + rest)[:3]
    assert [step.note for step in steps].index("judge: why") == min(passed, 2)
