"""Calls into a memory system that somebody else wrote: each within limits, none of them able to stop the run.

`Host` makes an instance of a system and calls it; it is beside the instance, in whichever thread or process that lives.
`Guard` is how a run talks to it: `ThreadGuard` keeps the instance in a thread of this process, and
`epbench.memories.process.ProcessGuard` in a process of its own, which can be killed and whose memory is limited.
"""

from __future__ import annotations

import io
import os
import threading
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from epbench.errors import BadInput
from epbench.runs.secrets import without_secrets

if TYPE_CHECKING:
    from epbench.memories.load import SystemSpec

CALL_LIMIT = 300.0
"""Seconds that one call may take by default."""
MEMORY_LIMIT = 8.0
"""Gigabytes that the process of a system may hold by default."""
REPLY_LIMIT = 64 << 20
"""Bytes that the memories of one reply may have."""
OPEN, FINALIZE, STORE, RETRIEVE, LIST = (
    "open", "finalize", "store_conversation", "retrieve_memories", "get_all_memories",
)  # fmt: skip

_MOST_GIGABYTES = 1e9  # far more than any machine has, and a number of bytes that the kernel can express
_LONGEST_WORDS = 10_000  # characters of an exception's message

_Task = tuple[str, Sequence[Any], "Future[list[str] | None]"]


class CallFailed(Exception):
    """A call that gave nothing that can be used. The message is the reason, in one line."""


class Lost(CallFailed):
    """A call after which the instance is gone: it did not return in time, or the system's process ended."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a memory system may take.

    Attributes:
        seconds: of one call.
        gigabytes: of memory that its process may hold; no limit for a system inside this process.
    """

    seconds: float = CALL_LIMIT
    gigabytes: float = MEMORY_LIMIT

    def check(self) -> None:
        """
        Raises:
            BadInput: a limit is not a number above 0, or is larger than the platform can express.
        """
        if not 0 < self.seconds <= threading.TIMEOUT_MAX:  # nan is refused as well
            raise BadInput(f"--timeout {self.seconds:g}: seconds above 0 and finite expected")
        if not 0 < self.gigabytes <= _MOST_GIGABYTES:
            raise BadInput(f"--memory-limit {self.gigabytes:g}: gigabytes above 0 and finite expected")

    @property
    def bytes(self) -> int:
        """The limit of memory in bytes; a gigabyte has 10^9."""
        return int(self.gigabytes * 1e9)


class Guard(Protocol):
    """Holds one instance of a system at a time and calls it."""

    def open(self, folder: Path) -> None:
        """Make an instance; the one before is dropped.

        Args:
            folder: of the instance, absolute.

        Raises:
            Lost: the constructor did not return in time, or ended the system's process.
            CallFailed: the constructor raised.
        """
        ...

    def call(self, method: str, *args: Any) -> list[str] | None:
        """Call a method of the instance with arguments that JSON can express.

        Returns:
            The memories of a method that gives memories, as a plain list of plain strings; else None. A `finalize`
            that the system does not have is not called.

        Raises:
            Lost: the instance is gone; `open` has to make another one before the next call.
            CallFailed: the method raised, or what it returned is not a list of texts.
        """
        ...

    def close(self) -> None:
        """End the thread or the process of the system."""
        ...


class Host:
    """Makes an instance of a system and calls it, in the thread or the process where the system lives.

    Whatever foreign code does here, by its methods, its exceptions or the types of its results, becomes a result of
    Python's own types or a `CallFailed`.
    """

    def __init__(self, system: SystemSpec, log: TextIO) -> None:
        """
        Args:
            system: that is made by `open`.
            log: where the traceback of what the system raises is written.
        """
        self._system, self._log = system, log
        self._instance: Any = None

    def call(self, method: str, args: Sequence[Any]) -> list[str] | None:
        """As `Guard.call`; the method `open` makes the instance.

        Raises:
            MemoryError: memory ran out.
            CallFailed: anything else went wrong.
        """
        try:
            if method != OPEN:
                return _use(self._instance, method, args)
            self._instance = None  # first, so that two instances are never held at once
            self._instance = self._system.open(Path(args[0]))
            return None
        except (CallFailed, MemoryError):
            raise
        except BaseException as error:  # a system that calls sys.exit() must not end the run either
            with suppress(BaseException):  # the traceback has the words of the exception, and asking for them may raise
                traceback.print_exception(error, file=self._log)
            raise CallFailed(words_of(error)) from None


