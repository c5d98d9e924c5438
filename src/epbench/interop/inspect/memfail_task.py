"""MemFail as a task of inspect_ai: a memory system retrieves, the model answers, and the diagnosis is our own."""

from __future__ import annotations

from collections import Counter

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, mean, metric, scorer, stderr
from inspect_ai.solver import TaskState, generate

from epbench.errors import BadInput, QuestionFailed
from epbench.hub.revision import dataset_revision
from epbench.interop import memfail_questions as questions
from epbench.interop.inspect.answers import in_a_thread, reply_in
from epbench.interop.inspect.contexts import messages_of, show_contexts
from epbench.interop.inspect.refusing import refusing
from epbench.memfail.judging.load import load_judge

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
    data, found = questions.load(dataset, config), questions.asked(dataset, config, system, k)
    if not found.requests:
        raise BadInput(f"{system} retrieved nothing: {next(iter(found.records.values())).failure}")
    messages = messages_of(found.requests)
    samples = [
        Sample(
            id=number,
            input=messages.get(id_, question.text),
            target=question.reference,
            metadata={"id": id_, **{name: getattr(question, name) for name in ("row", "kind", "group")}},
        )
        for number, (id_, question) in enumerate(found.questions.items(), 1)
    ]
    load_judge(judge)  # a wrong name is an error before the first request
    about = {"config": config, "system": system, "k": k, "judge": judge, "fingerprint": data.fingerprint}
    return Task(
        dataset=MemoryDataset(samples, name=dataset),
        setup=show_contexts(),
        solver=generate(),
        scorer=stage_that_failed(dataset, config, system, k, judge),
        config=GenerateConfig(max_tokens=questions.MAX_TOKENS, temperature=0.0),
        fail_on_error=False,
        metadata=about | {"warnings": found.warnings, "dataset_revision": dataset_revision(dataset, config)},
    )


@metric
def shares() -> Metric:
    """The share of each label among the questions that have one, 0 to 1; nothing before the first of them."""

    def measure(scores: list[SampleScore]) -> Value:
        counts = Counter((one.score.metadata or {})["label"] for one in scores)
        return {label: counts[label] / len(scores) for label in LABELS} if scores else {}

    return measure


@metric
def success_rate() -> Metric:
    """The share of questions that passed every stage, 0 to 1."""
    return mean()


@scorer(metrics=[success_rate(), stderr(cluster="row"), shares()])
def stage_that_failed(dataset: str, config: str, system: str, k: int, judge: str = "lexical") -> Scorer:
    """Whether every stage passed; the explanation and the metadata name the first one that failed.

    Args:
        dataset: As for the task.
        config: As for the task.
        system: As for the task.
        k: As for the task.
        judge: As for the task.
    """
    chosen = load_judge(judge)

    async def score(state: TaskState, target: Target) -> Score:
        id_ = state.metadata["id"]
        found = questions.asked(dataset, config, system, k)
        if id_ not in found.requests:
            raise QuestionFailed(f"{found.records[id_].failure}")
        answer = reply_in(state, found.requests[id_]).text
        outcome = await in_a_thread(lambda: questions.diagnosis(found, id_, answer, chosen))
        if outcome.label == "failed":
            raise QuestionFailed(f"{outcome.failure}")
        about = {"label": outcome.label, "vacuous": outcome.vacuous, "answer_right": outcome.answer_right}
        because = f"{outcome.label}: {outcome.reason}" if outcome.reason else outcome.label
        right = float(outcome.label == "correct")
        return Score(value=right, answer=answer, explanation=because, metadata=about | {"facts": list(outcome.facts)})

    return score
