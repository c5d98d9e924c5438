"""MemFail as a task of inspect_ai: a memory system retrieves, the model answers, and the diagnosis is our own."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, mean, metric, scorer, stderr
from inspect_ai.solver import TaskState

from epbench.errors import BadInput, QuestionFailed
from epbench.hub.rows import dataset_revision
from epbench.interop.inspect.contexts import in_a_thread, messages_of, refusing, reply_in, task_of
from epbench.memfail.context.requests import Setting, conversations_of, gold_of, load_prompts, requests_of
from epbench.memfail.dataset.load import Loaded, Question, QuestionRecord, load_memfail
from epbench.memfail.evaluate import remember
from epbench.memfail.judging.diagnosis import Outcome, diagnose
from epbench.memfail.judging.lexical import Judge
from epbench.memfail.judging.load import load_judge
from epbench.memories.load import load_memory
from epbench.models.protocol import Request, Sampling
from epbench.progress import no_progress

MAX_TOKENS = 1024
"""The longest answer in tokens, as in our own evaluation."""


@dataclass(frozen=True)
class Asked:
    """A config with what a memory system did with it."""

    questions: Mapping[str, Question]  # by their ids
    # What our own evaluation asks, by the id of the question; without those whose retrieval failed.
    requests: Mapping[str, Request]
    # What the system did, by the id of the question, still without an answer; with the reason if it failed.
    records: Mapping[str, QuestionRecord]
    stores: Mapping[str, list[str]]  # by name of a store, all its memories
    warnings: list[str]  # what a reader of the results must know


@lru_cache(maxsize=16)
def load(dataset: str, config: str) -> Loaded:
    """Return a config; it is read once."""
    return load_memfail(dataset, config)


@lru_cache(maxsize=16)
def asked(dataset: str, config: str, system: str, k: int) -> Asked:
    """Store all facts of a config, and retrieve memories for each question; this is done once.

    Raises:
        BadInput: The dataset, the config or the system does not exist, or k is below 1.
    """
    data, setting = load(dataset, config), Setting(ks=(k,), sampling=Sampling(MAX_TOKENS))
    setting.check()
    spec = load_memory(system, gold_of(data.questions, setting), limits=setting.limits)
    conversations = conversations_of(data.facts, setting)
    with tempfile.TemporaryDirectory(prefix="epbench-memories-") as scratch:
        recall, records = remember(Path(scratch), conversations, data.questions, spec, setting, no_progress)
    requests = requests_of(records, load_prompts(), setting.sampling)
    return Asked(
        questions={question.id: question for question in data.questions},
        requests={record.question.id: requests[record.id] for record in records if record.id in requests},
        records={record.question.id: record for record in records},
        stores=recall.stores,
        warnings=recall.warnings,
    )


_judging = threading.Lock()


def diagnosis(found: Asked, id_: str, answer: str, judge: Judge) -> Outcome:
    """Judge one answer stage by stage."""
    record = replace(found.records[id_], answer=answer)
    with _judging, tempfile.TemporaryDirectory(prefix="epbench-judging-") as scratch:
        (outcome,) = diagnose(Path(scratch), [record], found.stores, judge, no_progress)
    return outcome


LABELS = ("correct", "storage_error", "summary_error", "retrieval_error", "reasoning_error")


@task
@refusing
def memfail(
    dataset: str = "epbench/memfail",
    config: str = "conditional_facts_easy",
    system: str = "verbatim-bm25",
    k: int = 5,
    judge: str = "lexical",
) -> Task:
    """Questions that a memory system and a model answer together; each failure is traced to a stage of the memory.

    All facts are stored and all memories retrieved when the task is made, before the first question.

    Args:
        dataset: Name on the Hub, or a folder that the builder of the set wrote.
        config: A config of the set, such as `long_hop`.
        system: A memory system: a baseline, one that is installed, or a class of your own as `module:Class`.
        k: Memories for each question, at least 1.
        judge: `lexical`, or a model as our own evaluation takes it.

    Raises:
        PrerequisiteError: The dataset, the config, the system or the judge does not exist, or retrieval failed for all questions.
    """
    data, prepared = load(dataset, config), asked(dataset, config, system, k)
    if not prepared.requests:
        raise BadInput(f"{system} retrieved nothing: {next(iter(prepared.records.values())).failure}")
    messages = messages_of(prepared.requests)
    samples = [
        Sample(
            id=number,
            input=messages.get(id_, question.text),
            target=question.reference,
            metadata={"id": id_, **{name: getattr(question, name) for name in ("row", "kind", "group")}},
        )
        for number, (id_, question) in enumerate(prepared.questions.items(), 1)
    ]
    load_judge(judge)  # a wrong name is an error before the first request
    about = {"config": config, "system": system, "k": k, "judge": judge, "fingerprint": data.fingerprint}
    about |= {"warnings": prepared.warnings, "dataset_revision": dataset_revision(dataset, config)}
    asking = GenerateConfig(max_tokens=MAX_TOKENS, temperature=0.0)
    return task_of(dataset, samples, stage_that_failed(dataset, config, system, k, judge), asking, about)


@metric
def shares() -> Metric:
    """The share of each label among the questions that have one, 0 to 1; nothing before the first of them."""

    def measure(scores: list[SampleScore]) -> Value:
        counts = Counter((score.score.metadata or {})["label"] for score in scores)
        return {label: counts[label] / len(scores) for label in LABELS} if scores else {}

    return measure


@metric
def success_rate() -> Metric:
    """The share of questions that passed every stage, 0 to 1."""
    return mean()


@scorer(metrics=[success_rate(), stderr(cluster="row"), shares()])
def stage_that_failed(dataset: str, config: str, system: str, k: int, judge: str = "lexical") -> Scorer:
    """Whether every stage passed; the explanation and the metadata name the first one that failed."""
    chosen = load_judge(judge)

    async def score(state: TaskState, target: Target) -> Score:
        id_ = state.metadata["id"]
        prepared = asked(dataset, config, system, k)
        if id_ not in prepared.requests:
            raise QuestionFailed(f"{prepared.records[id_].failure}")
        answer = reply_in(state, prepared.requests[id_]).text
        outcome = await in_a_thread(lambda: diagnosis(prepared, id_, answer, chosen))
        if outcome.label == "failed":
            raise QuestionFailed(f"{outcome.failure}")
        about = {"label": outcome.label, "vacuous": outcome.vacuous, "answer_right": outcome.answer_right}
        because = f"{outcome.label}: {outcome.reason}" if outcome.reason else outcome.label
        right = float(outcome.label == "correct")
        return Score(value=right, answer=answer, explanation=because, metadata=about | {"facts": list(outcome.facts)})

    return score
