"""MemFail in a harness: what a memory system retrieves, the requests of our own evaluation, and where an answer failed."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from epbench.memfail.context.conversations import conversations_of
from epbench.memfail.context.prompts import load_prompts
from epbench.memfail.context.requests import Setting, gold_of, requests_of
from epbench.memfail.dataset.load import Loaded, load_memfail
from epbench.memfail.dataset.types import Question, QuestionRecord
from epbench.memfail.evaluate import remember
from epbench.memfail.judging.diagnosis import Outcome, diagnose
from epbench.memfail.judging.protocol import Judge
from epbench.memories.load import load_memory
from epbench.models.protocol import Request, Sampling
from epbench.progress import no_progress

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
