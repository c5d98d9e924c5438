"""What a run will cost, estimated before any memory exists, as if the system stored every fact word for word.

A system that shortens what it stores costs the reader and the judge less; one that adds to it costs them more. What the
system itself spends only its own usage shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from epbench.judges.model import name_without_weights
from epbench.judges.protocol import is_free
from epbench.memfail.dataset.types import Fact, Question
from epbench.memfail.judging.leave_one_out import left_out_checks
from epbench.memfail.judging.memories import Memories
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
    if system.inner_model:
        lines.append(
            f"what {system.name} asks of {system.inner_model} comes on top; a finished run's usage.json tells it"
        )
    estimates = {
        f"reader {model.name}": estimate(requests_in_advance(facts, questions, system, setting, prompts), model)
    }
    if setting.replies:
        turns = [{"role": "user", "content": fact.text} for fact in told]
        replies = [prompts.reply_to("", [turn], setting.sampling) for turn in turns]
        estimates[f"reader {model.name}, replies"] = estimate(replies, model)
    judge_name = name_without_weights(judge)
    if is_free(judge):
        lines.append(f"judge {judge_name}: no tokens")
    else:
        checks = checks_in_advance(facts, questions, system, setting)
        stores: dict[str, list[Fact]] = {}
        for fact in told:
            stores.setdefault(_store(fact.row, setting), []).append(fact)
        asked = [(question, _store(question.row, setting)) for question in questions]
        for pair in left_out_checks(asked, stores):
            checks += [check for check in pair if check.memories]
        if judging := judge.plan(checks):
            estimates[f"judge {judge_name}"] = judging
    return lines + [f"{role}: {line}" for role, cost in estimates.items() for line in cost.lines()]


def requests_in_advance(
    facts: Sequence[Fact], questions: Sequence[Question], system: SystemSpec, setting: Setting, prompts: Prompts
) -> list[Request]:
    """Return requests to the reader like those that the run will send."""
    held = _held(facts, setting)
    return [
        prompts.ask(f"{question.id}@{k}", question, _retrieved(held, question, k, system, setting), setting.sampling)
        for k in setting.ks
        for question in questions
    ]


def checks_in_advance(
    facts: Sequence[Fact], questions: Sequence[Question], system: SystemSpec, setting: Setting
) -> list[Check]:
    """Return the most that the judge can be asked: every stage of every question, as if none failed."""
    checks = []
    stages: tuple[Kind, ...] = ("storage", "summary")
    held = _held(facts, setting)
    for question in questions:
        store = Memories() if system.may_be_empty else held[_store(question.row, setting)]
        gold = question.gold if store else ()
        checks += [Check(stage, question, memory, store) for stage in stages for memory in gold]
        for k in setting.ks:
            found = _retrieved(held, question, k, system, setting)
            checks += [Check("retrieval", question, memory, found) for memory in gold]
        if not question.choices:
            kind: Kind = "abstention" if question.kind == "misleading" else "reasoning"
            checks += [Check(kind, question, answer=f"{k}") for k in setting.ks]
    return checks


def _store(row: str, setting: Setting) -> str:
    """Return the name of the store that is asked about a row."""
    return row if setting.isolate else ""


def _held(facts: Sequence[Fact], setting: Setting) -> dict[str, Memories]:
    """Return what each store holds, by its name."""
    held: dict[str, list[str]] = {}
    for fact in facts:
        held.setdefault(_store(fact.row, setting), []).append(fact.text)
    return {name: Memories(texts) for name, texts in held.items()}


def _retrieved(
    held: Mapping[str, Memories], question: Question, k: int, system: SystemSpec, setting: Setting
) -> tuple[str, ...]:
    """Return as many memories as will come back.

    A search returns different memories for different rows, because equal ones would look like a shared prefix.
    """
    if system.may_be_empty:
        return ()
    if system.knows_gold:
        return tuple(memory.text for memory in question.gold)
    store = held[_store(question.row, setting)]
    if system.beyond_k:
        return store
    own = store.place_of(question.gold[0].text)
    return (store[own : own + k] + store[:own])[:k]
