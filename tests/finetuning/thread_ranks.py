"""Processes that work together, as threads of this one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from epbench.finetuning.launching import Ranks

T = TypeVar("T")


class Meeting:
    """Where all threads wait for one another. When one of them fails, the others do too, as with a launcher."""

    def __init__(self, n: int) -> None:
        self.barrier = threading.Barrier(n, timeout=60)
        self.items: list[Any] = [None] * n


@dataclass(frozen=True)
class ThreadRanks(Ranks):
    """One of several threads, with the methods of `Ranks`."""

    meeting: Meeting = field(default_factory=lambda: Meeting(1))

    def wait(self) -> None:
        self.meeting.barrier.wait()

    def gather(self, item: T) -> list[T]:
        self.meeting.items[self.index] = item
        self.wait()
        found = list(self.meeting.items)
        self.wait()
        return found


def together(n: int, work: Callable[[ThreadRanks], T]) -> list[T]:
    """Run this in n threads, and return what each of them returns; the first error that caused others is raised."""
    meeting = Meeting(n)

    def one(index: int) -> T:
        try:
            return work(ThreadRanks(index, n, meeting))
        except BaseException:
            meeting.barrier.abort()
            raise

    with ThreadPoolExecutor(n) as threads:
        futures = [threads.submit(one, index) for index in range(n)]
    errors = [error for future in futures if (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
        raise error
    return [future.result() for future in futures]
