"""The promises of a memory system, a function for each, and a trial of all of them, one after the other.

Stores are filled with made-up facts and asked as a run does it, each in a folder of its own. A check raises `CallFailed` where a
call of the system fails; that is a broken promise as well.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Timer
from typing import Any, Literal

from epbench.errors import CallFailed
from epbench.memories.guard import FINALIZE, LIST, RETRIEVE, STORE, Limits
from epbench.memories.process import ProcessGuard
from epbench.memories.protocol import Conversation, SystemSpec
from epbench.memories.systems.hosting import Hosting

_SOME = 12  # conversations of a store in which a number does not matter
_KS = (1, 2, 3, 5, 10, 20)
_PROBES = 20  # conversations that are asked for, to compare what is retrieved with the listing
_LATER = 500_000  # numbers of facts from here on are stored by no other check
_FOREIGN_NAMES = ("Zoë Müller", "Дарья", "ليلى", "עומר", "小明", "प्रिया", "Łukasz 🍵")
_KILL_AFTER_S = 0.05  # into a call, which may have returned by then


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a check."""

    found: str  # what the system did
    expected: str = ""  # what it should have done; empty if it did

    @property
    def result(self) -> Literal["passed", "failed"]:
        """Whether the promise was kept."""
        return "failed" if self.expected else "passed"


class Stores:
    """Opens stores and calls the instance of the one that was opened last; all methods raise what the calls do."""

    time, sleep = staticmethod(time.monotonic), staticmethod(time.sleep)

    def __init__(self, guard: ProcessGuard, folder: Path, *, durable: bool, n: int) -> None:
        self.durable = durable  # whether the system says that its folder holds everything
        self.n = n  # conversations of a large store
        self.slowest: dict[str, float] = {}  # by method, the seconds of its slowest call so far
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
        """Make another instance in a folder."""
        self._timed("constructor", self._guard.open, folder)

    def conversation(self, text: str) -> Conversation:
        """A conversation in which the user says this, later than all others. It is not stored."""
        self._minute += 1
        return conversation(text, self._minute)

    def tell(self, text: str) -> None:
        """Store a `conversation`."""
        self.store(self.conversation(text))

    def tell_facts(self, numbers: range) -> None:
        """Store the facts of these numbers, each in a conversation of its own, and finalize the store."""
        for number in numbers:
            self.tell(fact(number))
        self.finalize()

    def store(self, conversation: Conversation) -> None:
        self._call(STORE, conversation)

    def finalize(self) -> None:
        self._call(FINALIZE)

    def retrieve(self, query: str, k: int) -> list[str]:
        return self._call(RETRIEVE, query, [], k) or []

    def listed(self) -> list[str]:
        return self._call(LIST) or []

    def kill_while_storing(self, conversation: Conversation) -> None:
        """Kill the process as kill -9 does, during a call or shortly after it; `reopen` starts another."""
        killer = Timer(_KILL_AFTER_S, os.killpg, (self._guard.pid, signal.SIGKILL))
        killer.start()
        for method, *args in ((STORE, conversation), (LIST,)):  # the guard notices at the next call that it is gone
            with suppress(CallFailed):
                self._guard.call(method, *args)
            killer.join()

    def _call(self, method: str, *args: Any) -> Any:
        return self._timed(method, self._guard.call, method, *args)

    def _timed(self, what: str, call: Callable[..., Any], *args: Any) -> Any:
        start = self.time()
        result = call(*args)
        self.slowest[what] = max(self.slowest.get(what, 0.0), self.time() - start)
        return result


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


def thing(number: int) -> str:
    """What a person collects; that of the next number is another."""
    return _THINGS[number % len(_THINGS)]


def fact(number: int) -> str:
    """What there is to know about a person."""
    return f"My friend {name(number)} collects {thing(number)}."


def question(number: int) -> str:
    """A question that the fact of this number answers."""
    return f"What does my friend {name(number)} collect?"


