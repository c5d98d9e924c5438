"""Judging the answers of a run: what is journaled and when, what is judged, and who may judge."""

import tracemalloc
from typing import get_args

import pytest

from epbench.journals.journal import read_journal
from epbench.judges.protocol import JUDGEMENTS, PUBLISHED, Judgement, PastJudge
from epbench.progress import no_progress
from epbench.tulving.judging.lexical import LexicalJudge
from epbench.tulving.judging.load import OUTCOME_SORTS, SORTS, load_judge, load_judge_prompts
from epbench.tulving.judging.verdicts import (
    JudgeInput,
    Verdict,
    judge_answers,
    judge_input,
    judgement_records,
    plan_in_advance,
)
from epbench.tulving.questions.templates import Trace
from tests.refusals import refusal
from tests.scripts.run_files import lines_of, write_lines
from tests.tulving.question_rows import row

DATES = ("May 07, 2024", "June 01, 2024", "May 21, 2025")
GIVEN = JudgeInput("q3", "When q3?", "times", "all", DATES[:1], "I do not know.")


def test_a_key_of_an_earlier_journal_is_found():
    assert GIVEN.key(LexicalJudge()) == "73566e7e7b3c1a9cafc9f05c"
    assert GIVEN.key(PastJudge("openai:tiny", load_judge_prompts().hash)) == "079fc201ef0ec52d84daf6a2"
    prompts = load_judge_prompts()
    assert (prompts.hash, LexicalJudge.prompt_hash) == ("1e904662fe2a7aa3", "rules-3")
    request = prompts.verdict_request(GIVEN, GIVEN.key(PastJudge("openai:tiny", prompts.hash)), 2048)
    assert request.key("openai:tiny") == "2c77fbc98448d0892bb7cac2"


def test_every_trace_has_words_for_the_judge():
    assert {*SORTS, *OUTCOME_SORTS} == set(get_args(Trace))


class Counting:
    """Finds everything, fails on given answers, remembers what it was asked, backwards so that order shows."""

    name, prompt_hash, setup = "counting", "1", ""

    def __init__(self, fails=()):
        self.fails, self.asked = fails, []

    def plan(self, cases):
        return None

    def judge(self, cases, calls=None):
        for given in reversed(cases):
            self.asked.append(given.answer)
            failed = given.answer in self.fails
            verdict = None if failed else Verdict([given.answer], [1.0] * len(given.reference), [], "fine")
            yield Judgement(given.key(self), verdict, "too loud" if failed else None, ("raw",))


def answers(folder, *given):
    folder.mkdir(exist_ok=True)
    records = [{"key": str(i), "id": id_, "repeat": n, **more} for i, (id_, n, more) in enumerate(given)]
    write_lines(folder / "answers.jsonl", records)


def said(id_, answer, repeat=0):
    return id_, repeat, {"answer": answer}


ROWS = [row("a", ["Ann"]), row("b", ["Ann"]), row("c", ["Ann"], question="Who else?")]


def test_equal_answers_are_judged_once_and_come_back_in_the_order_of_the_rows(tmp_path):
    lost = ("b", 1, {"failure": "429"})
    answers(tmp_path, *(said(id_, "x") for id_ in "cba"), said("a", "y", 1), lost, said("z", "x"))
    judge = Counting()
    found = judge_answers(tmp_path, ROWS, judge, no_progress)
    assert sorted(judge.asked) == ["x", "x", "y"]  # a and b ask the same, c does not, z is no row of this run
    assert [(v.id, v.items) for v in found] == [("a", ["x"]), ("a", ["y"]), ("b", ["x"]), ("c", ["x"])]
    assert judge_answers(tmp_path, ROWS, judge, no_progress) == found and len(judge.asked) == 3
    records = lines_of(tmp_path / "judgements.jsonl")
    assert all((r["judge"], r["prompt_hash"], r["raw"]) == ("counting", "1", ["raw"]) for r in records)


@pytest.mark.parametrize("score", [-1, 1.0001])
def test_a_journaled_score_outside_0_to_1_is_refused_unless_it_was_published(tmp_path, score):
    answers(tmp_path, said("a", "x"))
    judge_answers(tmp_path, ROWS[:1], Counting(), no_progress)
    (record,) = read_journal(tmp_path / JUDGEMENTS).values()
    edited = record | {"scores": [score] * len(record["scores"])}
    write_lines(tmp_path / JUDGEMENTS, [edited])
    refused = refusal(judgement_records, tmp_path, ROWS[:1], Counting())
    assert "judgements.jsonl, record " in refused and f"expected numbers from 0 to 1, found {score}; delete" in refused
    (answer,) = read_journal(tmp_path / "answers.jsonl")
    write_lines(tmp_path / JUDGEMENTS, [edited | {"key": answer}])
    ((_, _, published),) = judgement_records(tmp_path, ROWS[:1], PastJudge("claude", PUBLISHED))
    assert set(published["scores"]) <= {0.0, 1.0}


def test_a_plan_before_there_are_answers_is_an_upper_bound(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    judge = load_judge("openai:big", max_tokens=50)
    assert plan_in_advance(LexicalJudge(), ROWS, 100, 2) == ["judge lexical: 6 verdicts, no tokens"]
    first, *others = plan_in_advance(judge, ROWS, 100, 2)
    assert first.startswith("judge openai:big: 6 verdicts, at most 6 requests over 1 contexts")
    assert first.endswith("and one more for a reply that is unusable") and "at most at most" not in str(others)
    assert len(others) == 2 and all(line.startswith("judge: at most ") for line in others)
    empty = [judge_input(row, "") for row in ROWS]
    longest = [judge_input(row, "four" * 100) for row in ROWS]  # an endpoint's tokens have four characters
    expected, real = judge.plan(empty, answer_tokens=100), judge.plan(longest)
    assert expected.longest == real.longest >= 100 + 50
    assert expected.uncached == pytest.approx(real.uncached, abs=2 * len(ROWS))
    assert judge.plan(empty, answer_tokens=100, repeats=3).requests == 3 * real.requests


@pytest.mark.parametrize("name", ["lexical", "openai:big"])
def test_a_plan_takes_no_more_memory_for_long_or_many_answers(monkeypatch, name):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    judge = load_judge(name)
    plan_in_advance(judge, ROWS, 1)  # what is imported at the first use
    tracemalloc.start()
    try:
        lines = plan_in_advance(judge, ROWS, 10**6, repeats=10**4)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "30,000 verdicts" in lines[0] and peak < 200_000
