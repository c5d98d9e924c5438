"""The evaluation loop of MemFail: store, retrieve, answer. Every step is journaled, and results are read from the journals.

Paper: Section 5.1, phases 1 and 2. Everything is stored, and the store is listed, before the first query. Queries change
nothing, so their order does not matter, and one storage phase serves every k. `epbench.memfail.judging.diagnosis` grades
the answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from epbench.judges.replies import failure_of, with_failures
from epbench.memfail.dataset.types import Fact, Question, QuestionRecord
from epbench.memfail.pipeline.conversations import conversations_of, facts_told
from epbench.memfail.pipeline.prompts import Prompts
from epbench.memfail.pipeline.queries import queries_of
from epbench.memfail.pipeline.replies import REPLIES, with_replies
from epbench.memfail.pipeline.setting import Setting
from epbench.memories.recall import Recall, read_recall
from epbench.memories.session import Conversation, fill_and_ask
from epbench.memories.spec import SystemSpec
from epbench.models.estimate import check_window
from epbench.models.protocol import Model, Request
from epbench.runs.answers import ANSWERS, Progress, ask, no_progress
from epbench.runs.journal import read_journal
from epbench.runs.usage import token_usage


@dataclass(frozen=True)
class RunOutput:
    """What a run produced, as the diagnosis needs it.

    Attributes:
        records: One record for each question at each k.
        stores: All memories of each store after storing, by the name of the store.
        warnings: What readers of the results must know.
        usage: The time and tokens of each stage.
        told: The facts that each store was told, by its name.
    """

    records: list[QuestionRecord]
    stores: dict[str, list[str]]
    warnings: list[str]
    usage: dict[str, Any]
    told: dict[str, list[Fact]]


def run_config(
    folder: Path,
    facts: Sequence[Fact],
    questions: Sequence[Question],
    system: SystemSpec,
    model: Model,
    prompts: Prompts,
    setting: Setting,
    progress: Progress,
    whole: Sequence[Question] | None = None,
) -> RunOutput:
    """Run one config in its folder, or resume it where it was stopped.

    Args:
        folder: Folder of the run, which holds its journals.
        facts: All facts of the config.
        questions: The questions to ask.
        system: The memory system.
        model: The reader.
        prompts: Prompt pack of the reader.
        setting: How the config is run.
        progress: Shows a progress bar.
        whole: The questions of the whole run, of which `questions` are a shard, so that its rows are told the same in the
            same order; None for a run that is no shard.

    Raises:
        BadInput: The system cannot be created, or a prompt does not fit the model's window.
    """
    conversations = _conversations(folder, facts, questions, model, prompts, setting, progress, whole)
    queries = queries_of(questions, setting)
    fill_and_ask(folder, system, conversations, queries, limits=setting.limits, progress=progress)
    recall = read_recall(folder, system, conversations, queries)
    requests = _requests(questions, recall, prompts, setting)
    warning = check_window(requests, model, {}) if requests else None
    ask(folder / ANSWERS, requests, model, progress, failure_of=failure_of)
    output = _output(folder, facts, questions, conversations, system, model, prompts, setting)
    return replace(output, warnings=[*output.warnings, *([warning] if warning else [])])


def read_output(
    folder: Path,
    facts: Sequence[Fact],
    questions: Sequence[Question],
    system: SystemSpec,
    model: Model,
    prompts: Prompts,
    setting: Setting,
    whole: Sequence[Question] | None = None,
) -> RunOutput:
    """Read what a run produced from its journals alone; the arguments are those of `run_config`.

    No system is started, and no question is put to the reader; it is asked for replies that the journal does not have.
    """
    conversations = _conversations(folder, facts, questions, model, prompts, setting, no_progress, whole)
    return _output(folder, facts, questions, conversations, system, model, prompts, setting)


def _output(
    folder: Path,
    facts: Sequence[Fact],
    questions: Sequence[Question],
    conversations: Sequence[Conversation],
    system: SystemSpec,
    model: Model,
    prompts: Prompts,
    setting: Setting,
) -> RunOutput:
    recall = read_recall(folder, system, conversations, queries_of(questions, setting))
    requests = _requests(questions, recall, prompts, setting)
    told = facts_told(facts, questions, setting)
    return _read_output(
        folder, questions, recall, _failures(questions, recall, setting), model, requests, setting, told
    )


def _conversations(
    folder: Path,
    facts: Sequence[Fact],
    questions: Sequence[Question],
    model: Model,
    prompts: Prompts,
    setting: Setting,
    progress: Progress,
    whole: Sequence[Question] | None,
) -> list[Conversation]:
    """What the system is told; with replies, the reader is asked for those that the journal does not have."""
    conversations = conversations_of(
        facts_told(facts, whole or questions, setting),
        seed=setting.seed, units_per_conversation=setting.units_per_conversation, isolate=setting.isolate,
    )  # fmt: skip
    if whole and setting.isolate:
        stores = {question.row for question in questions}
        conversations = [conversation for conversation in conversations if conversation.store in stores]
    if not setting.replies:
        return conversations
    return with_replies(folder / REPLIES, conversations, model, prompts, setting.sampling, progress)


def _requests(questions: Sequence[Question], recall: Recall, prompts: Prompts, setting: Setting) -> list[Request]:
    """What the reader is asked, without the queries that have failed."""
    by_id = {question.id: question for question in questions}
    failures = _failures(questions, recall, setting)
    return [
        prompts.ask(query.id, by_id[query.question], recall.found[query.id], setting.sampling)
        for query in queries_of(questions, setting)
        if query.id not in failures
    ]


def _failures(questions: Sequence[Question], recall: Recall, setting: Setting) -> dict[str, str]:
    """Return by query id why there is no answer: nothing came back, or a gold memory could not be stored."""
    failures = dict(recall.failures)
    by_id = {question.id: question for question in questions}
    for query in queries_of(questions, setting):
        for memory in by_id[query.question].gold:
            if reason := recall.unstored.get((query.store, memory.fact)):
                failures[query.id] = f"memory system: could not store {memory.fact}: {reason}"
    return failures


def _read_output(
    folder: Path,
    questions: Sequence[Question],
    recall: Recall,
    failures: dict[str, str],
    model: Model,
    requests: Sequence[Request],
    setting: Setting,
    told: Sequence[Fact],
) -> RunOutput:
    journal = {record["key"]: record for record in with_failures(read_journal(folder / ANSWERS).values())}
    unanswered = {"failure": "the reader gave no reply"}
    answers = {request.id: journal.get(request.key(model.identity), unanswered) for request in requests}
    records = []
    by_id = {question.id: question for question in questions}
    for query in queries_of(questions, setting):
        answer = answers.get(query.id, {})
        memories = tuple(recall.found.get(query.id, ()))
        failure = failures.get(query.id) or answer.get("failure")
        question = by_id[query.question]
        records.append(QuestionRecord(question, query.k, query.store, memories, answer.get("answer", ""), failure))
    usage = recall.usage
    if setting.replies:
        usage["replying"] = token_usage(read_journal(folder / REPLIES).values())
    usage |= {
        "answering": token_usage(answers.values()),
        "memory_tokens": _memory_tokens(records, model),
    }
    by_store: dict[str, list[Fact]] = {}
    for fact in told:
        by_store.setdefault(fact.row if setting.isolate else "", []).append(fact)
    return RunOutput(records, recall.stores, recall.warnings, usage, by_store)


def _memory_tokens(records: Sequence[QuestionRecord], model: Model) -> dict[str, Any]:
    """Return by k the mean tokens of what came back, per question and per memory, and the mean number of memories.

    The reader's own tokens are counted; the rule-based reader counts words.
    """
    frame = model.count_tokens(Request("", "", "", ""))[0]

    @cache  # systems that return everything return the same memories for every question
    def count(memories: tuple[str, ...]) -> int:
        return model.count_tokens(Request("", "", "", "\n".join(memories)))[0] - frame

    by_k = {}
    for k in dict.fromkeys(record.k for record in records):
        found = [record.memories for record in records if record.k == k and record.failure is None]
        tokens = [count(memories) for memories in found]
        returned = sum(map(len, found))
        by_k[str(k)] = {
            "per_question": sum(tokens) / len(found) if found else None,
            "per_memory": sum(tokens) / returned if returned else None,
            "returned": returned / len(found) if found else None,
        }
    return by_k
