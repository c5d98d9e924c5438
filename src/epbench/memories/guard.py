"""Calls into a memory system that somebody else wrote: each call has limits, and none can stop the run.

`Host` makes an instance of a system and calls it, in the process in which the instance lives. A run talks to it by a guard:
`InProcessGuard` keeps the instance in this process, and `epbench.memories.process.ProcessGuard` in one of its own, which can be
killed and whose memory is limited.
"""

from __future__ import annotations

import io
import os
import threading
import traceback
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TextIO

from epbench.errors import BadInput, CallFailed
from epbench.files.secrets import without_secrets
from epbench.memories.protocol import SystemSpec

CALL_LIMIT = 300.0  # seconds that one call may take by default
MEMORY_LIMIT = 8.0  # gigabytes of memory that the process of a system may hold by default
EXIT_LIMIT = 10.0  # seconds in which a system that is no longer needed may close its files
REPLY_LIMIT = 64 << 20  # the most bytes that the memories of one reply may have
LOG_LIMIT = 64 << 20  # the most characters that a system may print into `system.log`
OPEN, FINALIZE, USAGE, CLOSE = "open", "finalize", "usage", "close"
STORE, RETRIEVE, LIST = "store_conversation", "retrieve_memories", "get_all_memories"

_MOST_GIGABYTES = 1e9  # far more than any machine has, and a number of bytes that the kernel can express
_LONGEST_MESSAGE = 10_000  # characters of the message of an exception


@dataclass(frozen=True, slots=True)
class Limits:
    """What a memory system may take."""

    seconds: float = CALL_LIMIT  # the longest that one call may take
    gigabytes: float = MEMORY_LIMIT  # memory (10^9 bytes) of its process; no limit to a system inside this one

    def check(self) -> None:
        """Check that both are above 0, finite, and not larger than the platform can express; else `BadInput`."""
        if not 0 < self.seconds <= threading.TIMEOUT_MAX:  # nan is refused as well
            raise BadInput(f"timeout: expected a finite number of seconds above 0, got {self.seconds:g}")
        if not 0 < self.gigabytes <= _MOST_GIGABYTES:
            raise BadInput(f"memory limit: expected a finite number of gigabytes above 0, got {self.gigabytes:g}")


