"""Processes that work together, as threads of this one."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from epbench.finetuning.launching import Ranks

T = TypeVar("T")


@dataclass(frozen=True)
class ThreadRanks(Ranks):
    """One of several threads, with the methods of `Ranks`. When one of them fails, the others do too, as with a launcher."""

    barrier: threading.Barrier = field(default_factory=lambda: threading.Barrier(1))
    items: list[Any] = field(default_factory=list)  # one list for all

    def wait(self) -> None:
        self.barrier.wait()

    def gather(self, item: T) -> list[T]:
        self.items[self.index] = item
        self.wait()
        found = list(self.items)
        self.wait()
        return found


def together(n: int, work: Callable[[ThreadRanks], T]) -> list[T]:
    """Run this in n threads, and return what each of them returns; the first error that caused others is raised."""
    barrier, items = threading.Barrier(n, timeout=60), [None] * n

    def one(index: int) -> T:
        try:
            return work(ThreadRanks(index, n, barrier, items))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(n) as threads:
        futures = [threads.submit(one, index) for index in range(n)]
    errors = [error for future in futures if (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
        raise error
    return [future.result() for future in futures]
