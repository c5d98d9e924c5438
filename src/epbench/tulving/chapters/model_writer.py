"""A language model that writes the chapters, and one that checks them, which may be the same (paper: Appendices B.1.5
and B.1.7).

Every chapter and every verdict is journaled as it comes, by all that it depends on: model, prompts, event, layout,
attempt, what was wrong with the attempt before, and seed. So a writing that was stopped goes on where it was, and books
of one universe and seed share their chapters: the 20 events of the short book are the first of the long one, and the
ordered book has the same texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from epbench.errors import RunFailed
from epbench.models.protocol import Model, Request, Sampling
from epbench.runs.answers import Progress, ask, fingerprint_of
from epbench.runs.journal import Record, read_journal
from epbench.runs.usage import token_usage
from epbench.tulving.chapters.loop import Candidate, Task
from epbench.tulving.chapters.model_checks import SCHEMA, failed_checks, read_verdict
from epbench.tulving.chapters.prompts import load_writing_prompts
from epbench.tulving.chapters.unwrapping import unwrapped
from epbench.tulving.events.universe import Universe

MAX_TOKENS = 4096
TEMPERATURE = 1.0  # a candidate that failed must be followed by another one, not by itself
CHECK_ATTEMPTS = 4

CHAPTERS, CHECKS = "chapters.jsonl", "checks.jsonl"

_FAULTS = {"length": "cut_off", "empty": "empty", "refusal": "refused", "content_filter": "refused"}
"""By how a failed reply ended: what the model gave is bad, but it did reply, and is not asked for the same again."""


def writing_folder(out: Path, writer: str) -> Path:
    """Where a model's chapters are kept beside the datasets: `OUT/written-by-openai-gpt-4o`."""
    kind, _, target = writer.partition(":")
    return out / f"written-by-{kind}-{re.sub(r'[^A-Za-z0-9.]+', '-', Path(target).name)}"


