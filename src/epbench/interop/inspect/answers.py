"""The answer in a sample's output: an answer that was lost is an error of its sample, and never a wrong answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from inspect_ai.solver import TaskState

from epbench.errors import QuestionFailed
from epbench.judges.replies import FAILURES, kind_of_reply
from epbench.models.inspect_ai.wire import read_output
from epbench.models.protocol import Reply, Request

T = TypeVar("T")


def reply_in(state: TaskState, request: Request) -> Reply:
    """Return the reply to a request, as our own evaluation would read it.

    Raises:
        QuestionFailed: There is no answer: it is empty, or was cut off or refused. inspect_ai then counts the sample as
            an error and leaves it out of all scores.
    """
    reply = read_output(state.output, request, "")
    if reply.failure is not None:
        raise QuestionFailed(reply.failure)
    kind = kind_of_reply(reply.text)
    if reply.probabilities is None and (kind == "empty" or (kind == "refusal" and not request.labels)):
        raise QuestionFailed(FAILURES[kind])
    return reply


async def in_a_thread(work: Callable[[], T]) -> T:
    """Do some work beside the event loop, as a judge may take long."""
    import anyio.to_thread

    return await anyio.to_thread.run_sync(work)
