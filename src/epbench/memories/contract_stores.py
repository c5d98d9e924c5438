"""Made-up facts, and stores that are filled with them and asked as a run does it, each in a folder of its own."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

from epbench.errors import CallFailed
from epbench.memories.guard import FINALIZE, LIST, RETRIEVE, STORE
from epbench.memories.process import ProcessGuard
from epbench.memories.protocol import Conversation

_KILL_AFTER_S = 0.05  # into a call, which may have returned by then


class Stores:
    """Opens stores and calls the instance of the one that was opened last.

    Attributes:
        durable: whether the system says that its folder holds everything.
        n: the number of conversations of a large store.
        slowest: by method, the seconds of its slowest call so far.
    """

    def __init__(self, guard: ProcessGuard, folder: Path, *, durable: bool, n: int) -> None:
        self.durable, self.n = durable, n
        self.slowest: dict[str, float] = {}
        self._guard, self._folder = guard, folder
        self._opened = self._minute = 0

    def open(self) -> Path:
        """Open a store in a folder of its own; returns the folder."""
        self._opened += 1
        folder = self._folder / f"{self._opened:02}" / "store"
        folder.mkdir(parents=True)
        self.reopen(folder)
        return folder

    def reopen(self, folder: Path) -> None:
        """Make another instance in a folder.

        Raises:
            CallFailed: the constructor failed. This and all other methods.
        """
        start = time.monotonic()
        self._guard.open(folder)
        self._note("constructor", start)

    def conversation(self, text: str) -> Conversation:
        """A conversation in which the user says this, later than all others. It is not stored."""
        self._minute += 1
        return conversation(text, self._minute)

    def tell(self, text: str) -> None:
        """Store a conversation in which the user says this, later than all others."""
        self.store(self.conversation(text))

    def tell_facts(self, numbers: range) -> None:
        """Store the facts of these numbers, each in a conversation of its own, and finalize the store."""
        for number in numbers:
            self.tell(fact(number))
        self.finalize()

    def store(self, conversation: Conversation) -> None:
        """Store a conversation."""
        self._call(STORE, conversation)

    def finalize(self) -> None:
        """Say that everything has been stored."""
        self._call(FINALIZE)

    def retrieve(self, query: str, k: int) -> list[str]:
        """Return what the system finds."""
        return self._call(RETRIEVE, query, [], k) or []

    def listed(self) -> list[str]:
        """Return what the system lists."""
        return self._call(LIST) or []

    def kill_while_storing(self, conversation: Conversation) -> None:
        """Kill the process as kill -9 does, during a call or shortly after it; `reopen` starts another."""

        def store() -> None:
            with suppress(CallFailed):
                self._guard.call(STORE, conversation)

        caller = Thread(target=store)
        caller.start()
        caller.join(_KILL_AFTER_S)
        pid = self._guard.pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        caller.join()
        with suppress(CallFailed):  # the guard notices at the next call that the process is gone
            self._guard.call(LIST)

    def _call(self, method: str, *args: Any) -> list[str] | None:
        start = time.monotonic()
        found = self._guard.call(method, *args)
        self._note(method, start)
        return found

    def _note(self, method: str, start: float) -> None:
        self.slowest[method] = max(self.slowest.get(method, 0.0), time.monotonic() - start)


_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_NAMES = len(_SYLLABLES) ** 3
_STEP = 104_729  # a prime: names of neighbouring numbers are unlike, and no two numbers have the same name
_THINGS = ("stamps", "shells", "old maps", "buttons", "clocks", "feathers", "kites", "teapots", "coins", "masks")
_START = datetime(2025, 1, 1, 9)


def name(number: int) -> str:
    """The name of a person; names have six letters, so that none is part of another."""
    rest, letters = number * _STEP % _NAMES, ""
    for _ in range(3):
        rest, syllable = divmod(rest, len(_SYLLABLES))
        letters += _SYLLABLES[syllable]
    return letters.capitalize()


def fact(number: int) -> str:
    """What there is to know about a person."""
    return f"My friend {name(number)} collects {_THINGS[number % len(_THINGS)]}."


def question(number: int) -> str:
    """A question that the fact of this number answers."""
    return f"What does my friend {name(number)} collect?"


def conversation(text: str, minute: int) -> Conversation:
    """A conversation in which the user says this; each minute is another time."""
    said, answered = (_START + timedelta(minutes=minute, seconds=seconds) for seconds in (0, 20))
    return [
        {"role": "user", "content": text, "timestamp": said.isoformat()},
        {"role": "assistant", "content": "Thank you for telling me.", "timestamp": answered.isoformat()},
    ]


def mentions(memories: list[str], word: str) -> list[str]:
    """The memories in which a word stands, in capitals or not."""
    return [memory for memory in memories if word.casefold() in memory.casefold()]