def conversation(text: str, minute: int) -> Conversation:
    """A conversation in which the user says this; each minute is another time."""
    user_time, reply_time = (_START + timedelta(minutes=minute, seconds=seconds) for seconds in (0, 20))
    return [
        {"role": "user", "content": text, "timestamp": user_time.isoformat()},
        {"role": "assistant", "content": "Thank you for telling me.", "timestamp": reply_time.isoformat()},
    ]


def mentions(memories: list[str], word: str) -> list[str]:
    """The memories in which a word stands, in capitals or not."""
    return [memory for memory in memories if word.casefold() in memory.casefold()]


def starts_and_answers_in_time(stores: Stores) -> Outcome:
    """Each call, the constructor included, returns within the limit."""
    stores.open()  # starts a process, and imports the module
    first = stores.slowest.pop("constructor")
    stores.open()
    stores.tell_facts(range(_SOME))
    stores.retrieve(question(0), 5)
    stores.listed()
    slowest = ", ".join(f"{method} {seconds:.2f} s" for method, seconds in stores.slowest.items())
    return Outcome(f"{first:.2f} s to the first instance; slowest calls: {slowest}")


def stores_apart(stores: Stores) -> Outcome:
    """Two stores see nothing of each other."""
    first = stores.open()
    stores.tell_facts(range(_SOME))
    stores.open()
    stores.tell_facts(range(_SOME, 2 * _SOME))

    def strangers(this: str, other: str, theirs: range) -> Outcome | None:
        seen = stores.listed() + stores.retrieve(question(theirs[0]), 5)
        n = sum(bool(mentions(seen, name(number))) for number in theirs)
        return Outcome(f"the {this} store has {n} of {_SOME} facts of the {other}", "none of them") if n else None

    if found := strangers("second", "first", range(_SOME)):
        return found
    if not stores.durable:
        return Outcome("the second store has no fact of the first")
    stores.reopen(first)
    found = strangers("first", "second", range(_SOME, 2 * _SOME))
    return found or Outcome("neither store has a fact of the other")


def at_most_k_retrieved(stores: Stores) -> Outcome:
    """A retrieval returns at most k memories."""
    stores.open()
    stores.tell_facts(range(max(_KS)))
    counts = {k: len(stores.retrieve(question(0), k)) for k in _KS}
    listed = ", ".join(f"{count} for {k}" for k, count in counts.items())
    too_many = any(count > k for k, count in counts.items())
    return Outcome(f"memories for k: {listed}", "at most k" if too_many else "")


