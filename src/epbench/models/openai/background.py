"""Asynchronous work for synchronous code: an event loop in a thread, and a plain generator of its results."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

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
