"""The promises of a memory system, a function for each, and a trial of all of them, one after the other.

What they rely on stands in `epbench.memories.protocol`.

A check raises `CallFailed` where a call of the system fails; that is a broken promise as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from epbench.errors import CallFailed
from epbench.memories.contract_stores import Stores, fact, mentions, name, question
from epbench.memories.guard import Limits
from epbench.memories.spec import SystemSpec
from epbench.memories.systems.hosting import Hosting, process_guard

Result = Literal["passed", "failed"]

_SOME = 12  # conversations of a store in which a number does not matter
_KS = (1, 2, 3, 5, 10, 20)
_PROBES = 20  # conversations that the listing lacks, and that are asked for
_LATER = 500_000  # numbers of facts from here on are stored by no other check
_FOREIGN_NAMES = ("Zoë Müller", "Дарья", "ليلى", "עומר", "小明", "प्रिया", "Łukasz 🍵")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a check."""

    result: Result  # whether the promise was kept
    found: str  # what the system did
    expected: str = ""  # what it should have done; empty if it did


def _kept(found: str) -> Outcome:
    return Outcome("passed", found)


def _broken(found: str, expected: str) -> Outcome:
    return Outcome("failed", found, expected)


def starts_and_answers_in_time(stores: Stores) -> Outcome:
    """Each call, the constructor included, returns within the limit."""
    stores.open()  # starts a process, and imports the module
    first = stores.slowest.pop("constructor")
    stores.open()
    stores.tell_facts(range(_SOME))
    stores.retrieve(question(0), 5)
    stores.listed()
    slowest = ", ".join(f"{method} {seconds:.2f} s" for method, seconds in stores.slowest.items())
    return _kept(f"{first:.2f} s to the first instance; slowest calls: {slowest}")


def empty_store(stores: Stores) -> Outcome:
    """A store without conversations is empty."""
    stores.open()
    stores.finalize()
    listed, retrieved = stores.listed(), stores.retrieve(question(0), 5)
    if listed or retrieved:
        return _broken(f"{_count(listed)} listed and {len(retrieved)} retrieved", "none of either")
    return _kept("nothing listed or retrieved")


def any_order_of_calls(stores: Stores) -> Outcome:
    """A system can be asked before it is told anything, and told more after it was asked."""
    stores.open()
    stores.retrieve(question(0), 5)
    stores.listed()
    stores.tell(fact(0))
    stores.finalize()
    stores.retrieve(question(0), 5)
    first = stores.listed()
    stores.tell(fact(1))
    stores.finalize()
    second = stores.listed()
    if not first or Counter(first) == Counter(second):
        return _broken(
            f"{_count(first)} after a conversation, {len(second)} after another", "more, or others, after each"
        )
    return _kept(f"{_count(first)} after a conversation, {len(second)} after another")


def stores_apart(stores: Stores) -> Outcome:
    """Two stores see nothing of each other."""
    first = stores.open()
    stores.tell_facts(range(_SOME))
    stores.open()
    stores.tell_facts(range(_SOME, 2 * _SOME))
    seen = stores.listed() + stores.retrieve(question(0), 5)
    if strangers := [number for number in range(_SOME) if mentions(seen, name(number))]:
        return _broken(f"the second store has {len(strangers)} of {_SOME} facts of the first", "none of them")
    if not stores.durable:
        return _kept("the second store has no fact of the first")
    stores.reopen(first)
    seen = stores.listed() + stores.retrieve(question(_SOME), 5)
    if strangers := [number for number in range(_SOME, 2 * _SOME) if mentions(seen, name(number))]:
        return _broken(f"the first store has {len(strangers)} of {_SOME} facts of the second", "none of them")
    return _kept("neither store has a fact of the other")


def at_most_k_retrieved(stores: Stores) -> Outcome:
    """A retrieval returns at most k memories."""
    stores.open()
    stores.tell_facts(range(max(_KS)))
    counts = {k: len(stores.retrieve(question(0), k)) for k in _KS}
    told = ", ".join(f"{count} for {k}" for k, count in counts.items())
    if any(count > k for k, count in counts.items()):
        return _broken(f"memories for k: {told}", "at most k")
    return _kept(f"memories for k: {told}")


