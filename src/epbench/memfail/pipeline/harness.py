"""The evaluation loop of MemFail: store, retrieve, answer; every step journaled, what it made read from the journals.

Paper: Section 5.1, phases 1 and 2. All is stored and the store listed before the first query; queries change nothing, so
that their order is of no importance, and one storage phase serves every k. Grading is `epbench.memfail.judging.diagnosis`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.memfail.dataset.types import Fact, Question, QuestionRecord
from epbench.memfail.pipeline.conversations import conversations_of
from epbench.memfail.pipeline.prompts import Prompts
from epbench.memfail.pipeline.replies import REPLIES, with_replies
from epbench.memories.guard import CALL_LIMIT, MEMORY_LIMIT, Limits
from epbench.memories.recall import Recall, read_recall
from epbench.memories.session import Query, fill_and_ask
from epbench.memories.spec import SystemSpec
from epbench.models.estimate import check_window
from epbench.models.protocol import Model, Request, Sampling
from epbench.runs.answers import ANSWERS, Progress, ask
from epbench.runs.journal import read_journal
from epbench.runs.usage import token_usage


@dataclass(frozen=True)
class Setting:
    """How a config is run.

    Attributes:
        ks: numbers of memories that are asked for, each at least 1.
        isolate: one store for each row instead of one for all.
        published_query: ask the memory the whole question, options included, as published; else the stem.
        replies: the reader replies to what is told, and its reply is told as well, as published.
        per_conversation: most units in one conversation.
        timeout: of one call into the system, in seconds.
        seed: of the order of storing.
        sampling: of the answers.
        memory_limit: of the system's process, in gigabytes.
    """

    ks: tuple[int, ...] = (5,)
    isolate: bool = False
    published_query: bool = False
    replies: bool = False
    per_conversation: int = 1
    timeout: float = CALL_LIMIT
    seed: int = 0
    sampling: Sampling = field(default_factory=Sampling)
    memory_limit: float = MEMORY_LIMIT

    @property
    def limits(self) -> Limits:
        """What the system may take."""
        return Limits(self.timeout, self.memory_limit)

    def check(self) -> None:
        """
        Raises:
            BadInput: a number is out of its range, or some k is named twice.
        """
        if not self.ks or min(self.ks) < 1:
            raise BadInput(f"--k {' '.join(map(str, self.ks))}: numbers of at least 1 expected")
        if len(set(self.ks)) < len(self.ks):
            raise BadInput(f"--k {' '.join(map(str, self.ks))}: each number once is expected")
        self.limits.check()
        if self.sampling.max_tokens < 1:
            raise BadInput(f"--max-tokens {self.sampling.max_tokens}: at least 1 expected")


@dataclass(frozen=True)
class RunOutput:
    """What a run made, for the diagnosis.

    Attributes:
        traces: one for each question and k.
        stores: all memories of each store after storing.
        warnings: what a reader of the results has to know.
        usage: what each stage took.
    """

    traces: list[QuestionRecord]
    stores: dict[str, list[str]]
    warnings: list[str]
    usage: dict[str, Any]


def queries_of(questions: Sequence[Question], setting: Setting) -> list[Query]:
    """What the memory is asked: every question at every k, for a system may answer each k in its own way."""
    return [
        Query(
            id=f"{question.id}@{k}",
            question=question.id,
            store=question.row if setting.isolate else "",
            text=question.text if setting.published_query else question.query,
            k=k,
        )
        for k in setting.ks
        for question in questions
    ]


def requests_of(questions: Sequence[Question], recall: Recall, setting: Setting, prompts: Prompts) -> list[Request]:
    """What the reader is asked, with what came back; nothing where the memory failed."""
    failures = failures_of(questions, recall, setting)
    by_id = {question.id: question for question in questions}
    return [
        prompts.ask(query.id, by_id[query.question], recall.found[query.id], setting.sampling)
        for query in queries_of(questions, setting)
        if query.id not in failures
    ]


def failures_of(questions: Sequence[Question], recall: Recall, setting: Setting) -> dict[str, str]:
    """By id of the query, why it has no answer: nothing came back, or what it needs could not be stored."""
    failures = dict(recall.failures)
    by_id = {question.id: question for question in questions}
    for query in queries_of(questions, setting):
        for need in by_id[query.question].needs:
            if reason := recall.unstored.get((query.store, need.unit)):
                failures[query.id] = f"memory system: could not store {need.unit}: {reason}"
    return failures


def run_config(
    folder: Path,
    units: Sequence[Fact],
    questions: Sequence[Question],
    system: SystemSpec,
    model: Model,
    prompts: Prompts,
    setting: Setting,
    progress: Progress,
) -> RunOutput:
    """Run one config in its folder, or go on where it was stopped.

    Raises:
        BadInput: the system cannot be made, or a prompt does not fit the model's window.
    """
    rows = {question.row for question in questions}
    told = [unit for unit in units if unit.row in rows] if setting.isolate else units
    conversations = conversations_of(
        told, seed=setting.seed, per_conversation=setting.per_conversation, isolate=setting.isolate
    )
    if setting.replies:
        conversations = with_replies(folder / REPLIES, conversations, model, prompts, setting.sampling, progress)
    queries = queries_of(questions, setting)
    fill_and_ask(folder, system, conversations, queries, limits=setting.limits, progress=progress)
    recall = read_recall(folder, system, conversations, queries)
    requests = requests_of(questions, recall, setting, prompts)
    warning = check_window(requests, model, {}) if requests else None
    ask(folder / ANSWERS, requests, model, progress)
    return _harvest(folder, questions, recall, model, requests, setting, [warning] if warning else [])


def _harvest(
    folder: Path,
    questions: Sequence[Question],
    recall: Recall,
    model: Model,
    requests: Sequence[Request],
    setting: Setting,
    warnings: list[str],
) -> RunOutput:
    journal = read_journal(folder / ANSWERS)
    unanswered = {"failure": "the reader gave no reply"}
    records = {request.id: journal.get(request.key(model.identity), unanswered) for request in requests}
    failures = failures_of(questions, recall, setting)
    traces = []
    by_id = {question.id: question for question in questions}
    for query in queries_of(questions, setting):
        record = records.get(query.id, {})
        memories = tuple(recall.found.get(query.id, ()))
        failure = failures.get(query.id) or record.get("failure")
        trace = QuestionRecord(by_id[query.question], query.k, query.store, memories, record.get("answer", ""), failure)
        traces.append(trace)
    usage = recall.usage
    if setting.replies:
        usage["replying"] = token_usage(read_journal(folder / REPLIES).values())
    usage |= {
        "answering": token_usage(records.values()),
        "memory_tokens": _memory_tokens(traces, model),
    }
    return RunOutput(traces, recall.stores, recall.warnings + warnings, usage)


def _memory_tokens(traces: Sequence[QuestionRecord], model: Model) -> dict[str, Any]:
    """By k, mean tokens of what came back: for a question, and for a memory, over those that came back.

    As the reader counts them; the lexical one counts words.
    """
    frame = model.count_tokens(Request("", "", "", ""))[0]

    @cache  # where everything comes back, it is the same for all questions
    def count(memories: tuple[str, ...]) -> int:
        return model.count_tokens(Request("", "", "", "\n".join(memories)))[0] - frame

    by_k = {}
    for k in dict.fromkeys(trace.k for trace in traces):
        found = [trace.memories for trace in traces if trace.k == k and trace.failure is None]
        tokens = [count(memories) for memories in found]
        returned = sum(map(len, found))
        by_k[str(k)] = {
            "per_question": sum(tokens) / len(found) if found else None,
            "per_memory": sum(tokens) / returned if returned else None,
            "returned": returned / len(found) if found else None,
        }
    return by_k


def gold_of(questions: Sequence[Question], setting: Setting) -> dict[str, list[str]]:
    """By query, the texts of the memories that it needs; for the oracle."""
    gold: dict[str, list[str]] = {}
    for question in questions:
        known = gold.setdefault(question.text if setting.published_query else question.query, [])
        known += [need.text for need in question.needs if need.text not in known]
    return gold


def limited(questions: Sequence[Question], limit: int | None) -> list[Question]:
    """So many questions at random, in their order; a larger limit takes the same and more. The store stays whole.

    Raises:
        BadInput: the limit is below 1.
    """
    if limit is not None and limit < 1:
        raise BadInput(f"--limit {limit}: at least 1 expected")
    by_hash = sorted((question.id for question in questions), key=lambda id_: sha256(id_.encode()).hexdigest())
    kept = set(by_hash[:limit])
    return [question for question in questions if question.id in kept]
