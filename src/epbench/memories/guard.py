"""Calls into code that we did not write: each within a time limit, none of them able to stop the run."""

from __future__ import annotations

import io
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from epbench.runs.secrets import without_secrets

CALL_LIMIT = 300.0
"""Seconds of one call, unless told otherwise."""
MOST_HANGS = 3
"""In a row; after them nothing more is called."""

_Task = tuple[Callable[..., Any], tuple[Any, ...], "Future[Any]"]


class CallFailed(Exception):
    """A call that gave nothing that can be used; the message is the reason, in one line."""


class Hung(CallFailed):
    """A call that did not return in time, or was not made because the ones before did not."""


class Guard:
    """Calls a system from one thread, as many libraries want it; what the system prints goes into a log.

    A call that exceeds the limit is left behind in its thread, which dies with the process.
    """

    def __init__(self, limit: float, log: Path) -> None:
        """
        Args:
            limit: of one call, in seconds, above 0.
            log: file that what the system prints, and the traceback of what it raises, is appended to.
        """
        self._limit = limit
        self._log = _Log(log)
        self._hangs = 0
        self._tasks = _start_thread()

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """What the function returns.

        Raises:
            Hung: it did not return in time, or was not made because too many calls hung.
            CallFailed: it raised.
        """
        if self._hangs >= MOST_HANGS:
            raise Hung(f"not called: {MOST_HANGS} calls in a row took more than {self._limit:g} s")
        outcome: Future[Any] = Future()
        with redirect_stdout(self._log), redirect_stderr(self._log):
            self._tasks.put((function, args, outcome))
            wait([outcome], self._limit)
        if not outcome.done():
            self._hangs += 1
            self._tasks.put(None)  # the thread ends if the call ever does
            self._tasks = _start_thread()
            raise Hung(f"no answer within {self._limit:g} s")
        self._hangs = 0
        error = outcome.exception()
        if error is not None:
            self._log.write("".join(traceback.format_exception(error)))
            raise CallFailed(reason_of(error))
        return outcome.result()

    def close(self) -> None:
        """End the thread and the log; a call that hangs keeps its thread."""
        self._tasks.put(None)
        self._log.close()


class _Log(io.TextIOBase):
    """A file of what foreign code prints, without the user's secrets."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", errors="replace", buffering=1)

    def write(self, text: str) -> int:
        self._file.write(without_secrets(text))
        return len(text)

    def close(self) -> None:
        self._file.close()
        super().close()


def reason_of(error: BaseException) -> str:
    """An exception in one line, for a journal."""
    line = " ".join(without_secrets(f"{type(error).__name__}: {error}").split())[:300].rstrip(": ")
    return line.encode("utf-8", "replace").decode()


def _start_thread() -> SimpleQueue[_Task | None]:
    tasks: SimpleQueue[_Task | None] = SimpleQueue()
    threading.Thread(target=_work, args=(tasks,), name="memory system", daemon=True).start()
    return tasks


def _work(tasks: SimpleQueue[_Task | None]) -> None:
    while task := tasks.get():
        function, args, outcome = task
        try:
            outcome.set_result(function(*args))
        except BaseException as error:  # a system that calls sys.exit() must not end the run either
            outcome.set_exception(error)
        del task, function, args, outcome  # or the last instance would live on while the thread waits
