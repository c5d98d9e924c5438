"""A run keeps its judge: scores by one judge are not replaced by those of another."""

import json

import pytest

from epbench import BadInput
from epbench.files.json_files import write_json
from epbench.judges.protocol import PUBLISHED, PastJudge
from epbench.runs.folder import check_judge, judge_of_scores, note_judge
from tests.refusals import refusal


def test_a_run_keeps_its_judge(tmp_path):
    write_json(tmp_path / "run.json", {"identity": {"memory": "none"}, "book": "b"})
    check_judge(tmp_path, PastJudge("lexical", "rules-3"))  # nobody has judged it
    note_judge(tmp_path, PastJudge("a", "1"), limit=5)
    assert json.loads((tmp_path / "run.json").read_text()) == {
        "identity": {"memory": "none"}, "book": "b", "judge": {"name": "a", "prompt_hash": "1"}, "limit": 5
    }  # fmt: skip
    check_judge(tmp_path, PastJudge("a", "1"))
    for other in (PastJudge("b", "1"), PastJudge("a", "2")):
        message = rf"run.json: this run was judged by a \(1\), not by {other.name} \({other.prompt_hash}\)"
        with pytest.raises(BadInput, match=message):
            check_judge(tmp_path, other)


def test_a_later_version_of_the_rules_judges_a_resumed_run_again(tmp_path):
    write_json(tmp_path / "run.json", {"identity": {}})
    note_judge(tmp_path, PastJudge("lexical", "rules-2"))
    check_judge(tmp_path, PastJudge("lexical", "rules-3"))
    assert "judged by lexical" in refusal(check_judge, tmp_path, PastJudge("openai:j", "rules-3"))


def test_a_run_that_was_killed_between_two_names_takes_either_judge(tmp_path):
    """Killed between the scores of judge b and its name in run.json."""
    write_json(tmp_path / "run.json", {"identity": {}, "judge": {"name": "a", "prompt_hash": "1"}})
    write_json(tmp_path / "scores.json", {"judge": {"name": "b", "prompt_hash": "1"}})
    check_judge(tmp_path, PastJudge("a", "1"))
    check_judge(tmp_path, PastJudge("b", "1"))
    assert "judged by a" in refusal(check_judge, tmp_path, PastJudge("a", "2"))


def test_the_judge_of_scores(tmp_path):
    assert judge_of_scores(tmp_path) is None
    for content, expected in (
        ({}, None),
        ({"judge": {"name": "a", "prompt_hash": "1"}}, PastJudge("a", "1")),
        ({"judge": {"name": "a", "prompt_hash": None}}, PastJudge("a", PUBLISHED)),
    ):
        write_json(tmp_path / "scores.json", content)
        assert judge_of_scores(tmp_path) == expected
