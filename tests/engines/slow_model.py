"""Models for the tests of engines; replicas import them, as they do not get the tests' own modules."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from epbench.models.protocol import Reply, Request, Usage


@dataclass
class SlowModel:
    """Answers each question with its own words after some seconds, and notes which process has read which context."""

    notes: Path  # a folder; a file in it is named by a process, and has a line for every request
    seconds: float = 0.0  # for one answer
    deadly: str = ""  # a question that ends the process
    name: str = "slow"
    identity: str = "slow"
    costs_nothing: bool = False
    continues_prompts: bool = True

    def window(self) -> int | None:
        return None

    def count_tokens(self, request: Request) -> tuple[int, int]:
        return len(request.user), len(request.context)

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        for request in requests:
            if request.question == self.deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(self.seconds)
            with (self.notes / str(os.getpid())).open("a") as file:
                file.write(f"{request.id}\n")
            yield Reply(request.key(self.identity), request.id, f"about {request.question}", usage=Usage(prompt=5))


def lacks_a_library(notes: Path) -> SlowModel:
    raise ModuleNotFoundError("No module named 'vllm'", name="vllm")


def ends_its_process(notes: Path) -> SlowModel:
    os.kill(os.getpid(), signal.SIGKILL)
    return SlowModel(notes)
