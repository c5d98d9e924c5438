"""A language model that writes the chapters and checks them itself (paper: Appendices B.1.5 and B.1.7).

Every chapter and every verdict is journaled as it comes, by all that it depends on: model, prompts, event, plan,
attempt and seed. So a writing that was stopped goes on where it was, and books of one universe and seed share their
chapters: the 20 events of the short book are the first of the long one, and the ordered book has the same texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from epbench.errors import RunFailed
from epbench.models.protocol import Model, Request, Sampling
from epbench.runs.account import token_account
from epbench.runs.asking import Progress, ask, fingerprint_of
from epbench.runs.journal import Journal, Record
from epbench.tulving.llm_check import SCHEMA, failed_checks, read_verdict
from epbench.tulving.universe import Universe
from epbench.tulving.writer import Candidate, Task
from epbench.tulving.writing_prompts import load_writing_prompts

MAX_TOKENS = 4096
TEMPERATURE = 1.0  # a candidate that failed must be followed by another one, not by itself
CHECK_ATTEMPTS = 2

CHAPTERS, CHECKS = "chapters.jsonl", "checks.jsonl"


def writing_folder(out: Path, writer: str) -> Path:
    """Where a model's chapters are kept beside the datasets: `OUT/written-by-openai-gpt-4o`."""
    kind, _, target = writer.partition(":")
    return out / f"written-by-{kind}-{re.sub(r'[^A-Za-z0-9.]+', '-', Path(target).name)}"


class ModelWriter:
    """Asks for one candidate per task, and then whether place, date, person and event are right and the only ones."""

    def __init__(
        self, model: Model, universe: Universe, folder: Path, *, seed: int = 0, max_tokens: int = MAX_TOKENS
    ) -> None:
        """
        Args:
            model: writes and checks.
            universe: of the events; its kind sets the tone.
            folder: of the journals, open for this process alone.
            seed: of the model's draws; not every endpoint keeps it.
            max_tokens: of a chapter, and of a verdict with the reasoning before it; at least 1.
        """
        self._model, self._universe, self._folder = model, universe, folder
        self._prompts = load_writing_prompts()
        self._sampling = Sampling(max_tokens, TEMPERATURE, seed)
        self._paid: dict[str, Record] = {}

    @property
    def name(self) -> str:
        return self._model.name

    def chapter_request(self, task: Task) -> Request:
        """What the model is asked for a candidate."""
        return Request(
            id=f"event {task.number}",
            system=self._prompts.chapter_system(self._universe),
            context="",
            question=self._prompts.chapter_prompt(task.event, task.plan, self._universe),
            sampling=self._sampling,
            repeat=task.attempt,
            keep_cut=True,
        )

    def check_request(self, candidate: Candidate, repeat: int = 0) -> Request:
        """What the model is asked about a candidate; of two with the same text the same."""
        return Request(
            id=f"event {candidate.task.number}",
            system=self._prompts.check_system,
            context="",
            question=self._prompts.check_prompt(candidate.task.event, candidate.text),
            sampling=self._sampling,
            repeat=repeat,
            schema=SCHEMA,
            keep_cut=True,
        )

    def longest_requests(self, tasks: Sequence[Task]) -> list[Request]:
        """The longest of each sort, to hold against the window.

        The prompt of a check has a chapter in it, which is not written yet: its tokens are counted with the answer's.
        """
        twice = replace(self._sampling, max_tokens=2 * self._sampling.max_tokens)
        checks = [replace(self.check_request(Candidate(task, "")), sampling=twice) for task in tasks]
        return [
            max(sort, key=lambda request: len(request.user)) for sort in ([*map(self.chapter_request, tasks)], checks)
        ]

    def candidates(self, tasks: Sequence[Task], progress: Progress) -> list[Candidate]:
        """See `Writer.candidates`.

        Raises:
            RunFailed: some requests got no answer; what came is kept.
        """
        what = f"chapters, round {tasks[0].attempt + 1}"
        records = self._answers(CHAPTERS, [self.chapter_request(task) for task in tasks], what, progress)
        return [
            Candidate(task, record["answer"], _n_generated(record) >= self._sampling.max_tokens)
            for task, record in zip(tasks, records, strict=True)
        ]

    def doubts(self, candidates: Sequence[Candidate], progress: Progress) -> list[list[str]]:
        """See `Writer.doubts`; a check without a verdict is asked for once more.

        Raises:
            RunFailed: some requests got no answer; what came is kept.
        """
        verdicts: list[dict[str, bool] | None] = [None] * len(candidates)
        for repeat in range(CHECK_ATTEMPTS):
            places = [place for place, verdict in enumerate(verdicts) if verdict is None]
            if not places:
                break
            requests = [self.check_request(candidates[place], repeat) for place in places]
            what = f"checks, round {candidates[0].task.attempt + 1}"
            for place, record in zip(places, self._answers(CHECKS, requests, what, progress), strict=True):
                verdicts[place] = read_verdict(record["answer"])
        return [failed_checks(verdict) for verdict in verdicts]

    def about(self) -> Mapping[str, Any]:
        """Prompts, sampling, and the tokens of all answers in this book, whichever start paid for them."""
        account = token_account(self._paid.values())
        return {
            "prompt_hash": fingerprint_of(self._prompts),
            "temperature": self._sampling.temperature,
            "max_tokens": self._sampling.max_tokens,
            "tokens": {name: account[name] for name in ("requests", "prefilled", "saved", "generated")},
        }

    def _answers(self, file: str, requests: Sequence[Request], what: str, progress: Progress) -> list[Record]:
        """The journaled answer to each request; what the journal has not is asked for first."""
        path = self._folder / file
        ask(path, requests, self._model, lambda replies, _, total: progress(replies, what, total))
        journal = Journal(path)
        journal.close()
        records = [journal.records[request.key(self._model.identity)] for request in requests]
        reasons = [record["failure"] for record in records if record.get("failure") is not None]
        if reasons:
            raise RunFailed(
                f"{self.name}: {len(reasons)} of {len(requests)} requests ({what}) got no answer, such as: {reasons[0]}; "
                f"what came is kept, and the same command goes on from there"
            )
        self._paid.update((record["key"], record) for record in records)
        return records


def _n_generated(record: Record) -> int:
    return int((record.get("usage") or {}).get("completion", 0))
