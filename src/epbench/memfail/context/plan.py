"""What a run of MemFail will cost, estimated before any memory exists, as if the system stored every fact word for word.

A system that shortens what it stores costs the reader and the judge less; one that adds to it costs them more. What the system
itself spends only its own usage shows.
"""

from __future__ import annotations

from epbench.judges.model import name_without_weights
from epbench.judges.protocol import is_free
from epbench.memfail.context.requests import ConfigRun, between_of, by_store, facts_told, requests_of
from epbench.memfail.dataset.load import QuestionRecord
from epbench.memfail.judging.diagnosis import left_out_checks
from epbench.memfail.judging.lexical import Check, Judge, every_check
from epbench.memfail.judging.memories import Memories
from epbench.models.estimate import estimate
from epbench.models.protocol import Request


def plan_lines(config: ConfigRun, judge: Judge) -> list[str]:
    """Return the estimated calls and tokens of one config, a line for each role; BadInput if a check is too long."""
    questions, system, model, setting = config.questions, config.system, config.model, config.setting
    facts = facts_told(config.facts, questions, setting)
    lines = [f"{len(facts):,} facts to tell {system.name}, {len(questions) * len(setting.ks):,} retrievals"]
    if setting.between:
        lines.append(f"{setting.between:,} tokens of unrelated text to tell each store last")
    if system.inner_model:
        asked = f"what {system.name} asks of {system.inner_model} comes on top"
        lines.append(f"{asked}; a finished run's usage.json tells it")
    estimates = {f"reader {model.name}": estimate(requests_in_advance(config), model)}
    if setting.replies:
        turns = [{"role": "user", "content": fact.text} for fact in facts]
        replies = [config.prompts.reply_to("", [turn], setting.sampling) for turn in turns]
        estimates[f"reader {model.name}, replies"] = estimate(replies, model)
    judge_name = name_without_weights(judge)
    if is_free(judge):
        lines.append(f"judge {judge_name}: no tokens")
    else:
        checks = checks_in_advance(config)
        with_stores = [(question, setting.store_of(question.row)) for question in questions]
        for pair in left_out_checks(with_stores, by_store(facts, setting)):
            checks += [check for check in pair if check.memories]
        if judging := judge.plan(checks):
            estimates[f"judge {judge_name}"] = judging
    return lines + [f"{role}: {line}" for role, cost in estimates.items() for line in cost.lines()]


def requests_in_advance(config: ConfigRun) -> list[Request]:
    """Return requests to the reader like those that the run will send."""
    records = sorted(_in_advance(config)[0], key=lambda record: config.setting.ks.index(record.k))
    return [*requests_of(records, config.prompts, config.setting.sampling).values()]


def checks_in_advance(config: ConfigRun) -> list[Check]:
    """Return the most that the judge can be asked: every stage of every question, as if none failed."""
    return every_check(*_in_advance(config))


def _in_advance(config: ConfigRun) -> tuple[list[QuestionRecord], dict[str, Memories]]:
    """Return records like those of the run, question by question, and what each store will hold, by its name."""
    setting, empty, after = config.setting, config.system.may_be_empty, between_of(config)
    held = {
        name: Memories() if empty else Memories([*(fact.text for fact in facts), *after])
        for name, facts in by_store(config.facts, setting).items()
    }
    records = []
    for question in config.questions:
        store = setting.store_of(question.row)
        for k in setting.ks:
            memories: tuple[str, ...] = () if empty else held[store]
            if config.system.knows_gold:
                memories = tuple(memory.text for memory in question.gold)
            elif not empty and not config.system.beyond_k:
                # A search returns other memories for other rows, because equal ones would look like a shared prefix.
                start = held[store].place_of(question.gold[0].text)
                memories = (memories[start : start + k] + memories[:start])[:k]
            records.append(QuestionRecord(question, k, store, memories, f"{k}"))
    return records, held
