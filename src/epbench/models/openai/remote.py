"""What models behind a service share: asynchronous work becomes a plain generator of replies, and these lose secrets."""

from __future__ import annotations

import asyncio
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import Any

from epbench.errors import BadInput
from epbench.files.secrets import without_keys, without_secrets
from epbench.files.text import whole
from epbench.models.controls import Controls
from epbench.models.openai.wire import CHARACTERS_PER_TOKEN
from epbench.models.protocol import Reply, Request

_LONGEST_FAILURE = 400  # characters

Deliver = Callable[..., None]
"""Keeps a reply and hands it over; a second argument is called in the event loop when the reader asks for the next one."""


def iterate(work: Callable[[Deliver], Coroutine[Any, Any, None]], keep: Callable[[Reply], None]) -> Generator[Reply]:
    """Yield each reply of the work as soon as it is delivered.

    The work starts with the first `next`. Closing the generator cancels the work and waits for its end. An exception of
    the work is raised here.
    """
    queue: SimpleQueue[tuple[Reply, Callable[[], None]] | BaseException | None] = SimpleQueue()

    def deliver(reply: Reply, taken: Callable[[], None] = lambda: None) -> None:
        keep(reply)  # first of all, because it is paid for
        queue.put((reply, taken))

    loop = asyncio.new_event_loop()
    task = loop.create_task(work(deliver))

    def run() -> None:
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        except BaseExceptionGroup as errors:
            queue.put(errors.exceptions[0])  # the others are consequences of it
        except BaseException as error:
            queue.put(error)
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            queue.put(None)

    thread = threading.Thread(target=run, name="epbench-requests", daemon=True)
    thread.start()
    try:
        while (item := queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            reply, taken = item
            yield reply
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
    _controls: Controls

    @property
    @abstractmethod
    def name(self) -> str:
        """See `Model.name`."""

    @property
    def identity(self) -> str:
        """The name, because nothing is known about the weights behind a service."""
        return self.name

    def about_variant(self) -> dict[str, Any]:
        """See `variant_of`."""
        return self._controls.given

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """Estimate `Model.count_tokens` at 4 characters a token, as in English prose; too low for most other languages."""
        prompt, shared = len(request.system) + len(request.user), len(request.system) + len(request.context)
        return -(-prompt // CHARACTERS_PER_TOKEN), -(-shared // CHARACTERS_PER_TOKEN)

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`. Closing the generator cancels open requests.

        Raises:
            RunFailed: So many requests in a row got no reply that the others would get none.
        """
        return self.answer_keeping(requests, lambda reply: None)

    def answer_keeping(self, requests: Sequence[Request], keep: Callable[[Reply], None]) -> Generator[Reply]:
        """See `KeepsReplies.answer_keeping`; it raises what `answer` raises."""
        return iterate(partial(self._answer_all, requests), keep)

    @abstractmethod
    def _secrets(self) -> Iterable[str]:
        """What must not appear in any reply or failure, besides the keys of the environment."""

    @abstractmethod
    async def _answer_all(self, requests: Sequence[Request], deliver: Deliver) -> None: ...

    def _cleaned(self, reply: Reply, *own_names: str) -> Reply:
        """Remove keys, which some services quote, and halves of surrogate pairs from a reply; and a name that is known."""
        return replace(  # short secrets stay in the answer, because they may be ordinary words
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
