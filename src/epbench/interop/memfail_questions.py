"""MemFail in a harness: what a memory system retrieves, the requests of our own evaluation, and where an answer failed."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from epbench.memfail.dataset.load import Loaded, load_memfail
from epbench.memfail.dataset.types import Question, QuestionRecord
from epbench.memfail.judging.diagnosis import Outcome, diagnose
from epbench.memfail.judging.protocol import Judge
from epbench.memfail.pipeline.conversations import conversations_of
from epbench.memfail.pipeline.prompts import load_prompts
from epbench.memfail.pipeline.queries import gold_of, queries_of
from epbench.memfail.pipeline.setting import Setting
from epbench.memories.load import load_memory
from epbench.memories.recall import read_recall
from epbench.memories.session import fill_and_ask
from epbench.models.protocol import Request, Sampling
from epbench.runs.answers import no_progress

MAX_TOKENS = 1024
"""The longest answer in tokens, as in our own evaluation."""


@dataclass(frozen=True)
class Asked:
    """A config with what a memory system did with it.

    Attributes:
        questions: By their ids.
        requests: What our own evaluation asks, by the id of the question; without those whose retrieval failed.
        records: What the system did, by the id of the question, still without an answer; with the reason if it failed.
        stores: By name of a store, all its memories.
        warnings: What a reader of the results must know.
    """

    questions: Mapping[str, Question]
    requests: Mapping[str, Request]
    records: Mapping[str, QuestionRecord]
    stores: Mapping[str, list[str]]
    warnings: list[str]


@lru_cache(maxsize=16)
def load(dataset: str, config: str) -> Loaded:
    """Return a config; it is read once.

    Raises:
        BadInput: The dataset or the config does not exist.
    """
    return load_memfail(dataset, config)


@lru_cache(maxsize=16)
def asked(dataset: str, config: str, system: str, k: int) -> Asked:
    """Store all facts of a config, and retrieve memories for each question; this is done once.

    Args:
        dataset: A name on the Hub, or the folder of a dataset.
        config: Such as `long_hop`.
        system: A memory system, as our own evaluation takes it.
        k: The number of memories for a question, at least 1.

    Raises:
        BadInput: The dataset, the config or the system does not exist, or k is below 1.
    """
    data, setting = load(dataset, config), Setting(ks=(k,), sampling=Sampling(MAX_TOKENS))
    setting.check()
    spec = load_memory(system, gold_of(data.questions, setting), limits=setting.limits)
    conversations = conversations_of(data.facts, seed=setting.seed)
    queries = queries_of(data.questions, setting)
    with tempfile.TemporaryDirectory(prefix="epbench-memories-") as scratch:
        folder = Path(scratch)
        fill_and_ask(folder, spec, conversations, queries, limits=setting.limits, progress=no_progress)
        recall = read_recall(folder, spec, conversations, queries)
    prompts, by_id = load_prompts(), {question.id: question for question in data.questions}
    requests, records = {}, {}
    for query in queries:
        question = by_id[query.question]
        unstored = [recall.unstored.get((query.store, gold.fact)) for gold in question.gold]
        lost = [f"memory system: could not store a fact: {reason}" for reason in unstored if reason]
        failure = recall.failures.get(query.id) or next(iter(lost), None)
        memories = tuple(recall.found.get(query.id, ()))
        records[question.id] = QuestionRecord(question, k, query.store, memories, failure=failure)
        if failure is None:
            requests[question.id] = prompts.ask(question.id, question, memories, setting.sampling)
    return Asked(by_id, requests, records, recall.stores, recall.warnings)


_judging = threading.Lock()


def diagnosis(found: Asked, id_: str, answer: str, judge: Judge) -> Outcome:
    """Judge one answer stage by stage.

    Args:
        found: The config, as `asked` returns it.
        id_: The id of the question.
        answer: As the model gave it.
        judge: The judge.
    """
    record = replace(found.records[id_], answer=answer)
    with _judging, tempfile.TemporaryDirectory(prefix="epbench-judging-") as scratch:
        (outcome,) = diagnose(Path(scratch), [record], found.stores, judge, no_progress)
    return outcome
