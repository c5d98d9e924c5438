"""How long after a fact was stored it can be found: the lag of systems that index in the background."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from epbench.errors import CallFailed
from epbench.memories.contract import Stores, fact, mentions, name, question, stores_of
from epbench.memories.guard import Limits
from epbench.memories.price import quantiles
from epbench.memories.protocol import SystemSpec

LIMIT = 30.0
"""Seconds after which a fact is given up."""
_FIRST, _SLOWEST, _GROWTH = 0.02, 0.2, 1.3  # seconds between two tries, which grow, as a query may cost something
_K = 5  # memories that are asked for
_NUMBERS = range(600_000, 700_000)  # of facts that no check of the contract stores


@dataclass(frozen=True)
class Lag:
    """What was measured.

    Attributes:
        seconds: From the return of the call that stored a fact to the first query that found it, for each fact found.
        missed: The number of facts that were not found within `LIMIT`.
        finalized: Whether `finalize` was called after each fact, because without it the first was not found.
        failure: Why nothing was measured.
    """

    seconds: list[float] = field(default_factory=list)
    missed: int = 0
    finalized: bool = False
    failure: str = ""

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


def measure_lag(
    stores: Stores, n: int, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
) -> Lag:
    """Store facts one after the other, and ask for each until it is found.

    If the first is not found, `finalize` is called after it and after each further one. If it then is not found either,
    no more are tried.

    Args:
        stores: Opens a store.
        n: The number of facts.
        clock: Tells the time in seconds.
        sleep: Waits so many seconds.

    Raises:
        CallFailed: A call failed.
    """
    stores.open()
    seconds: list[float] = []
    finalized, missed = False, 0
    for number in _NUMBERS[:n]:
        stores.tell(fact(number))
        if finalized:
            stores.finalize()
        lag = _until_found(stores, number, clock, sleep)
        if lag is None and not seconds and not finalized:
            finalized = True
            stores.finalize()
            lag = _until_found(stores, number, clock, sleep)
        if lag is None:
            missed += 1
            if not seconds:
                break
        else:
            seconds.append(round(lag, 3))
    return Lag(seconds, missed, finalized)


def _until_found(
    stores: Stores, number: int, clock: Callable[[], float], sleep: Callable[[float], None]
) -> float | None:
    """Seconds until the start of the first query that finds a fact; None if there is none within the limit."""
    begin, pause = clock(), _FIRST
    while (since := clock() - begin) < LIMIT:
        if mentions(stores.retrieve(question(number), _K), name(number)):
            return since
        sleep(pause)
        pause = min(pause * _GROWTH, _SLOWEST)
    return None
