"""What a run will cost, estimated before any memory exists, as if the system stored every fact word for word.

A system that shortens what it stores costs the reader and the judge less; one that adds to it costs them more. What the
system itself spends only its own usage shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from epbench.judges.model import name_without_weights
from epbench.judges.protocol import is_free
from epbench.memfail.dataset.types import Fact, Question
from epbench.memfail.judging.leave_one_out import left_out_checks
from epbench.memfail.judging.protocol import Check, Judge, Kind
from epbench.memfail.pipeline.conversations import facts_told
from epbench.memfail.pipeline.prompts import Prompts
from epbench.memfail.pipeline.setting import Setting
from epbench.memories.spec import SystemSpec
from epbench.models.estimate import estimate
from epbench.models.protocol import Model, Request


def plan_lines(
    facts: Sequence[Fact],
    questions: Sequence[Question],
    system: SystemSpec,
    model: Model,
    judge: Judge,
    prompts: Prompts,
    setting: Setting,
) -> list[str]:
    """Return the estimated calls and tokens of one config, one line for each role.

    Raises:
        BadInput: A check does not fit the judge's window.
    """
    told = facts_told(facts, questions, setting)
    lines = [f"{len(told):,} facts to tell {system.name}, {len(questions) * len(setting.ks):,} retrievals"]
    estimates = {
        f"reader {model.name}": estimate(requests_in_advance(facts, questions, system, setting, prompts), model)
    }
    if setting.replies:
        turns = [{"role": "user", "content": fact.text} for fact in told]
        replies = [prompts.reply_to("", [turn], setting.sampling) for turn in turns]
        estimates[f"reader {model.name}, replies"] = estimate(replies, model)
    judge_name = name_without_weights(judge)
    checks = checks_in_advance(facts, questions, system, setting)
    asked = [(question, question.row) for question in questions]
    for pair in left_out_checks(asked, lambda row: _held(told, row, setting), all_units=is_free(judge)):
        checks += [check for check in pair if check.memories]
    if judging := judge.plan(checks):
        estimates[f"judge {judge_name}"] = judging
    else:
        lines.append(f"judge {judge_name}: no tokens")
    return lines + [f"{role}: {line}" for role, cost in estimates.items() for line in cost.lines()]


def requests_in_advance(
    facts: Sequence[Fact], questions: Sequence[Question], system: SystemSpec, setting: Setting, prompts: Prompts
) -> list[Request]:
    """Return requests to the reader like those that the run will send."""
    return [
        prompts.ask(f"{question.id}@{k}", question, _retrieved(facts, question, k, system, setting), setting.sampling)
        for k in setting.ks
        for question in questions
    ]


def checks_in_advance(
    facts: Sequence[Fact], questions: Sequence[Question], system: SystemSpec, setting: Setting
) -> list[Check]:
    """Return the most that the judge can be asked: every stage of every question, as if none failed."""
    checks = []
    stages: tuple[Kind, ...] = ("storage", "summary")
    for question in questions:
        store = () if system.may_be_empty else tuple(fact.text for fact in _held(facts, question.row, setting))
        gold = question.gold if store else ()
        checks += [Check(stage, question, memory, store) for stage in stages for memory in gold]
        for k in setting.ks:
            found = tuple(_retrieved(facts, question, k, system, setting))
            checks += [Check("retrieval", question, memory, found) for memory in gold]
        if not question.choices:
            kind: Kind = "abstention" if question.kind == "misleading" else "reasoning"
            checks += [Check(kind, question, answer=f"{k}") for k in setting.ks]
    return checks


def _held(facts: Sequence[Fact], row: str, setting: Setting) -> list[Fact]:
    """Return the facts that the store of a row holds."""
    return [fact for fact in facts if fact.row == row or not setting.isolate]


def _retrieved(facts: Sequence[Fact], question: Question, k: int, system: SystemSpec, setting: Setting) -> list[str]:
    """Return as many memories as will come back.

    A search returns different memories for different rows, because equal ones would look like a shared prefix.
    """
    if system.may_be_empty:
        return []
    if system.knows_gold:
        return [memory.text for memory in question.gold]
    held = [fact.text for fact in _held(facts, question.row, setting)]
    if system.beyond_k:
        return held
    own = held.index(question.gold[0].text)
    return [*held[own:], *held[:own]][:k]
