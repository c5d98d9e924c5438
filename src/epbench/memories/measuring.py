"""What is measured of a memory system, and is no promise: how soon it finds what it was told, and whether it forgets.

The lag is that of systems that index in the background. A store that only adds is a memory system, too: after facts have been
withdrawn or corrected in words, and others told, everything is asked for again, of a durable system by another instance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from epbench.errors import CallFailed
from epbench.memories.contract import Stores, fact, mentions, name, question, stores_of, thing
from epbench.memories.guard import Limits
from epbench.memories.protocol import SystemSpec
from epbench.memories.recall import quantiles

LIMIT = 30.0  # seconds after which a fact is given up
_SOONEST, _SLOWEST, _GROWTH = 0.02, 0.2, 1.3  # seconds between two tries, which grow, as a query may cost something
_FEW = 5  # memories that are asked for
_NUMBERS = range(600_000, 700_000)  # of facts that no check of the contract stores


@dataclass(frozen=True)
class Lag:
    """How soon a system found the facts that it had been told."""

    # From the return of the call that stored a fact to the first query that found it, for each fact found.
    seconds: list[float] = field(default_factory=list)
    missed: int = 0  # facts that were not found within `LIMIT`
    finalized: bool = False  # whether `finalize` was called after each fact, because without it the first was not found
    failure: str = ""  # why nothing was measured

    @property
    def summary(self) -> dict[str, float | int | bool | str | None]:
        """For a file: p50 and p95, the number of facts, and the other attributes."""
        n = len(self.seconds) + self.missed
        about = {"n": n, "missed": self.missed, "finalized": self.finalized}
        return {**quantiles(self.seconds), **about, **({"failure": self.failure} if self.failure else {})}

    def __str__(self) -> str:
        if self.failure:
            return f"write-to-recall lag: not measured: {self.failure}"
        found = quantiles(self.seconds)
        words = f"{self.missed} of {len(self.seconds) + self.missed} facts not found within {LIMIT:g} s"
        if self.seconds:
            n = f"{len(self.seconds)} facts, {words}" if self.missed else f"{len(self.seconds)} facts"
            words = f"p50 {found['p50']:.2f} s, p95 {found['p95']:.2f} s, of {n}"
        return f"write-to-recall lag: {words}{', after finalize()' if self.finalized else ''}"


def lag_of(system: SystemSpec, folder: Path, limits: Limits, n: int) -> Lag:
    """Measure the lag of a system in an empty folder; see `measure_lag`."""
    with stores_of(system, folder, limits) as stores:
        try:
            return measure_lag(stores, n)
        except CallFailed as error:
            return Lag(failure=str(error))


def measure_lag(stores: Stores, n: int) -> Lag:
    """Store n facts one after the other, and ask for each until it is found; `CallFailed` if a call fails.

    If the first is not found, `finalize` is called after it and after each further one. If it then is not found either,
    no more are tried.
    """
    stores.open()
    seconds: list[float] = []
    finalized, missed = False, 0
    for number in _NUMBERS[:n]:
        stores.tell(fact(number))
        if finalized:
            stores.finalize()
        lag = _until_found(stores, number)
        if lag is None and not seconds and not finalized:
            finalized = True
            stores.finalize()
            lag = _until_found(stores, number)
        if lag is None:
            missed += 1
            if not seconds:
                break
        else:
            seconds.append(round(lag, 3))
    return Lag(seconds, missed, finalized)


def _until_found(stores: Stores, number: int) -> float | None:
    """Seconds until the start of the first query that finds a fact; None if there is none within the limit."""
    begin, pause = stores.time(), _SOONEST
    while (since := stores.time() - begin) < LIMIT:
        if mentions(stores.retrieve(question(number), _FEW), name(number)):
            return since
        stores.sleep(pause)
        pause = min(pause * _GROWTH, _SLOWEST)
    return None


WAIT = 5.0  # seconds that background work may take after something was told
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
    """What became of facts that were withdrawn or corrected."""

    n: int = 0  # facts that were withdrawn, and as many that were corrected
    kept: int = 0  # of the withdrawn ones, how many came back to a query after all background work
    returned: int = 0  # how many more did so when other facts had been told
    listed: int = 0  # how many the listing has in the end
    stale: int = 0  # of the corrected ones, how many old values came back in the end in a memory without the new one
    corrected: int = 0  # how many new values came back in the end
    neighbours: int = 0  # other facts about the same people
    survived: int = 0  # how many of them came back in the end
    failure: str = ""  # why nothing was measured

    @property
    def summary(self) -> dict[str, int | str]:
        """For a file: all attributes, without a failure that there was not."""
        return {name: value for name, value in asdict(self).items() if name != "failure" or value}

    def __str__(self) -> str:
        if self.failure:
            return f"forgetting: not measured: {self.failure}"
        words = f"keeps {self.kept} of {self.n}" if self.kept else f"forgets all {self.n}"
        words += " facts that it was told to forget"
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


def measure_forgetting(stores: Stores, n: int, wait: float = WAIT) -> Forgetting:
    """Tell facts, withdraw n, correct as many, tell others, and ask for all again; background work may take `wait` seconds."""
    folder = stores.open()
    withdrawn, changed = range(_FIRST, _FIRST + n), range(_FIRST + n, _FIRST + 2 * n)
    everybody = (*withdrawn, *changed)
    town = {number: _TOWNS[number % len(_TOWNS)] for number in everybody}
    other = {number: thing(number + 1) for number in changed}

    def settled(done: Callable[[], bool]) -> bool:
        """Whether something is so, at last when the time for background work has passed."""
        begin = stores.time()
        while not done():
            if stores.time() - begin >= wait:
                return False
            stores.sleep(_PAUSE)
        return True

    for number in everybody:
        stores.tell(fact(number))
        stores.tell(f"My friend {name(number)} lives in {town[number]}.")
    stores.finalize()
    if not settled(lambda: all(_found(stores, number, thing(number)) for number in everybody)):
        lost = sum(not _found(stores, number, thing(number)) for number in everybody)
        return Forgetting(failure=f"{lost} of {2 * n} facts did not come back before anything was withdrawn")

    for number in withdrawn:
        stores.tell(f"Please forget what I told you about what my friend {name(number)} collects.")
    for number in changed:
        stores.tell(f"I was wrong: my friend {name(number)} collects {other[number]}, not {thing(number)}.")
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
        stale=sum(_found(stores, number, thing(number), without=other[number]) for number in changed),
        corrected=sum(_found(stores, number, other[number]) for number in changed),
        neighbours=2 * n,
        survived=sum(
            _found(stores, number, town[number], f"Where does my friend {name(number)} live?") for number in everybody
        ),
    )


def _found(stores: Stores, number: int, value: str, asked: str = "", without: str = "") -> bool:
    """Whether a query about a friend brings back a memory with the name and a value, but without another value."""
    memories = mentions(mentions(stores.retrieve(asked or question(number), _K), name(number)), value)
    return len(memories) > (len(mentions(memories, without)) if without else 0)
