"""Whether a memory system forgets what it is told to forget and takes over what is corrected, and whether it stays so.

It is a property and no promise: a store that only adds is a memory system, too. Facts are told and found; some of them are
withdrawn and some corrected in words, as a user does it; background work passes; other facts are told, similar and unrelated
ones; and then everything is asked for again, of a durable system by another instance on its folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from epbench.errors import CallFailed
from epbench.memories.contract import Stores, fact, mentions, name, question, stores_of, thing
from epbench.memories.guard import Limits
from epbench.memories.protocol import SystemSpec

WAIT = 5.0
"""Seconds that background work may take after something was told."""
_FIRST = 700_000  # numbers of facts from here on are stored by no other check
_PAUSE = 0.2  # seconds between two tries
_K = 20  # memories that are asked for
_UNRELATED = (
    "The tram was late again this morning.",
    "I have painted the kitchen door green.",
    "Our team meets on Thursdays at ten.",
    "The museum shows old globes until spring.",
)
_TOWNS = ("Ashcombe", "Bellmere", "Caldwick", "Dunsford", "Elmhurst", "Farrowdale", "Gorseley", "Hollowbrook")


@dataclass(frozen=True)
class Forgetting:
    """What became of facts that were withdrawn or corrected.

    Attributes:
        n: The number of facts that were withdrawn, and of those that were corrected.
        kept: Of the withdrawn ones, how many came back to a query after all background work.
        returned: How many more did so when other facts had been told.
        listed: How many the listing has in the end.
        stale: Of the corrected ones, how many old values came back in the end in a memory without the new one.
        corrected: How many new values came back in the end.
        neighbours: The number of other facts about the same people.
        survived: How many of them came back in the end.
        failure: Why nothing was measured.
    """

    n: int = 0
    kept: int = 0
    returned: int = 0
    listed: int = 0
    stale: int = 0
    corrected: int = 0
    neighbours: int = 0
    survived: int = 0
    failure: str = ""

    @property
    def summary(self) -> dict[str, int | str]:
        """For a file: all attributes, without a failure that there was not."""
        return {name: value for name, value in asdict(self).items() if name != "failure" or value}

    def __str__(self) -> str:
        if self.failure:
            return f"forgetting: not measured: {self.failure}"
        if self.kept:
            words = f"keeps {self.kept} of {self.n} facts that it was told to forget"
        else:
            words = f"forgets all {self.n} facts that it was told to forget"
        if self.returned:
            words += f"; {self.returned} came back when other facts were told"
        if self.listed > self.kept + self.returned:
            words += f"; {self.listed} are still listed"
        new = f"{self.corrected} of {self.n} corrections are known, {self.stale} old values stand beside them"
        return f"forgetting: {words}; {new}; {self.survived} of {self.neighbours} neighbours survive"


def forgetting_of(system: SystemSpec, folder: Path, limits: Limits, n: int, wait: float = WAIT) -> Forgetting:
    """Measure what a system forgets in an empty folder; see `measure_forgetting`."""
    with stores_of(system, folder, limits) as stores:
        try:
            return measure_forgetting(stores, n, wait)
        except CallFailed as error:
            return Forgetting(failure=str(error))


def measure_forgetting(
    stores: Stores,
    n: int,
    wait: float = WAIT,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Forgetting:
    """Tell facts, withdraw n of them and correct as many, tell others, and ask for all again.

    Args:
        stores: Opens a store.
        n: The number of facts to withdraw, and to correct.
        wait: Seconds that background work may take.
        clock: Tells the time in seconds.
        sleep: Waits so many seconds.

    Raises:
        CallFailed: A call failed.
    """
    folder = stores.open()
    withdrawn, changed = range(_FIRST, _FIRST + n), range(_FIRST + n, _FIRST + 2 * n)
    everybody = (*withdrawn, *changed)

    def settled(done: Callable[[], bool]) -> bool:
        """Whether something is so, at last when the time for background work has passed."""
        begin = clock()
        while not done():
            if clock() - begin >= wait:
                return False
            sleep(_PAUSE)
        return True

    for number in everybody:
        stores.tell(fact(number))
        stores.tell(f"My friend {name(number)} lives in {_town(number)}.")
    stores.finalize()
    if not settled(lambda: all(_found(stores, number, thing(number)) for number in everybody)):
        lost = sum(not _found(stores, number, thing(number)) for number in everybody)
        return Forgetting(failure=f"{lost} of {2 * n} facts did not come back before anything was withdrawn")

    for number in withdrawn:
        stores.tell(f"Please forget what I told you about what my friend {name(number)} collects.")
    for number in changed:
        stores.tell(f"I was wrong: my friend {name(number)} collects {_other(number)}, not {thing(number)}.")
    stores.finalize()
    settled(lambda: not any(_found(stores, number, thing(number)) for number in withdrawn))
    kept = {number for number in withdrawn if _found(stores, number, thing(number))}

    for number in withdrawn:  # what could bring it back: the same of somebody else, and more about the same friend
        stores.tell(f"My friend {name(number + 1000)} collects {thing(number)}.")
        stores.tell(f"My friend {name(number)} has a garden.")
    for text in _UNRELATED:
        stores.tell(text)
    stores.finalize()
    settled(lambda: len(kept) == n or any(_found(stores, i, thing(i)) for i in withdrawn if i not in kept))
    if stores.durable:
        stores.reopen(folder)
    listed = stores.listed()
    return Forgetting(
        n=n,
        kept=len(kept),
        returned=sum(number not in kept and _found(stores, number, thing(number)) for number in withdrawn),
        listed=sum(bool(mentions(mentions(listed, name(number)), thing(number))) for number in withdrawn),
        stale=sum(_found(stores, number, thing(number), without=_other(number)) for number in changed),
        corrected=sum(_found(stores, number, _other(number)) for number in changed),
        neighbours=2 * n,
        survived=sum(
            _found(stores, number, _town(number), f"Where does my friend {name(number)} live?") for number in everybody
        ),
    )


def _found(stores: Stores, number: int, value: str, asked: str = "", without: str = "") -> bool:
    """Whether a query about a friend brings back a memory with the name and a value, but without another value."""
    memories = mentions(mentions(stores.retrieve(asked or question(number), _K), name(number)), value)
    return len(memories) > (len(mentions(memories, without)) if without else 0)


def _other(number: int) -> str:
    return thing(number + 1)


def _town(number: int) -> str:
    return _TOWNS[number % len(_TOWNS)]