class Host:
    """Makes an instance of a system and calls it."""

    def __init__(self, system: SystemSpec, log: TextIO) -> None:
        self._system, self._log = system, log  # which gets the traceback of what the system raises
        self._instance: Any = None

    def call(self, method: str, args: Sequence[Any]) -> Any:
        """See `InProcessGuard.call`; the method `open` makes the instance, and `MemoryError` is passed on."""
        try:
            if method == OPEN:
                self.close()  # first, so that two instances are never held at once
                self._instance = self._system.open(Path(args[0]))
                return None
            function = getattr(self._instance, method, None)
            if method in (FINALIZE, USAGE, CLOSE) and not callable(function):
                return None
            returned = function(*args)  # type: ignore[misc]
            if method == USAGE:
                return counts_of(returned)
            return texts_of(returned) if method in (RETRIEVE, LIST) else None
        except (CallFailed, MemoryError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a system that calls sys.exit() must not end the run either
            traceback.print_exception(error, file=self._log)
            raise CallFailed(f"{type(error).__name__}: {error}"[:_LONGEST_MESSAGE]) from None

    def close(self) -> None:
        """Have the instance close its files, if it has a method for that, and drop it."""
        try:
            self.call(CLOSE, ())
        except CallFailed:
            pass  # its traceback is in the log
        finally:
            self._instance = None


class InProcessGuard:
    """Keeps the instance in this process, for baselines and for debugging: nothing limits or survives a call."""

    def __init__(self, system: SystemSpec, log: Path) -> None:
        self._home, self._log = Path.cwd(), Log(log)
        self._host = Host(system, self._log)  # type: ignore[arg-type]

    def open(self, folder: Path) -> None:
        """Make an instance with a folder of its own, named by an absolute path; an earlier one is dropped. See `call`."""
        self.call(OPEN, folder)

    def call(self, method: str, *args: Any) -> Any:
        """Call a method of the instance with arguments that JSON can express.

        Returns a list of strings if the method returns memories; for `usage` the counts by name; else None. `finalize`, `usage`
        and `close` are not called if the system has no such method. `CallFailed` if the method raised an exception, or did not
        return such a value; `SystemLost` if the instance is gone, and `open` has to make another one before the next call.
        """
        try:
            with redirect_stdout(self._log), redirect_stderr(self._log):
                return self._host.call(method, args)
        except (CallFailed, MemoryError) as error:
            raise CallFailed(one_line(str(error)) if isinstance(error, CallFailed) else reason_of(error)) from None
        finally:
            os.chdir(self._home)  # the system may have changed it, and the paths of the run may be relative

    def close(self) -> None:
        """Have the system close its files, and close the log."""
        with redirect_stdout(self._log), redirect_stderr(self._log):
            self._host.close()
        self._log.close()


class Log(io.TextIOBase):
    """A file of what foreign code prints: the user's secrets are removed, and what exceeds `LOG_LIMIT` is dropped."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", errors="replace", buffering=1)
        self._left = LOG_LIMIT - path.stat().st_size

    def write(self, text: str) -> int:
        if self._left > 0:
            self._file.write(without_secrets(text[: self._left]))
            self._left -= len(text)
            if self._left <= 0:
                self._file.write(f"\n(what follows is not kept: the limit of {LOG_LIMIT >> 20} MiB is reached)\n")
        return len(text)

    def close(self) -> None:
        self._file.close()
        super().close()


def copy_printed(printed: IO[bytes], log: Log) -> None:
    """Append what a process prints to its log, in whole lines, until nothing can print there any more."""
    with printed, log:
        while line := printed.readline(LOG_LIMIT):
            with suppress(OSError):  # a full disk must not stop the system; writing the journals will report it
                log.write(line.decode("utf-8", "replace"))


def reason_of(error: BaseException) -> str:
    """Describe an exception by its name and message in one line, for a journal."""
    return one_line(f"{type(error).__name__}: {error}")


def one_line(words: str, longest: int | None = 300) -> str:
    """Shorten a reason for a journal: one line of at most `longest` characters, with the user's secrets removed."""
    line = " ".join(without_secrets(words[:_LONGEST_MESSAGE]).split())[:longest].rstrip(": ")
    return line.encode("utf-8", "replace").decode()


def counts_of(returned: Any) -> dict[str, int]:
    """Check that `usage` returned a dictionary of names and whole numbers of at least 0; else `CallFailed`."""
    if not isinstance(returned, dict):
        raise CallFailed(f"usage(): expected a dictionary of counts, got {type(returned).__name__}")
    for name, count in returned.items():
        if not isinstance(name, str) or type(count) is not int or count < 0:
            raise CallFailed(f"usage(): expected names and whole numbers, got {name!r:.60}: {count!r:.60}")
    return dict(returned)


def texts_of(returned: Any) -> list[str]:
    """Check the memories that a system returned, and copy them into a list of plain strings; else `CallFailed`."""
    if not isinstance(returned, list):
        raise CallFailed(f"expected a list of strings, got {type(returned).__name__}")
    size = 0
    for position, memory in enumerate(returned):
        if not isinstance(memory, str):
            raise CallFailed(f"expected a string in position {position}, got {type(memory).__name__}")
        try:
            size += len(memory.encode()) + 4  # quotes and a comma are added on the way
        except UnicodeEncodeError:
            raise CallFailed(
                f"expected Unicode, but the string in position {position} has half a surrogate pair"
            ) from None
        if size > REPLY_LIMIT:
            raise CallFailed(f"expected at most {REPLY_LIMIT >> 20} MiB of memories in one reply, got more")
    return [str(memory) for memory in returned]  # a class such as numpy's `str_` becomes Python's own
