"""Try a system out: all checks, one after the other, in one process, as the stores of a run are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from epbench.errors import CallFailed
from epbench.memories.contract.checks import CHECKS, Outcome
from epbench.memories.contract.stores import Stores
from epbench.memories.guard import Limits
from epbench.memories.spec import SystemSpec
from epbench.memories.systems.hosting import Hosting, process_guard

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
