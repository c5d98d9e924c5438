"""Ask a model and journal every reply as it comes: nothing that was answered is asked again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, astuple, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from epbench.models.protocol import Model, Reply, Request
from epbench.runs.journal import Journal

Progress = Callable[[Iterable[Any], str, int], Iterable[Any]]
"""Wraps items to show a bar: (items, what they are, how many)."""

ANSWERS = "answers.jsonl"


def no_progress(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:
    """No bar."""
    return items


def ask(path: Path, requests: Sequence[Request], model: Model, progress: Progress = no_progress) -> None:
    """Put the answers to all requests into the journal at `path`; those that it has are not asked for again.

    A record has key, id, repeat, answer (the text) or failure (the reason), and where there are any: reasoning,
    probabilities of the wanted labels, usage in tokens, and seconds since the reply before. A question that fails is
    journaled with its reason, and the next start asks it again.
    """
    journal = Journal(path)
    open_requests = {key: r for r in requests if not journal.done(key := r.key(model.name))}
    replies = model.answer(list(open_requests.values()))
    with closing(replies):  # or what is open at an endpoint would go on when this stops
        _record(journal, progress(replies, "answers", len(open_requests)), open_requests)
    journal.close()


def _record(journal: Journal, replies: Iterable[Reply], requests: Mapping[str, Request]) -> None:
    """Journal each reply as it comes, with the seconds since the one before."""
    last = time.monotonic()
    for reply in replies:
        outcome: dict[str, Any] = {"answer": reply.text} if reply.failure is None else {"failure": reply.failure}
        if reply.reasoning:
            outcome["reasoning"] = reply.reasoning
        if reply.probabilities is not None:
            outcome["probabilities"] = dict(reply.probabilities)
        if any(astuple(reply.usage)):
            outcome["usage"] = asdict(reply.usage)
        now = time.monotonic()
        repeat = requests[reply.key].repeat
        journal.add(reply.key, id=reply.id, repeat=repeat, **outcome, seconds=round(now - last, 4))
        last = now


def fingerprint_of(content: Any) -> str:
    """Short hash of answers or prompts, so that a run's folder is taken up with the same ones only."""
    plain = asdict(content) if is_dataclass(content) and not isinstance(content, type) else content
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]
