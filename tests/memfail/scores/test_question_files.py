"""What became of each question is in outcomes.jsonl and, with all texts, in questions.parquet."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.errors import BadInput
from epbench.memfail.dataset.types import GoldMemory, Question, QuestionRecord
from epbench.memfail.judging.diagnosis import Outcome
from epbench.memfail.scores.question_files import (
    COLUMNS,
    FIELDS,
    MORE_FIELDS,
    nearest,
    question_rows,
    record_of,
    write_questions,
)
from epbench.runs.outcomes import read_outcomes, write_outcomes
from epbench.runs.question_table import QUESTIONS, read_questions

GOLD = (
    GoldMemory("r1/0", "Ada keeps bees on the roof.", ("Ada", "bees"), ("roof",)),
    GoldMemory("r1/1", "Ada sails on Sundays.", ("Ada", "sails"), ("Sundays",)),
)
ASKED = Question(
    "q1", "coexisting_facts", "r1", "direct", "What does Ada do?", "What does Ada do?", GOLD, "bees, sails"
)
RECORD = QuestionRecord(ASKED, 5, "", ("Bees: Ada has them on a roof.", "Bob bakes."), "She keeps bees.")
DONE = Outcome(
    "q1", "r1", "direct", "direct", 5, "retrieval_error", False, True, ("correct", "retrieval_error"), 2, 9,
    ("r1/0", "r1/1"), reason="no sailing", reasons=("the bees", "no sailing"),
)  # fmt: skip
FAILED = Outcome("q2", "r1", "", "", 5, "failed", False, None, (), 0, 0, ("r1/0",), failure="overloaded")
RECORDS = [record_of(DONE), record_of(FAILED)]
STORE = ["Bob bakes.", "Ada sails each Sunday.", "Bees: Ada has them on a roof.", "Ada is kind."]


def rows():
    lost = QuestionRecord(replace(ASKED, id="q2", kind="", gold=GOLD[:1]), 5, "", failure="overloaded")
    return question_rows([DONE, FAILED], [RECORD, lost], {"": STORE}, "planted")


def test_a_question_has_its_label_and_the_stage_of_each_need(tmp_path):
    assert RECORDS[0] == {
        "id": "q1", "k": 5, "row": "r1", "kind": "direct", "group": "direct", "success": False, "label": "retrieval_error",
        "vacuous": False, "answer_right": True,
        "needs": [{"fact": "r1/0", "stage": "correct"}, {"fact": "r1/1", "stage": "retrieval_error"}],
    }  # fmt: skip
    assert RECORDS[1]["success"] is RECORDS[1]["answer_right"] is None
    assert RECORDS[1]["needs"] == [{"fact": "r1/0", "stage": "failed"}]
    write_outcomes(tmp_path, RECORDS)
    assert read_outcomes(tmp_path, FIELDS, MORE_FIELDS) == RECORDS


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
        **RECORDS[0], "config": "coexisting_facts", "system": "planted", "outcome": "wrong", "needs": [bees, sails],
        "question": "What does Ada do?", "reference": "bees, sails", "answer": "She keeps bees.",
        "retrieved": ["Bees: Ada has them on a roof.", "Bob bakes."], "n_stored": 4, "reason": "no sailing",
        "failure": None,
    }  # fmt: skip
    assert failed["outcome"] == "failed" and failed["answer"] is None and failed["failure"] == "overloaded"
    assert failed["needs"] == [
        {"fact": "r1/0", "told": GOLD[0].text, "stage": "failed", "stored": None, "retrieved": None, "reason": None}
    ]


def test_the_file_has_the_same_rows_and_the_same_bytes_each_time(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    write_questions(tmp_path, rows())
    first = (tmp_path / QUESTIONS).read_bytes()
    assert pq.read_table(tmp_path / QUESTIONS).to_pylist() == [{name: row[name] for name in COLUMNS} for row in rows()]
    assert list(read_questions(tmp_path, COLUMNS).columns) == list(COLUMNS)
    write_questions(tmp_path, rows())
    assert (tmp_path / QUESTIONS).read_bytes() == first and [p.name for p in tmp_path.iterdir()] == [QUESTIONS]


def test_earlier_outcomes_are_still_compared_and_other_fields_are_refused(tmp_path):
    earlier = [{name: record[name] for name in FIELDS} for record in RECORDS]
    write_outcomes(tmp_path, earlier)
    assert read_outcomes(tmp_path, FIELDS, MORE_FIELDS) == earlier
    write_outcomes(tmp_path, [json.loads(json.dumps(RECORDS[0])) | {"more": 1}])
    with pytest.raises(BadInput, match="line 1: expected an object with id, k, row, success"):
        read_outcomes(tmp_path, FIELDS, MORE_FIELDS)


BOATS = GoldMemory("r/0", "Ada paints boats only when it rains.", ("Ada", "paints boats"), ("when it rains",))


def test_what_matters_counts_before_the_other_words():
    essay = "Ada lives by the sea and only sings."
    assert nearest(BOATS, (essay, "Ada paints", "rain: Ada paints boats")) == "rain: Ada paints boats"
    assert nearest(BOATS, ("Ada paints boats when it rains, and more, and more", BOATS.text)) == BOATS.text
    assert nearest(BOATS, ()) is None and nearest(BOATS, ("nothing in common",)) is None


def test_a_rare_word_says_more_than_a_common_one():
    memories = ("Ada cooks.", "Ada sings.", "Ada sleeps.", "Boats are painted.")
    assert nearest(BOATS, memories) == "Boats are painted."


@given(st.lists(st.text("ab cdr", max_size=12), max_size=8).map(tuple), st.randoms())
def test_the_order_of_the_store_does_not_matter(memories, random):
    shuffled = list(memories)
    random.shuffle(shuffled)
    gold = GoldMemory("r/0", "ab cd rr", ("ab",), ())
    assert nearest(gold, memories) == nearest(gold, tuple(shuffled))
    assert nearest(gold, (*memories, gold.text)) is not None
