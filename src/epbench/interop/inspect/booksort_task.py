"""Book-SORT as a task of inspect_ai: the prompt of our own evaluation, and its reading of an answer as A or B."""

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, accuracy, grouped, scorer, stderr
from inspect_ai.solver import TaskState

from epbench.booksort.dataset.load import fingerprint, group_of
from epbench.booksort.judging.answers import failure_of, predicted
from epbench.errors import QuestionFailed
from epbench.hub.rows import dataset_revision
from epbench.interop import booksort_questions as questions
from epbench.interop.inspect.contexts import messages_of, refusing, reply_in, task_of
from epbench.models.openai.wire import TOP_LOGPROBS

MAX_TOKENS = 25
"""The longest answer in tokens, as our own evaluation asks endpoints: an answer may say more before it comes to a label."""


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
    pairs, requests = questions.load(dataset, config), questions.requests(dataset, config, memory)
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
    asked = GenerateConfig(max_tokens=MAX_TOKENS, temperature=0.0)
    if logprobs:
        asked = asked.merge(GenerateConfig(logprobs=True, top_logprobs=TOP_LOGPROBS))
    about: dict[str, str | None] = {"memory": memory, "config": config, "fingerprint": fingerprint(pairs.values())}
    about |= {"dataset_revision": dataset_revision(dataset, config)}
    return task_of(dataset, samples, sort_accuracy(dataset, config, memory), asked, about)


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
        request = questions.requests(dataset, config, memory)[state.metadata["id"]]
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
