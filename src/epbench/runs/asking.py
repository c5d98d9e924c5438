"""Ask a model and journal every reply as it comes: nothing that was answered is asked again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, astuple, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from epbench.models.protocol import Model, Request
from epbench.runs.journal import RETIRED, Journal, Record

Progress = Callable[[Iterable[Any], str, int], Iterable[Any]]
"""Wraps items to show a bar: (items, what they are, how many)."""

ANSWERS = "answers.jsonl"


def no_progress(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:
    """No bar."""
    return items


def ask(path: Path, requests: Sequence[Request], model: Model, progress: Progress = no_progress) -> None:
    """Put the answers to all requests into the journal at `path`; those that it has are not asked for again.

    A record has key, id, repeat, answer (the text) or failure (the reason), and where there are any: partial (of a
    failed reply, the text that came), ended (see `Reply`), reasoning, probabilities of the wanted labels, usage in
    tokens, and seconds since the reply before. A question that fails is journaled with its reason, and the next start
    asks it again.
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
    """Ask a model; each reply's record, as in `ask`, once it is in the journal. Closing it ends what is open."""
    repeats = {request.key(model.identity): request.repeat for request in requests}
    replies = model.answer(requests)
    last = time.monotonic()
    with closing(replies):
        for reply in replies:
            outcome: dict[str, Any] = {"answer": reply.text} if reply.failure is None else {"failure": reply.failure}
            if reply.failure is not None and reply.text:
                outcome["partial"] = reply.text
            if reply.ended != "stop":
                outcome["ended"] = reply.ended
            if reply.reasoning:
                outcome["reasoning"] = reply.reasoning
            if reply.probabilities is not None:
                outcome["probabilities"] = dict(reply.probabilities)
            if any(astuple(reply.usage)):
                outcome["usage"] = asdict(reply.usage)
            now = time.monotonic()
            journal.add(reply.key, id=reply.id, repeat=repeats[reply.key], **outcome, seconds=round(now - last, 4))
            last = now
            yield journal.records[reply.key]


def fingerprint_of(content: Any) -> str:
    """Short hash of answers or prompts, so that a run's folder is taken up with the same ones only."""
    plain = asdict(content) if is_dataclass(content) and not isinstance(content, type) else content
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]
