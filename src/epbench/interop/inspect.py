"""The benchmarks as tasks of inspect_ai, which finds them by the entry point of the package.

The prompts, the judges and the scores are those of our own evaluation. A Tulving book comes first, then Book-SORT, whose
answers are read as A or B, and then MemFail, where a memory system retrieves before the model answers.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path

from anyio.to_thread import run_sync  # beside the event loop, as a judge may take long
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    accuracy,
    grouped,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState

from epbench.booksort.dataset.load import fingerprint, group_of
from epbench.booksort.judging import failure_of, predicted
from epbench.errors import BadInput, QuestionFailed
from epbench.hub.rows import dataset_revision
from epbench.interop import questions
from epbench.interop.inspect_contexts import messages_of, refusing, reply_in, task_of
from epbench.interop.questions import MAX_TOKENS
from epbench.judges.protocol import Judgement
from epbench.memfail.context.requests import Setting, conversations_of, gold_of, load_prompts, requests_of
from epbench.memfail.dataset.load import QuestionRecord, load_memfail
from epbench.memfail.evaluate import remember
from epbench.memfail.judging import load as memfail_judges
from epbench.memfail.judging.diagnosis import ERRORS, Outcome, diagnose
from epbench.memories.load import load_memory
from epbench.memories.recall import Recall
from epbench.models.openai.wire import TOP_LOGPROBS
from epbench.models.protocol import Request, Sampling
from epbench.progress import no_progress
from epbench.tulving.judging import load as tulving_judges
from epbench.tulving.judging.verdicts import QuestionToScore, Verdict, judge_input, judged
from epbench.tulving.scores import scoring

MAX_TOKENS_OF_PAIR = 25
"""The longest answer to Book-SORT, as our own evaluation asks endpoints: it may say more before it comes to a label."""


@task
@refusing
def tulving(dataset: str = "epbench/short", memory: str = "in-context", judge: str = "lexical") -> Task:
    """Questions about the events of a book.

    Args:
        dataset: Name on the Hub, or a folder that the builder of the books wrote.
        memory: What a model is shown: `in-context`, `rag-paragraph`, `rag-chapter` or `none`.
        judge: `lexical`, `minilm`, or a model as our own evaluation takes it.

    Raises:
        PrerequisiteError: The dataset, the memory or the judge does not exist.
    """
    data, requests = questions.book(dataset), questions.book_requests(dataset, memory)
    messages = messages_of(requests)
    samples = [
        Sample(
            id=number,
            input=messages[row["id"]],
            target=list(row["answer"]) or "",
            metadata={
                "id": row["id"],
                "question": row["question"],
                **{name: row[name] for name in ("get", "trace", "bin", "n_chapters", "template")},
                "cue_values": json.dumps([row[name] for name in ("time", "space", "entity", "content")]),
            },
        )
        for number, row in enumerate(data.rows, 1)
    ]
    tulving_judges.load_judge(judge)  # a wrong name is an error before the first request
    about = {"memory": memory, "judge": judge, **data.identity, "dataset_revision": dataset_revision(dataset, "qa")}
    return task_of(dataset, samples, episodic_f1(dataset, memory, judge), about, MAX_TOKENS)


def _as_questions(scores: Sequence[SampleScore]) -> tuple[list[QuestionToScore], list[float]]:
    """What scores are computed from."""
    asked = []
    for score in scores:
        about = score.sample_metadata or {}
        cue = tuple(json.loads(about["cue_values"]))
        asked.append(QuestionToScore(about["id"], about["get"], about["bin"], about["n_chapters"], cue, ()))
    return asked, [score.score.as_float() for score in scores]


@metric
def mean_f1() -> Metric:
    """The scores of our own runs that are means of F1, each where a question counts for it.

    f1_bin_<bin> is that of the questions with get = all, by the bin of the number of matching chapters, and simple_recall the
    mean of these; latest that of the questions for the latest state that two or more chapters match.
    """

    def measure(scores: list[SampleScore]) -> Value:
        asked, f1 = _as_questions(scores)
        by_bin = scoring.f1_by_bin(asked, f1)
        latest = [value for one, value in zip(asked, f1, strict=True) if scoring.is_latest(one)]
        means = {"simple_recall": scoring.mean(list(by_bin.values()))}
        means |= {f"f1_bin_{bin_}": value for bin_, value in by_bin.items()} | {"latest": scoring.mean(latest)}
        return {name: value for name, value in means.items() if value is not None}

    return measure


@scorer(metrics=[mean_f1(), mean(), stderr(cluster="cue_values")])
def episodic_f1(dataset: str, memory: str, judge: str = "lexical") -> Scorer:
    """F1 of the items that a judge finds in an answer, 0 to 1.

    A sample with an error has no F1, and inspect_ai computes all metrics from the others: with errors they are no scores
    of the whole dataset, for which our own evaluation gives bounds instead.
    """
    lock, chosen = threading.Lock(), tulving_judges.load_judge(judge)

    async def score(state: TaskState, target: Target) -> Score:
        id_ = state.metadata["id"]
        row = questions.rows(dataset)[id_]
        answer = reply_in(state, questions.book_requests(dataset, memory)[id_]).text

        def judge_one() -> list[Judgement[Verdict]]:
            with lock:  # weights on this machine serve one thread at a time
                return list(chosen.judge([judge_input(row, answer)]))

        (judgement,) = await run_sync(judge_one)
        if judgement.verdict is None:
            raise QuestionFailed(f"judge {chosen.name}: {judgement.failure}")
        verdict = asdict(judgement.verdict)
        (f1,) = scoring.question_f1([judged(row, verdict)])
        fields = {name: verdict[name] for name in ("items", "scores", "order")}
        return Score(value=f1, answer=answer, explanation=verdict.get("reason") or None, metadata=fields)

    return score


@task
@refusing
def booksort(
    dataset: str = "epbench/booksort", config: str = "e250_s20", memory: str = "in-context", logprobs: bool = False
) -> Task:
    """Which of two segments of a book comes first.

    Args:
        dataset: Name on the Hub, or a folder that the builder of the set wrote.
        config: Such as `e250_s20`: excerpts of 250 words, segments of 20.
        memory: What a model is shown: `in-context`, the excerpt, or `none`.
        logprobs: Whether the label with the higher probability is the answer, where a provider gives probabilities;
            otherwise the words of the answer count.

    Raises:
        PrerequisiteError: The dataset, the config or the memory does not exist.
    """
    pairs, requests = questions.pairs(dataset, config), questions.pair_requests(dataset, config, memory)
    messages = messages_of(requests)
    samples = [
        Sample(
            id=number,
            input=messages[id_],
            target=pairs[id_].answer,
            metadata={
                "id": id_,
                "excerpt": group_of(pairs[id_]),
                **{name: getattr(pairs[id_], name) for name in ("book_idx", "distance", "distance_bin")},
            },
        )
        for number, id_ in enumerate(requests, 1)  # the pairs of an excerpt follow one another
    ]
    asked = {"logprobs": True, "top_logprobs": TOP_LOGPROBS} if logprobs else {}
    about: dict[str, str | None] = {"memory": memory, "config": config, "fingerprint": fingerprint(pairs.values())}
    about |= {"dataset_revision": dataset_revision(dataset, config)}
    return task_of(dataset, samples, sort_accuracy(dataset, config, memory), about, MAX_TOKENS_OF_PAIR, **asked)


@scorer(
    metrics=[
        accuracy(),
        stderr(cluster="excerpt"),
        grouped(accuracy(), "distance_bin", all=False, name_template="accuracy_distance_{group_name}"),
    ]
)
def sort_accuracy(dataset: str, config: str, memory: str) -> Scorer:
    """Whether an answer names the segment that comes first; one that names neither is wrong."""

    async def score(state: TaskState, target: Target) -> Score:
        request = questions.pair_requests(dataset, config, memory)[state.metadata["id"]]
        reply = reply_in(state, request)
        ended = {"ended": reply.ended} if reply.ended != "stop" else {}
        record = {"answer": reply.text, "probabilities": reply.probabilities, **ended}  # as in our own journal
        if failure := failure_of(record):
            raise QuestionFailed(failure)
        answer = predicted(record)
        right = answer == target.text
        about = {"probabilities": reply.probabilities or {}}
        return Score(value=CORRECT if right else INCORRECT, answer=answer, metadata=about)

    return score


load = lru_cache(maxsize=16)(load_memfail)
"""Return a config of MemFail; it is read once."""


@lru_cache(maxsize=16)
def remembered(
    dataset: str, config: str, system: str, k: int
) -> tuple[Mapping[str, Request], Mapping[str, QuestionRecord], Recall]:
    """Store all facts of a config, and retrieve memories for each question; this is done once.

    Return, by the id of the question, what our own evaluation asks where retrieval did not fail, and what the system did,
    with the reason if it failed; and what it has in its stores.
    """
    data, setting = load(dataset, config), Setting(ks=(k,), sampling=Sampling(MAX_TOKENS))
    setting.check()
    spec = load_memory(system, gold_of(data.questions, setting), limits=setting.limits)
    conversations = conversations_of(data.facts, setting)
    with tempfile.TemporaryDirectory(prefix="epbench-memories-") as scratch:
        recall, records = remember(Path(scratch), conversations, data.questions, spec, setting, no_progress)
    requests = requests_of(records, load_prompts(), setting.sampling)
    asked = {record.question.id: requests[record.id] for record in records if record.id in requests}
    return asked, {record.question.id: record for record in records}, recall


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
    data, (requests, records, recall) = load(dataset, config), remembered(dataset, config, system, k)
    if not requests:
        raise BadInput(f"{system} retrieved nothing: {next(iter(records.values())).failure}")
    messages = messages_of(requests)
    samples = [
        Sample(
            id=number,
            input=messages.get(question.id, question.text),
            target=question.reference,
            metadata={name: getattr(question, name) for name in ("id", "row", "kind", "group")},
        )
        for number, question in enumerate(data.questions, 1)
    ]
    memfail_judges.load_judge(judge)  # a wrong name is an error before the first request
    about = {"config": config, "system": system, "k": k, "judge": judge, "fingerprint": data.fingerprint}
    about |= {"warnings": recall.warnings, "dataset_revision": dataset_revision(dataset, config)}
    return task_of(dataset, samples, stage_that_failed(dataset, config, system, k, judge), about, MAX_TOKENS)


@metric
def shares() -> Metric:
    """The share of each label among the questions that have one, 0 to 1; nothing before the first of them."""

    def measure(scores: list[SampleScore]) -> Value:
        counts = Counter((score.score.metadata or {})["label"] for score in scores)
        return {label: counts[label] / len(scores) for label in ("correct", *ERRORS)} if scores else {}

    return measure


@metric
def success_rate() -> Metric:
    """The share of questions that passed every stage, 0 to 1."""
    return mean()


@scorer(metrics=[success_rate(), stderr(cluster="row"), shares()])
def stage_that_failed(dataset: str, config: str, system: str, k: int, judge: str = "lexical") -> Scorer:
    """Whether every stage passed; the explanation and the metadata name the first one that failed."""
    lock, chosen = threading.Lock(), memfail_judges.load_judge(judge)

    async def score(state: TaskState, target: Target) -> Score:
        id_ = state.metadata["id"]
        requests, records, recall = remembered(dataset, config, system, k)
        if id_ not in requests:
            raise QuestionFailed(f"{records[id_].failure}")
        answer = reply_in(state, requests[id_]).text

        def diagnose_one() -> list[Outcome]:
            with lock, tempfile.TemporaryDirectory(prefix="epbench-judging-") as scratch:
                record = replace(records[id_], answer=answer)
                return diagnose(Path(scratch), [record], recall.stores, chosen, no_progress)

        (outcome,) = await run_sync(diagnose_one)
        if outcome.label == "failed":
            raise QuestionFailed(f"{outcome.failure}")
        about = {"label": outcome.label, "vacuous": outcome.vacuous, "answer_right": outcome.answer_right}
        because = f"{outcome.label}: {outcome.reason}" if outcome.reason else outcome.label
        right = float(outcome.label == "correct")
        return Score(value=right, answer=answer, explanation=because, metadata=about | {"facts": list(outcome.facts)})

    return score
