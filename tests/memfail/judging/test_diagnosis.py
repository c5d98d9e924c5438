"""From verdicts to labels: the earliest stage that fails, vacuous passes, failures, one verdict for all that share it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epbench.judges.protocol import JUDGEMENTS
from epbench.memfail.dataset.load import GoldMemory, QuestionRecord
from epbench.memfail.judging.diagnosis import diagnose
from epbench.memfail.judging.lexical import STAGES, Verdict
from epbench.progress import no_progress
from tests.memfail import memfail_samples
from tests.memfail.memfail_samples import ScriptedJudge as Scripted

NEEDS = tuple(GoldMemory(f"r/{i}", f"fact {i}", (f"fact {i}",), ()) for i in range(3))


def question(needs=NEEDS[:1], **values):
    return memfail_samples.question(needs, **values)


def record(question_, k=5, memories=("a memory", "another one"), **values):
    return QuestionRecord(question_, k, "", memories, **{"answer": "t", **values})


def diagnosed(folder, records_, judge, stores=None):
    folder.mkdir(exist_ok=True)
    return diagnose(folder, records_, stores or {"": ["a memory", "another one", "a third"]}, judge, no_progress)


def test_the_words_of_the_check_that_decided_are_kept(tmp_path):
    class Wordy(Scripted):
        def judge(self, checks, calls=None):
            for check, judgement in zip(list(checks), super().judge(checks), strict=True):
                words = f"{check.kind} {check.gold.fact if check.gold else ''}".strip()
                yield replace(judgement, verdict=judgement.verdict and Verdict(judgement.verdict.verdict, words))

    says = {("retrieval", "r/0"): False, ("summary", "r/1"): False}
    asked = [record(question(NEEDS[:2])), record(question(NEEDS[2:], id="p")), record(question(id="x"), failure="lost")]
    found = diagnosed(tmp_path, asked, Wordy(says))
    assert [outcome.reason for outcome in found] == ["summary r/1", "reasoning", None]
    assert [outcome.reasons for outcome in found] == [("retrieval r/0", "summary r/1"), ("retrieval r/2",), ()]
    assert [outcome.failure for outcome in found] == [None, None, "lost"]
    (failed,) = diagnosed(tmp_path / "2", [record(question())], Scripted({("retrieval", "r/0"): None}))
    assert (failed.failure, failed.reason, failed.reasons) == ("judge: overloaded", None, (None,))


def test_a_stage_is_judged_only_after_those_that_passed(tmp_path):
    judge = Scripted({("storage", "r/0"): False, ("summary", "r/1"): False})
    (outcome,) = diagnosed(tmp_path, [record(question(NEEDS))], judge)
    assert outcome.facts == ("storage_error", "summary_error", "correct")
    assert judge.asked == [
        ("storage", "r/0"), ("storage", "r/1"), ("storage", "r/2"), ("summary", "r/1"), ("summary", "r/2"),
        ("retrieval", "r/2"), ("reasoning", "q"),
    ]  # fmt: skip
    assert outcome.label == "storage_error"


ORDER = [f"{stage}_error" for stage in STAGES]


@given(st.lists(st.sampled_from([*STAGES, None]), min_size=1, max_size=3), st.booleans())
def test_several_facts_take_the_earliest_stage(tmp_path_factory, failing, right):
    says = {(stage, f"r/{i}"): False for i, stage in enumerate(failing) if stage} | {("reasoning", "answer"): right}
    folder = tmp_path_factory.mktemp("run")
    (outcome,) = diagnosed(folder, [record(question(NEEDS[: len(failing)]))], Scripted(says))
    assert list(outcome.facts) == [f"{stage}_error" if stage else "correct" for stage in failing]
    expected = min((f for f in outcome.facts if f != "correct"), key=ORDER.index, default=None)
    assert outcome.label == (expected or ("correct" if right else "reasoning_error"))


@pytest.mark.parametrize(
    ("says", "label", "vacuous"),
    [
        ({("storage", "r/0"): False, ("abstention", "answer"): False}, "correct", True),
        ({("retrieval", "r/0"): False}, "correct", True),
        ({("summary", "r/0"): False}, "summary_error", False),  # as published, whatever the answer says
        ({("abstention", "answer"): False}, "reasoning_error", False),
        ({("storage", "r/0"): None}, "failed", False),
        ({}, "correct", False),
    ],
)
def test_misleading_questions(tmp_path, says, label, vacuous):
    asked = question(config="persona_retrieval", kind="misleading")
    (outcome,) = diagnosed(tmp_path, [record(asked)], Scripted(says))
    assert (outcome.label, outcome.vacuous) == (label, vacuous)
    assert outcome.answer_right is says.get(("abstention", "answer"), True)


def test_an_empty_store_needs_no_judge(tmp_path):
    judge = Scripted()
    records_ = [record(question(), memories=()), record(question(id="m", kind="misleading"), memories=())]
    (direct, misleading) = diagnosed(tmp_path, records_, judge, {"": []})
    assert (direct.label, misleading.label, misleading.vacuous) == ("storage_error", "correct", True)
    assert judge.asked == [("reasoning", "q"), ("abstention", "m")]
    (outcome,) = diagnosed(tmp_path / "held", records_[:1], judge := Scripted())
    assert outcome.label == "retrieval_error" and ("retrieval", "r/0") not in judge.asked
    lost = record(question(), failure="429")  # it needs none either
    (outcome,) = diagnosed(tmp_path / "held", [lost], judge := Scripted())
    assert (outcome.label, outcome.answer_right, outcome.facts, judge.asked) == ("failed", None, (), [])


@pytest.mark.parametrize(
    ("answer", "label"), [("B", "correct"), ("A", "reasoning_error"), ("I cannot tell.", "reasoning_error")]
)
def test_a_multiple_choice_is_read_and_not_judged(tmp_path, answer, label):
    asked = question(config="long_hop", choices=("water plants", "t"), reference="t")
    judge = Scripted()
    (outcome,) = diagnosed(tmp_path, [record(asked, answer=answer)], judge)
    assert (outcome.label, outcome.answer_right) == (label, label == "correct")
    assert ("reasoning", "q") not in judge.asked


def test_one_verdict_serves_every_k_and_every_question(tmp_path):
    first, second = question(config="persona_retrieval"), question(id="q2", config="persona_retrieval", text="??")
    records_ = [record(q, k, ("a memory", "another one")[:k]) for q in (first, second) for k in (1, 2, 9)]
    judge = Scripted()
    outcomes = diagnosed(tmp_path, records_, judge)
    assert [(o.question, o.k) for o in outcomes] == [(q, k) for q in ("q", "q2") for k in (1, 2, 9)]
    kinds = [kind for kind, _ in judge.asked]
    # stored and faithful once; retrieved once for each of the two sets that came back; two different questions answered
    assert [kinds.count(kind) for kind in (*STAGES, "reasoning")] == [1, 1, 2, 2]
    assert diagnosed(tmp_path, records_, judge) == outcomes and len(judge.asked) == len(kinds)


def test_what_failed_is_judged_again_by_the_next_start_and_by_another_judge_anew(tmp_path):
    records_ = [record(question())]
    (failed,) = diagnosed(tmp_path, records_, Scripted({("summary", "r/0"): None}))
    (settled,) = diagnosed(tmp_path, records_, again := Scripted())
    assert (failed.label, settled.label) == ("failed", "correct")
    assert again.asked == [("summary", "r/0"), ("retrieval", "r/0")]
    other = Scripted()
    other.prompt_hash = "2"
    diagnosed(tmp_path, records_, other)
    assert len(other.asked) == 4
    records = [json.loads(line) for line in (tmp_path / JUDGEMENTS).read_text("utf-8").splitlines()]
    assert {"kind", "id", "judge", "prompt_hash", "seconds"} <= records[0].keys()
    assert [r["failure"] for r in records if "failure" in r] == ["overloaded"]
    assert all(r["reason"] == "because" for r in records if "verdict" in r)


def test_labels_and_stages_of_all_verdicts(tmp_path):
    """Every combination of verdicts on one fact and its answer."""
    for i, (stored, faithful, found, right) in enumerate(itertools.product((True, False, None), repeat=4)):
        says = {
            ("storage", "r/0"): stored, ("summary", "r/0"): faithful, ("retrieval", "r/0"): found,
            ("reasoning", "answer"): right,
        }  # fmt: skip
        (outcome,) = diagnosed(tmp_path / str(i), [record(question())], Scripted(says))
        ways = zip((stored, faithful, found), ORDER, strict=True)
        of_fact = next(("failed" if passed is None else stage for passed, stage in ways if not passed), "correct")
        of_answer = {True: "correct", False: "reasoning_error", None: "failed"}[right]
        assert outcome.facts == (of_fact,) and outcome.label == (of_answer if of_fact == "correct" else of_fact)
        assert outcome.answer_right is right and not outcome.vacuous  # whatever became of the memories
        assert (outcome.n_memories, outcome.memory_words) == (2, 4)
