"""The baseline that names every item of the book in answer to every question."""

import json

import pytest

from epbench.models.protocol import Request
from epbench.tulving.reader.everything import EverythingReader, names_by_trace
from tests.scripts import in_process

ROWS = [
    {"id": "1", "trace": "times", "answer": ["May 07, 2024"]},
    {"id": "2", "trace": "times", "answer": ["June 01, 2023", "May 07, 2024"]},
    {"id": "3", "trace": "spaces", "answer": []},
    {"id": "4", "trace": "spaces", "answer": ["High Line"]},
    {"id": "5", "trace": "full_details", "answer": ["It was a long day."]},
]


def test_it_names_everything_of_the_asked_kind_and_for_an_account_everything_but_accounts():
    assert names_by_trace(ROWS) == {
        "times": ["June 01, 2023", "May 07, 2024"], "spaces": ["High Line"],
        "full_details": ["June 01, 2023", "May 07, 2024", "High Line"],
    }  # fmt: skip
    asked = [Request(id_, "", "", "?") for id_ in "135"]
    dates, places, account = (reply.text for reply in EverythingReader(ROWS).answer(asked))
    assert (dates, places) == ("- June 01, 2023\n- May 07, 2024", "- High Line")
    assert account == "- June 01, 2023\n- May 07, 2024\n- High Line"
    assert EverythingReader([ROWS[2]]).answer_to(Request("3", "", "", "?")) == "Everything."


@pytest.mark.slow
def test_a_run_of_it_asks_no_model_resumes_and_can_be_verified(short_book, tmp_path):
    command = ("eval_scripts/tulving.py", "--dataset", short_book, "--memory", "everything", "--out", tmp_path / "r")
    for _ in range(2):
        done = in_process.script(*command)
        assert done.returncode == 0, done.stderr
    assert "The answers name" in " ".join(done.stdout.split())
    assert len((tmp_path / "r/answers.jsonl").read_text().splitlines()) == 450
    scores = json.loads((tmp_path / "r/scores.json").read_text())
    assert (scores["latest"], scores["latest_several"], scores["all_matched"]) == (1, 1, 1)
    assert scores["items_ratio"] > 1.5 and scores["harsh_simple_recall_score"] < scores["simple_recall_score"] / 2
    for name in ("table.md", "report.html"):
        assert "items for each true one" in (tmp_path / "r" / name).read_text()
    assert in_process.script("eval_scripts/verify.py", tmp_path / "r").returncode == 0
    in_process.refused(in_process.script(*command, "--model", "hf:x"), "asks no model, got --model hf:x")
