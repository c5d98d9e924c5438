"""What models behind a service share: asynchronous work becomes a plain generator of replies, and these lose secrets."""

from __future__ import annotations

import asyncio
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from epbench.errors import BadInput
from epbench.files.secrets import without_keys, without_secrets
from epbench.models.openai.wire import estimated_tokens
from epbench.models.protocol import Reply, Request, whole

_LONGEST_FAILURE = 400  # characters

T = TypeVar("T")


class Outbox(Generic[T]):
    """A queue between the work and whoever reads its results."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[tuple[T, Callable[[], None]] | BaseException | None] = SimpleQueue()

    def put(self, value: T, taken: Callable[[], None] = lambda: None) -> None:
        """Hand over a result. `taken` is called in the event loop when the reader asks for the next one."""
        self.queue.put((value, taken))


def iterate(work: Callable[[Outbox[T]], Coroutine[Any, Any, None]]) -> Generator[T]:
    """Yield each result of the work as soon as it is handed over.

    The work starts with the first `next`. Closing the generator cancels the work and waits for its end. An exception of
    the work is raised here.
    """
    outbox: Outbox[T] = Outbox()
    loop = asyncio.new_event_loop()
    task = loop.create_task(work(outbox))

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        except BaseExceptionGroup as errors:
            outbox.queue.put(errors.exceptions[0])  # the others are consequences of it
        except BaseException as error:
            outbox.queue.put(error)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            outbox.queue.put(None)

    thread = threading.Thread(target=run, name="epbench-requests", daemon=True)
    thread.start()
    try:
        while (item := outbox.queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            value, taken = item
            yield value
            with suppress(RuntimeError):  # the loop is closed, because this was the last result
                loop.call_soon_threadsafe(taken)
    finally:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(task.cancel)
        if threading.current_thread() is not thread:  # the garbage collector may close the generator in that thread
            thread.join()


def check_numbers(name: str, timeout_s: float, **counts: int | None) -> None:
    """Check the arguments of a model behind a service.

    Raises:
        BadInput: a count is given and less than 1, or the timeout is not a finite number of seconds above 0.
    """
    for argument, value in counts.items():
        if value is not None and value < 1:
            raise BadInput(f"{argument} of {name}: expected at least 1, got {value}")
    if not 0 < timeout_s < math.inf:
        raise BadInput(f"timeout of {name}: expected a finite number of seconds above 0, got {timeout_s}")


class RemoteModel(ABC):
    """What models behind a service share; how each request is made is the business of `_answer_all`."""

    costs_nothing = False
    continues_prompts = False

    @property
    @abstractmethod
    def name(self) -> str:
        """See `Model.name`."""

    @property
    def identity(self) -> str:
        """The name, because nothing is known about the weights behind a service."""
        return self.name

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """See `estimated_tokens`."""
        return estimated_tokens(request)

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`. Closing the generator cancels open requests.

        Raises:
            RunFailed: So many requests in a row got no reply that the others would get none.
        """
        return self.answer_keeping(requests, lambda reply: None)

    def answer_keeping(self, requests: Sequence[Request], keep: Callable[[Reply], None]) -> Generator[Reply]:
        """See `KeepsReplies.answer_keeping`; it raises what `answer` raises."""
        return iterate(lambda outbox: self._answer_all(requests, outbox, keep))

    @abstractmethod
    def _secrets(self) -> Iterable[str]:
        """What must not appear in any reply or failure, besides the keys of the environment."""

    @abstractmethod
    async def _answer_all(
        self, requests: Sequence[Request], outbox: Outbox[Reply], keep: Callable[[Reply], None]
    ) -> None: ...

    def _cleaned(self, reply: Reply, *own_names: str) -> Reply:
        """Remove keys, which some services quote, and halves of surrogate pairs from a reply; and a name that is known.

        Short secrets stay in the answer, because they may be ordinary words, such as a password "book".
        """
        return replace(
            reply,
            text=without_keys(whole(reply.text)),
            reasoning=without_keys(whole(reply.reasoning)),
            failure=None if reply.failure is None else self._clean(reply.failure),
            served="" if reply.served in own_names else self._clean(reply.served),
        )

    def _clean(self, reason: str) -> str:
        """Shorten a reason to one line without keys, which some services quote."""
        reason = " ".join(without_secrets(whole(reason), self._secrets()).split())
        return reason if len(reason) <= _LONGEST_FAILURE else reason[: _LONGEST_FAILURE - 1] + "…"
