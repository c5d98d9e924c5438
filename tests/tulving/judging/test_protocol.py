"""Stored journals are taken up: keys and prompt hashes are those of earlier versions."""

from typing import get_args

from epbench.judges.protocol import PastJudge
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.load import OUTCOME_SORTS, SORTS, load_judge_prompts
from epbench.tulving.judging.verdicts import JudgeInput
from epbench.tulving.questions.templates import Trace

DATES = ("May 07, 2024", "June 01, 2024", "May 21, 2025")
GIVEN = JudgeInput("q3", "When q3?", "times", "all", DATES[:1], "I do not know.")


def test_a_key_of_an_earlier_journal_is_found():
    assert GIVEN.key(LexicalJudge()) == "73566e7e7b3c1a9cafc9f05c"
    assert GIVEN.key(PastJudge("openai:tiny", load_judge_prompts().hash)) == "079fc201ef0ec52d84daf6a2"
    assert load_judge_prompts().hash == "1e904662fe2a7aa3" and LexicalJudge.prompt_hash == "rules-3"


def test_every_trace_has_words_for_the_judge():
    assert {*SORTS, *OUTCOME_SORTS} == set(get_args(Trace))


def test_calls_of_an_earlier_journal_are_found():
    prompts = load_judge_prompts()
    key = GIVEN.key(PastJudge("openai:tiny", prompts.hash))
    request = prompts.verdict_request(GIVEN, key, 2048)
    assert request.key("openai:tiny") == "2c77fbc98448d0892bb7cac2"


def test_a_repeated_item_is_shown_once():
    assert JudgeInput("q", "?", "times", "all", ("a", "b", "a"), "").distinct_reference == ("a", "b")