def listing_is_complete(stores: Stores) -> Outcome:
    """The listing of a large store has everything that can be retrieved, in the same words."""
    stores.open()
    stores.tell_facts(range(stores.n))
    listed = stores.listed()
    if not listed:
        return Outcome(f"an empty listing after {stores.n:,} conversations", "memories")
    everything = "\n".join(listed).casefold()
    missing = [number for number in range(stores.n) if name(number).casefold() not in everything]
    held = set(listed)
    for number in [*range(_SOME), *missing[:: max(1, len(missing) // _PROBES)]]:
        for memory in stores.retrieve(question(number), 10):
            if memory not in held:
                return Outcome(
                    f"{_count(listed)} listed after {stores.n:,} conversations, and others retrieved: {_shown(memory)}",
                    "a listing of everything that can be retrieved",
                )
    traces = f"; {len(missing):,} conversations left no trace" if missing else ""
    return Outcome(f"{_count(listed)} listed after {stores.n:,} conversations{traces}")


def retrieval_changes_nothing(stores: Stores) -> Outcome:
    """The listing is the same before and after queries, and no query is stored."""
    stores.open()
    stores.tell_facts(range(_SOME))
    before = stores.listed()
    for number in [*range(_SOME), _LATER]:
        stores.retrieve(question(number), 5)
    after = stores.listed()
    if stored := mentions(after, name(_LATER)):
        return Outcome(f"a query is listed: {_shown(stored[0])}", "only what was told")
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    if gone or new:
        changed = f"{gone.total()} memories are gone and {new.total()} are new"
        return Outcome(f"after {_SOME + 1} queries, {changed}", "no change")
    return Outcome(f"{_count(before)} before and after {_SOME + 1} queries")


def any_text(stores: Stores) -> Outcome:
    """Names in any script come back as they were told."""
    stores.open()
    for number, foreign in enumerate(_FOREIGN_NAMES):
        stores.tell(
            f"My friend {name(number)} is married to {foreign}, and \u201cthat\u201d is that.\u2028\tReally\u0301!"
        )
    stores.finalize()
    listed = stores.listed()
    for number, foreign in enumerate(_FOREIGN_NAMES):
        stores.retrieve(f"Who knows {foreign}? 🤔", 5)
        about = mentions(listed, name(number))
        if about and not mentions(about, foreign):
            return Outcome(_shown(about[0]), f"the name {foreign}")
    return Outcome(f"{_count(listed)} of {len(_FOREIGN_NAMES)} conversations with names in several scripts")


def survives_a_kill(stores: Stores) -> Outcome:
    """After a kill, a durable system has everything in its folder; any other starts again from nothing."""
    folder = stores.open()
    stores.tell_facts(range(_SOME))
    before = stores.listed()
    interrupted = stores.conversation(fact(_SOME))
    stores.kill_while_storing(interrupted)
    stores.reopen(folder)
    after = stores.listed()
    if not stores.durable:
        if after:
            return Outcome(f"{_count(after)} from before the kill", "none, or durable = True: all is told again")
        return Outcome("not durable, and empty after the kill")
    if not before:
        return Outcome(f"no memories after {_SOME} conversations", "memories")
    if gone := Counter(before) - Counter(after):
        return Outcome(f"{gone.total()} of {_count(before)} gone after the kill", "all of them")
    stores.store(interrupted)
    stores.finalize()
    made = _count(mentions(stores.listed(), name(_SOME)))
    return Outcome(f"all {_count(before)} there; the interrupted conversation, stored again, made {made}")


CHECKS: tuple[Callable[[Stores], Outcome], ...] = (
    starts_and_answers_in_time,
    stores_apart,
    at_most_k_retrieved,
    listing_is_complete,
    retrieval_changes_nothing,
    any_text,
    survives_a_kill,
)
"""All checks, in the order in which they are made."""


def _count(memories: list[str]) -> str:
    return "1 memory" if len(memories) == 1 else f"{len(memories):,} memories"


def _shown(text: str) -> str:
    """A text for a message: one line, and not too much of it."""
    line = " ".join(text.split())
    return f"'{line[:80]}…'" if len(line) > 80 else f"'{line}'"


def try_system(system: SystemSpec, folder: Path, limits: Limits, n: int) -> Iterator[tuple[str, Outcome]]:
    """Check a memory system in a process of its own, and yield the name of each check and what came of it.

    A call that fails breaks a promise. The folder is absolute and empty; what the system prints goes to `system.log` there. The
    large store has `n` conversations. `BadInput` if an installed system's environment or endpoint cannot be used.
    """
    with stores_of(system, folder, limits, n) as stores:
        for check in CHECKS:
            try:
                outcome = check(stores)
            except CallFailed as error:
                outcome = Outcome(str(error), "an answer")
            yield check.__name__.replace("_", " "), outcome


@contextmanager
def stores_of(system: SystemSpec, folder: Path, limits: Limits, n: int = 0) -> Iterator[Stores]:
    """Open stores of a system, see `try_system`, and end its process afterwards."""
    hosting = Hosting(system, folder)
    guard = hosting.guard(limits, folder / "system.log")
    try:
        yield Stores(guard, folder, durable=system.durable, n=n)
    finally:
        guard.close()
        hosting.close()
