"""What became of each question is in outcomes.jsonl and, the same, in questions.parquet."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from epbench.errors import BadInput
from epbench.memfail.judging.diagnosis import Outcome
from epbench.memfail.scores.question_files import FIELDS, MORE_FIELDS, QUESTIONS, record_of, write_questions
from epbench.runs.outcomes import read_outcomes, write_outcomes

DONE = Outcome(
    "q1", "r1", "direct", "direct", 5, "retrieval_error", False, True, ("correct", "retrieval_error"), 2, 9, ("r1/0", "r1/1")
)  # fmt: skip
FAILED = Outcome("q2", "r1", "", "", 5, "failed", False, None, (), 0, 0, ("r1/0",))
RECORDS = [record_of(DONE), record_of(FAILED)]


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


def test_the_table_has_the_same_and_the_same_bytes_each_time(tmp_path):
    write_questions(tmp_path, RECORDS)
    first = (tmp_path / QUESTIONS).read_bytes()
    assert pq.read_table(tmp_path / QUESTIONS).to_pylist() == RECORDS
    write_questions(tmp_path, RECORDS)
    assert (tmp_path / QUESTIONS).read_bytes() == first and [p.name for p in tmp_path.iterdir()] == [QUESTIONS]


def test_earlier_outcomes_are_still_compared_and_other_fields_are_refused(tmp_path):
    earlier = [{name: record[name] for name in FIELDS} for record in RECORDS]
    write_outcomes(tmp_path, earlier)
    assert read_outcomes(tmp_path, FIELDS, MORE_FIELDS) == earlier
    write_outcomes(tmp_path, [json.loads(json.dumps(RECORDS[0])) | {"more": 1}])
    with pytest.raises(BadInput, match="line 1: expected an object with id, k, row, success"):
        read_outcomes(tmp_path, FIELDS, MORE_FIELDS)
