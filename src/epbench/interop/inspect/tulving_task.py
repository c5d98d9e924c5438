"""A Tulving book as a task of inspect_ai: the prompts, the judge and the scores of our own evaluation."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import asdict

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, mean, metric, scorer, stderr
from inspect_ai.solver import TaskState

from epbench.errors import QuestionFailed
from epbench.hub.rows import dataset_revision
from epbench.interop import tulving_questions as questions
from epbench.interop.inspect.contexts import in_a_thread, messages_of, refusing, reply_in, task_of
from epbench.judges.protocol import Judgement
from epbench.tulving.judging.load import load_judge
from epbench.tulving.judging.verdicts import QuestionToScore, Verdict, judge_input, judged
from epbench.tulving.scores import scoring
from epbench.tulving.scores.scoring import question_f1


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
    data, requests = questions.load(dataset), questions.requests(dataset, memory)
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
    load_judge(judge)  # a wrong name is an error before the first request
    about = {"memory": memory, "judge": judge, **data.identity, "dataset_revision": dataset_revision(dataset, "qa")}
    asking = GenerateConfig(max_tokens=questions.MAX_TOKENS, temperature=0.0)
    return task_of(dataset, samples, episodic_f1(dataset, memory, judge), asking, about)


def _as_questions(scores: Sequence[SampleScore]) -> tuple[list[QuestionToScore], list[float]]:
    """What scores are computed from."""
    asked = []
    for score in scores:
        about = score.sample_metadata or {}
        cue = tuple(json.loads(about["cue_values"]))
        asked.append(QuestionToScore(about["id"], about["get"], about["bin"], about["n_chapters"], cue, ()))
    return asked, [score.score.as_float() for score in scores]


def _if_any(name: str, values: Sequence[float]) -> Value:
    """The mean under its name; nothing without values, so that a log never shows a score that no question counts for."""
    average = scoring.mean(values)
    return {} if average is None else {name: average}


@metric
def simple_recall() -> Metric:
    """The mean over the bins of the mean F1 of the questions with get = all: simple_recall_score of our own runs."""

    def measure(scores: list[SampleScore]) -> Value:
        by_bin = scoring.f1_by_bin(*_as_questions(scores))
        return _if_any("simple_recall", list(by_bin.values()))

    return measure


@metric
def f1_by_bin() -> Metric:
    """The mean F1 of the questions with get = all, by the bin of the number of matching chapters."""

    def measure(scores: list[SampleScore]) -> Value:
        return {f"f1_bin_{bin_}": f1 for bin_, f1 in scoring.f1_by_bin(*_as_questions(scores)).items()}

    return measure


@metric
def latest() -> Metric:
    """The mean F1 of the questions for the latest state that two or more chapters match."""

    def measure(scores: list[SampleScore]) -> Value:
        asked, f1 = _as_questions(scores)
        return _if_any("latest", [value for one, value in zip(asked, f1, strict=True) if scoring.is_latest(one)])

    return measure


@scorer(metrics=[simple_recall(), f1_by_bin(), latest(), mean(), stderr(cluster="cue_values")])
def episodic_f1(dataset: str, memory: str, judge: str = "lexical") -> Scorer:
    """F1 of the items that a judge finds in an answer, 0 to 1.

    A sample with an error has no F1, and inspect_ai computes all metrics from the others: with errors they are no scores
    of the whole dataset, for which our own evaluation gives bounds instead.
    """
    lock, chosen = threading.Lock(), load_judge(judge)

    async def score(state: TaskState, target: Target) -> Score:
        id_ = state.metadata["id"]
        row = questions.row(dataset, id_)
        answer = reply_in(state, questions.requests(dataset, memory)[id_]).text

        def judge_one() -> list[Judgement[Verdict]]:
            with lock:  # weights on this machine serve one thread at a time
                return list(chosen.judge([judge_input(row, answer)]))

        (judgement,) = await in_a_thread(judge_one)
        if judgement.verdict is None:
            raise QuestionFailed(f"judge {chosen.name}: {judgement.failure}")
        verdict = asdict(judgement.verdict)
        (f1,) = question_f1([judged(row, verdict)])
        fields = {name: verdict[name] for name in ("items", "scores", "order")}
        return Score(value=f1, answer=answer, explanation=verdict.get("reason") or None, metadata=fields)

    return score