class ModelWriter:
    """Asks for one candidate per task, and then whether place, date, person and event are right and the only ones."""

    def __init__(
        self,
        model: Model,
        universe: Universe,
        folder: Path,
        *,
        checker: Model | None = None,
        seed: int = 0,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        """
        Args:
            model: writes.
            universe: of the events; its kind sets the tone.
            folder: of the journals, open for this process alone.
            checker: checks what was written; `model` unless given. Its verdicts are journaled under its own name, so
                that with another checker the chapters are not paid for again.
            seed: of the models' draws; not every endpoint keeps it.
            max_tokens: of a chapter, and of a verdict with the reasoning before it; at least 1.
        """
        self.model, self.checker = model, checker or model
        self._universe, self._folder = universe, folder
        self._prompts = load_writing_prompts()
        self._sampling = Sampling(max_tokens, TEMPERATURE, seed)
        self._paid: dict[str, Record] = {}

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def max_tokens(self) -> int:
        return self._sampling.max_tokens

    def chapter_request(self, task: Task) -> Request:
        """What the model is asked for a candidate; of a later attempt, with what was wrong with the one before."""
        prompt = self._prompts.chapter_prompt(task.event, task.layout, self._universe)
        if task.failed:
            prompt += "\n\n" + self._prompts.retry_prompt(task.failed, task.previous, task.event, task.layout)
        return Request(
            id=f"event {task.number}",
            system=self._prompts.chapter_system(self._universe),
            context="",
            question=prompt,
            sampling=self._sampling,
            repeat=task.attempt,
            keep_cut=True,
        )

    def check_request(self, candidate: Candidate, repeat: int = 0) -> Request:
        """What the checker is asked about a candidate; of two with the same text the same."""
        return Request(
            id=f"event {candidate.task.number}",
            system=self._prompts.check_system,
            context="",
            question=self._prompts.check_prompt(candidate.task.event, candidate.text),
            sampling=self._sampling,
            repeat=repeat,
            schema=SCHEMA,
        )

    def candidates(self, tasks: Sequence[Task], progress: Progress) -> list[Candidate]:
        """See `Writer.candidates`.

        Raises:
            RunFailed: some requests got no answer; what came is kept.
        """
        what = f"chapters, round {tasks[0].attempt + 1}"
        requests = [self.chapter_request(task) for task in tasks]
        records = self._answers(CHAPTERS, requests, self.model, what, progress)
        return [self._candidate(task, record) for task, record in zip(tasks, records, strict=True)]

    def _candidate(self, task: Task, record: Record) -> Candidate:
        if record.get("failure") is not None:
            return Candidate(task, "", _FAULTS[record["ended"]], record["failure"])
        # The number of tokens says it too, in journals that do not say how a reply ended.
        generated = int((record.get("usage") or {}).get("completion", 0))
        cut_off = record.get("ended") == "length" or generated >= self._sampling.max_tokens
        return Candidate(task, unwrapped(record["answer"]), "cut_off" if cut_off else None)

    def doubts(self, candidates: Sequence[Candidate], progress: Progress) -> list[list[str]]:
        """See `Writer.doubts`; a check without a verdict is asked for again, four times in all by one start.

        Raises:
            RunFailed: some requests got no answer, or some chapters still have no verdict; what came is kept. The next
                start asks for these verdicts anew.
        """
        verdicts = self._verdicts(candidates, progress)
        found = [failed_checks(verdict) for verdict in verdicts if verdict is not None]
        if len(found) == len(candidates):
            return found
        first = candidates[verdicts.index(None)].task
        raise RunFailed(
            f"checker {self.checker.name}: no verdict on {len(candidates) - len(found)} of {len(candidates)} chapters "
            f"of round {first.attempt + 1}, in {CHECK_ATTEMPTS} attempts each, such as event {first.number} "
            f"({first.event.content}, {first.event.day}, {first.event.space}, {first.event.entity}). The chapters are "
            f"kept, neither accepted nor discarded: the same command asks for the verdicts again, and --checker MODEL "
            f"has another model give them"
        )

    def _verdicts(self, candidates: Sequence[Candidate], progress: Progress) -> list[dict[str, bool] | None]:
        """On each candidate the first verdict that there is, or None where this start has asked often enough."""
        kept = self._kept(CHECKS)
        most = [self._most_checks(candidate, kept) for candidate in candidates]
        verdicts: list[dict[str, bool] | None] = [None] * len(candidates)
        for repeat in count():
            places = [place for place, verdict in enumerate(verdicts) if verdict is None and repeat < most[place]]
            if not places:
                break
            requests = [self.check_request(candidates[place], repeat) for place in places]
            what = f"checks, round {candidates[0].task.attempt + 1}"
            records = self._answers(CHECKS, requests, self.checker, what, progress)
            for place, record in zip(places, records, strict=True):
                verdicts[place] = read_verdict(record["answer"]) if record.get("failure") is None else None
        return verdicts

    def _most_checks(self, candidate: Candidate, kept: Mapping[str, Record]) -> int:
        """How often a candidate may be checked: four times, and four times more by a start that finds these in vain.

        A further check is one of another number, and so of another draw: the same one might only fail again.
        """
        n_kept = next(n for n in count() if not _replied(kept.get(self._key(self.check_request(candidate, n)))))
        return (n_kept // CHECK_ATTEMPTS + 1) * CHECK_ATTEMPTS

    def _key(self, check: Request) -> str:
        return check.key(self.checker.identity)

    def about(self) -> Mapping[str, Any]:
        """Checker, prompts, sampling, and the tokens of all answers in this book, whichever start paid for them."""
        usage = token_usage(self._paid.values())
        return {
            "checker": self.checker.name,
            "prompt_hash": fingerprint_of(self._prompts),
            "temperature": self._sampling.temperature,
            "max_tokens": self._sampling.max_tokens,
            "tokens": {name: usage[name] for name in ("requests", "prefilled", "saved", "generated")},
        }

    def _answers(
        self, file: str, requests: Sequence[Request], model: Model, what: str, progress: Progress
    ) -> list[Record]:
        """The journaled reply to each request; what the journal has not is asked for first."""
        keys = [request.key(model.identity) for request in requests]
        kept = self._kept(file)
        wanted = [request for key, request in zip(keys, requests, strict=True) if not _replied(kept.get(key))]
        ask(self._folder / file, wanted, model, lambda replies, _, total: progress(replies, what, total))
        kept = self._kept(file)
        records = [kept[key] for key in keys]
        reasons = [record["failure"] for record in records if not _replied(record)]
        if reasons:
            raise RunFailed(
                f"{model.name}: {len(reasons)} of {len(requests)} requests ({what}) got no answer, such as: {reasons[0]}; "
                f"what came is kept, and the same command goes on from there"
            )
        self._paid.update((record["key"], record) for record in records)
        return records

    def _kept(self, file: str) -> Mapping[str, Record]:
        return read_journal(self._folder / file)


def _replied(record: Record | None) -> bool:
    """Whether a model replied, be it with nothing usable: the same request is not made again."""
    return record is not None and (record.get("failure") is None or record.get("ended") in _FAULTS)