def listing_is_complete(stores: Stores) -> Outcome:
    """The listing of a large store lacks nothing that can be retrieved."""
    stores.open()
    stores.tell_facts(range(stores.n))
    listed = stores.listed()
    if not listed:
        return _broken(f"an empty listing after {stores.n:,} conversations", "memories")
    everything = "\n".join(listed).casefold()
    missing = [number for number in range(stores.n) if name(number).casefold() not in everything]
    held = set(listed)
    for number in missing[:: max(1, len(missing) // _PROBES)]:
        if any(memory not in held for memory in stores.retrieve(question(number), 10)):
            return _broken(
                f"{_count(listed)} listed after {stores.n:,} conversations, and others retrieved",
                "a listing of everything that can be retrieved",
            )
    traces = f"; {len(missing):,} conversations left no trace" if missing else ""
    return _kept(f"{_count(listed)} listed after {stores.n:,} conversations{traces}")


def listing_holds_what_is_retrieved(stores: Stores) -> Outcome:
    """A memory has the same text in a retrieval and in the listing."""
    stores.open()
    stores.tell_facts(range(_SOME))
    listed = set(stores.listed())
    retrieved = [memory for number in range(_SOME) for memory in stores.retrieve(question(number), 3)]
    if not retrieved:
        return _broken(f"nothing retrieved by {_SOME} questions about what was told", "memories")
    strange = [memory for memory in retrieved if memory not in listed]
    if strange:
        return _broken(
            f"{len(strange)} of {len(retrieved)} retrieved texts are not listed: {_shown(strange[0])}", "all of them"
        )
    return _kept(f"{len(retrieved)} of {len(retrieved)} retrieved texts are listed")


def retrieval_changes_nothing(stores: Stores) -> Outcome:
    """The listing is the same before and after queries, and no query is stored."""
    stores.open()
    stores.tell_facts(range(_SOME))
    before = stores.listed()
    for number in [*range(_SOME), _LATER]:
        stores.retrieve(question(number), 5)
    after = stores.listed()
    if stored := mentions(after, name(_LATER)):
        return _broken(f"a query is listed: {_shown(stored[0])}", "only what was told")
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    if gone or new:
        return _broken(
            f"after {_SOME + 1} queries, {gone.total()} memories are gone and {new.total()} are new", "no change"
        )
    return _kept(f"{_count(before)} before and after {_SOME + 1} queries")


def same_conversation_twice(stores: Stores) -> Outcome:
    """A conversation can be stored again, with the same times, as after a kill, or later."""
    stores.open()
    conversation = stores.conversation(fact(0))
    stores.store(conversation)
    stores.finalize()
    once = stores.listed()
    stores.store(conversation)
    stores.finalize()
    again = stores.listed()
    stores.tell(fact(0))
    stores.finalize()
    later = stores.listed()
    return _kept(f"{_count(once)}; {len(again)} after it came again; {len(later)} after its words came later")


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
            return _broken(_shown(about[0]), f"the name {foreign}")
    return _kept(f"{_count(listed)} of {len(_FOREIGN_NAMES)} conversations with names in several scripts")


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
            return _broken(f"{_count(after)} from before the kill", "none, or durable = True: all is told again")
        return _kept("not durable, and empty after the kill")
    if not before:
        return _broken(f"no memories after {_SOME} conversations", "memories")
    if gone := Counter(before) - Counter(after):
        return _broken(f"{gone.total()} of {_count(before)} gone after the kill", "all of them")
    stores.store(interrupted)
    stores.finalize()
    made = mentions(stores.listed(), name(_SOME))
    return _kept(f"all {_count(before)} there; the interrupted conversation, stored again, made {_count(made)}")


CHECKS: tuple[Callable[[Stores], Outcome], ...] = (
    starts_and_answers_in_time,
    empty_store,
    any_order_of_calls,
    stores_apart,
    at_most_k_retrieved,
    listing_is_complete,
    listing_holds_what_is_retrieved,
    retrieval_changes_nothing,
    same_conversation_twice,
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


N = 1000
"""Conversations of the large store by default."""


def try_system(system: SystemSpec, folder: Path, limits: Limits, n: int = N) -> Iterator[tuple[str, Outcome]]:
    """Check a memory system.

    Args:
        system: it lives in a process of its own.
        folder: absolute path of an empty folder. What the system prints goes to `system.log` there.
        limits: of a call and of the memory.
        n: conversations of the large store.

    Yields:
        The name of each check and what came of it, as soon as it is known. A call that fails breaks a promise.

    Raises:
        BadInput: an installed system's environment cannot be built, or its endpoint cannot be used.
    """
    hosting = Hosting(system, folder) if system.installation else None
    guard = process_guard(system, limits, folder / "system.log", hosting)
    stores = Stores(guard, folder, durable=system.durable, n=n)
    try:
        for check in CHECKS:
            try:
                outcome = check(stores)
            except CallFailed as error:
                outcome = Outcome("failed", str(error), "an answer")
            yield check.__name__.replace("_", " "), outcome
    finally:
        guard.close()
        if hosting is not None:
            hosting.close()
