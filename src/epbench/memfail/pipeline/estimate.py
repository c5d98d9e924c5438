"""What a run will cost, before any memory is made: as if a system kept what it is told word for word.

A system that shortens what it keeps costs the reader and the judge less, one that adds to it more; what it spends itself
only its own usage shows.
"""

from __future__ import annotations

from collections.abc import Sequence

from epbench.judges.model import name_without_weights
from epbench.memfail.dataset.types import Fact, Question
from epbench.memfail.judging.protocol import Check, Judge, Kind
from epbench.memfail.pipeline.harness import Setting
from epbench.memfail.pipeline.prompts import Prompts
from epbench.memories.load import SystemSpec
from epbench.models.estimate import estimate
from epbench.models.protocol import Model, Request


def plan_lines(
    units: Sequence[Fact],
    questions: Sequence[Question],
    system: SystemSpec,
    model: Model,
    judge: Judge,
    prompts: Prompts,
    setting: Setting,
) -> list[str]:
    """Calls and tokens of one config, a line each.

    Raises:
        BadInput: a check does not fit the judge's window.
    """
    rows = {question.row for question in questions}
    told = [unit for unit in units if unit.row in rows] if setting.isolate else units
    lines = [f"{len(told):,} units to tell {system.name}, {len(questions) * len(setting.ks):,} retrievals"]
    plans = {f"reader {model.name}": estimate(requests_in_advance(units, questions, system, setting, prompts), model)}
    if setting.replies:
        turns = [{"role": "user", "content": unit.text} for unit in told]
        replies = [prompts.reply_to("", [turn], setting.sampling) for turn in turns]
        plans[f"reader {model.name}, replies"] = estimate(replies, model)
    judged_by = name_without_weights(judge)
    if judging := judge.plan(checks_in_advance(units, questions, system, setting)):
        plans[f"judge {judged_by}"] = judging
    else:
        lines.append(f"judge {judged_by}: no tokens")
    return lines + [f"{who}: {line}" for who, plan in plans.items() for line in plan.lines()]


def requests_in_advance(
    units: Sequence[Fact], questions: Sequence[Question], system: SystemSpec, setting: Setting, prompts: Prompts
) -> list[Request]:
    """Requests to the reader like those that the run will make."""
    return [
        prompts.ask(f"{question.id}@{k}", question, _retrieved(units, question, k, system, setting), setting.sampling)
        for k in setting.ks
        for question in questions
    ]


def checks_in_advance(
    units: Sequence[Fact], questions: Sequence[Question], system: SystemSpec, setting: Setting
) -> list[Check]:
    """At most what the judge will be asked: every stage of every question, as if none failed."""
    checks = []
    stages: tuple[Kind, ...] = ("storage", "summary")
    for question in questions:
        store = () if system.may_be_empty else tuple(_held(units, question, setting))
        needs = question.needs if store else ()
        checks += [Check(stage, question, need, store) for stage in stages for need in needs]
        for k in setting.ks:
            found = tuple(_retrieved(units, question, k, system, setting))
            checks += [Check("retrieval", question, need, found) for need in needs]
        if not question.choices:
            kind: Kind = "abstention" if question.kind == "misleading" else "reasoning"
            checks += [Check(kind, question, answer=f"{k}") for k in setting.ks]
    return checks


def _held(units: Sequence[Fact], question: Question, setting: Setting) -> list[str]:
    """What the store of a question holds."""
    return [unit.text for unit in units if unit.row == question.row or not setting.isolate]


def _retrieved(units: Sequence[Fact], question: Question, k: int, system: SystemSpec, setting: Setting) -> list[str]:
    """As many memories as will come back; for a search other ones for each row, or they would seem to be shared."""
    if system.may_be_empty:
        return []
    if system.name == "oracle":
        return [need.text for need in question.needs]
    held = _held(units, question, setting)
    if system.beyond_k:
        return held
    own = held.index(question.needs[0].text)
    return [*held[own:], *held[:own]][:k]