class ThreadGuard:
    """Keeps the instance in a thread of this process, and calls it always from that one.

    This is for debugging and for systems that cannot live in a process of their own. A call that exceeds the limit
    goes on in its thread until this process ends; its instance is not used any more. Nothing here helps against code
    that ends the process, that holds Python's global lock, or that takes all memory.
    """

    def __init__(self, system: SystemSpec, limits: Limits, log: Path) -> None:
        """
        Args:
            system: whose instances are called.
            limits: only the seconds count.
            log: file to which what the system prints, and the traceback of what it raises, is appended.
        """
        self._system, self._limit = system, limits.seconds
        self._home = Path.cwd()
        self._log = _Log(log)
        self._tasks = self._start_thread()

    def open(self, folder: Path) -> None:
        """As `Guard.open`."""
        self.call(OPEN, folder)

    def call(self, method: str, *args: Any) -> list[str] | None:
        """As `Guard.call`."""
        outcome: Future[list[str] | None] = Future()
        with redirect_stdout(self._log), redirect_stderr(self._log):
            self._tasks.put((method, args, outcome))
            wait([outcome], self._limit)
        os.chdir(self._home)  # the paths of the run may be relative
        if not outcome.done():
            self._tasks.put(None)  # the thread ends if the call ever does
            self._tasks = self._start_thread()
            raise Lost(no_answer(self._limit))
        try:
            return outcome.result()
        except MemoryError as error:
            raise CallFailed(reason_of(error)) from None
        except CallFailed as error:
            raise CallFailed(one_line(str(error))) from None

    def close(self) -> None:
        """End the thread and the log; a call that hangs keeps its thread."""
        self._tasks.put(None)
        self._log.close()

    def _start_thread(self) -> SimpleQueue[_Task | None]:
        tasks: SimpleQueue[_Task | None] = SimpleQueue()
        host = Host(self._system, self._log)  # type: ignore[arg-type]
        threading.Thread(target=_work, args=(host, tasks), name="memory system", daemon=True).start()
        return tasks


class _Log(io.TextIOBase):
    """A file of what foreign code prints, without the user's secrets."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", errors="replace", buffering=1)

    def write(self, text: str) -> int:
        plain = str.__str__(text)  # a subclass may have methods of its own
        self._file.write(without_secrets(plain))
        return len(plain)

    def close(self) -> None:
        self._file.close()
        super().close()


def no_answer(limit: float) -> str:
    """The reason of a call that did not return in time."""
    return f"no answer within {limit:g} s"


def reason_of(error: BaseException) -> str:
    """An exception in one line, for a journal."""
    return one_line(words_of(error))


def words_of(error: BaseException) -> str:
    """Name and message of an exception, even where asking for them raises; at most 10,000 characters."""
    try:
        name = str.__str__(type(error).__name__)
    except BaseException:
        name = "an exception"
    try:
        message = str.__str__(str(error))[:_LONGEST_WORDS]
    except BaseException:
        message = "(its message cannot be read: __str__ raises)"
    return f"{name}: {message}".rstrip(": ")


def one_line(words: str, longest: int | None = 300) -> str:
    """A reason for a journal: one line of at most so many characters, without the user's secrets."""
    line = " ".join(without_secrets(words).split())[:longest].rstrip(": ")
    return line.encode("utf-8", "replace").decode()


def _use(instance: Any, method: str, args: Sequence[Any]) -> list[str] | None:
    function = getattr(instance, method, None)
    if method == FINALIZE and not callable(function):
        return None
    found = function(*args)  # type: ignore[misc]
    return texts_of(found) if method in (RETRIEVE, LIST) else None


def texts_of(found: Any) -> list[str]:
    """The memories that a system gave, copied into a plain list of plain strings.

    Types are compared by `type`, and copies are made by the methods of `list` and `str` themselves: a subclass may say
    anything of its class, its length and its items.

    Raises:
        CallFailed: it is not a list of texts that UTF-8 can express, or there are more than 64 MiB of them.
    """
    if not issubclass(type(found), list):
        raise CallFailed(f"{type(found).__name__} came back, a list of texts is expected")
    texts, size = list.copy(found), 0
    for place, memory in enumerate(texts):
        if not issubclass(type(memory), str):
            raise CallFailed(f"{type(memory).__name__} came back in place {place}, a text is expected")
        texts[place] = plain = str.__str__(memory)
        try:
            size += len(plain.encode()) + 4  # quotes and a comma on the way
        except UnicodeEncodeError:
            raise CallFailed(f"the text in place {place} has half a surrogate pair, Unicode is expected") from None
        if size > REPLY_LIMIT:
            raise CallFailed(f"more than {REPLY_LIMIT >> 20} MiB of memories came back in one reply")
    return texts


def _work(host: Host, tasks: SimpleQueue[_Task | None]) -> None:
    while task := tasks.get():
        method, args, outcome = task
        try:
            outcome.set_result(host.call(method, args))
        except BaseException as error:
            outcome.set_exception(error)
        del task, args, outcome  # or what was told would live on while the thread waits
