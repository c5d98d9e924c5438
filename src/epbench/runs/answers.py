"""Ask a model and journal every reply as it comes: nothing that was answered is asked again."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, astuple, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from epbench.models.protocol import KeepsReplies, Model, Reply, Request
from epbench.runs.journal import RETIRED, Journal, Record
from epbench.runs.secrets import without_keys

Progress = Callable[[Iterable[Any], str, int], Iterable[Any]]
"""Wraps items to show a bar: (items, what they are, how many)."""

ANSWERS = "answers.jsonl"

_log = logging.getLogger(__name__)


def no_progress(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:
    """No bar."""
    return items


def ask(path: Path, requests: Sequence[Request], model: Model, progress: Progress = no_progress) -> None:
    """Put the answers to all requests into the journal at `path`; those that it has are not asked for again.

    A record has key, id, repeat, answer (the text) or failure (the reason), and where there are any: partial (of a
    failed reply, the text that came), ended and served (see `Reply`), reasoning, probabilities of the wanted labels,
    usage in tokens, and seconds since the reply before. A question that fails is journaled with its reason, and the next
    start asks it again. No text in a record holds a key of the environment: it reads `***` there.

    A reply of an endpoint is in the journal before anything else is done with it. A kill loses only what was generated
    and not yet read: at most as many answers as requests were open.
    """
    journal = Journal(path)
    open_requests = {key: request for request in requests if not journal.done(key := request.key(model.identity))}
    records = answered(journal, list(open_requests.values()), model)
    with closing(records):  # or what is open at an endpoint would go on when this stops
        for _ in progress(records, "answers", len(open_requests)):
            pass
    journal.close()


def retire_others(path: Path, requests: Sequence[Request], model: Model) -> None:
    """Journal as failures the answers to other prompts of the same questions, so that no answer of theirs is scored.

    There are such answers where what a question is asked with has changed since an earlier start: a memory system that
    was told everything anew may remember something else.
    """
    journal = Journal(path)
    keys = {request.key(model.identity) for request in requests}
    asked = {(request.id, request.repeat) for request in requests}
    for record in list(journal):
        if record["key"] not in keys and (record["id"], record["repeat"]) in asked and journal.done(record["key"]):
            values = {name: value for name, value in record.items() if name not in ("key", "answer")}
            journal.add(record["key"], **values, failure=RETIRED)
    journal.close()


def answered(journal: Journal, requests: Sequence[Request], model: Model) -> Generator[Record]:
    """Ask a model; each reply's record, as in `ask`, once it is in the journal. Closing it ends what is open.

    A model whose replies come in another thread writes to the journal from that thread.
    """
    recorder = _Recorder(journal, requests, model)
    at_once = isinstance(model, KeepsReplies)
    replies = (
        model.answer_keeping(requests, recorder.keep) if isinstance(model, KeepsReplies) else model.answer(requests)
    )
    with closing(replies):
        for reply in replies:
            if not at_once:
                recorder.keep(reply)
            yield journal.records[reply.key]


class _Recorder:
    """Writes replies into a journal."""

    def __init__(self, journal: Journal, requests: Sequence[Request], model: Model) -> None:
        self._journal, self._name = journal, model.name
        self._repeats = {request.key(model.identity): request.repeat for request in requests}
        self._last = time.monotonic()
        self._served = {record.get("served") for record in journal if record.get("failure") is None}

    def keep(self, reply: Reply) -> None:
        """Journal one reply."""
        outcome = _outcome(reply)
        now = time.monotonic()
        seconds = round(now - self._last, 4)
        self._journal.add(reply.key, id=reply.id, repeat=self._repeats[reply.key], **outcome, seconds=seconds)
        self._last = now
        if reply.failure is None:
            self._notice(outcome.get("served"))

    def _notice(self, served: str | None) -> None:
        """Warn where another model answers than before; None is the one that was asked for."""
        if self._served and served not in self._served:
            before = ", ".join(sorted(name or "the name that was asked for" for name in self._served))
            _log.warning(
                "%s: the endpoint now says that %s answers, and said before: %s; the scores of this run may be those of "
                "several models", self._name, served or "the model that was asked for", before,
            )  # fmt: skip
        self._served.add(served)


def _outcome(reply: Reply) -> dict[str, Any]:
    """What a record says of a reply, without keys."""
    text = without_keys(reply.text)
    outcome: dict[str, Any] = {"answer": text}
    if reply.failure is not None:
        outcome = {"failure": without_keys(reply.failure)} | ({"partial": text} if text else {})
    if reply.ended != "stop":
        outcome["ended"] = reply.ended
    if reply.served:
        outcome["served"] = reply.served
    if reply.reasoning:
        outcome["reasoning"] = without_keys(reply.reasoning)
    if reply.probabilities is not None:
        outcome["probabilities"] = dict(reply.probabilities)
    if any(astuple(reply.usage)):
        outcome["usage"] = asdict(reply.usage)
    return outcome


def fingerprint_of(content: Any) -> str:
    """Short hash of answers or prompts, so that a run's folder is taken up with the same ones only."""
    plain = asdict(content) if is_dataclass(content) and not isinstance(content, type) else content
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]
