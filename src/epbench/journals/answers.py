"""Ask a model and journal every reply as it arrives, so that no answered question is asked again."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import astuple, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from epbench.files.prompt_packs import told
from epbench.journals.journal import RETIRED, Journal, Record
from epbench.models.estimate import bounds_now
from epbench.models.protocol import KeepsNotes, KeepsReplies, Model, Reply, Request, weights_of
from epbench.progress import Progress, no_progress

ANSWERS = "answers.jsonl"
BATCHES = "batches.jsonl"

T = TypeVar("T")

_log = logging.getLogger(__name__)


def ask(
    path: Path,
    requests: Sequence[Request],
    model: Model,
    progress: Progress = no_progress,
    what: str = "answers",
    failure_of: Callable[[Record], str | None] = lambda record: record.get("failure"),
) -> None:
    """Put the answers to all requests into a journal; requests that it already has an answer to are not sent again.

    A record has key, id, repeat, and answer (the text) or failure (the reason). It may also have partial (the text of a
    failed reply), ended and served (see `Reply`), reasoning, probabilities of the requested labels, usage in tokens, and
    seconds since the reply before. A question that fails is journaled with its reason, and the next start asks it again,
    unless greedy weights or rules on this machine would only say the same again.
    Keys of the environment are replaced by `***` in all texts.

    A reply of an endpoint is in the journal before anything else is done with it. If the process is killed, only answers
    that were generated and not yet read are lost: at most as many as requests were open.

    Progress counts the answers of earlier starts as well, under the name `what`. `failure_of` says why a journaled reply is no
    answer, None if it is one; by default it is the failure in its record.
    """
    journal = Journal(path)
    by_key = {request.key(model.identity): request for request in requests}
    open_requests = {
        key: request
        for key, request in by_key.items()
        if (record := journal.records.get(key)) is None
        or (failure_of(record) is not None and not _would_be_the_same(record, request, model))
    }
    # Closed here, because open requests would otherwise go on when this stops.
    with closing(journal), closing(answered(journal, list(open_requests.values()), model)) as replies:
        for _ in progress(replies, what, len(by_key), len(by_key) - len(open_requests)):
            pass


def _would_be_the_same(record: Record, request: Request, model: Model) -> bool:
    """Whether the failed reply is greedy text of this machine: a whole one, or one that used all its tokens."""
    used = (record.get("usage") or {}).get("completion", 0)
    whole = "answer" in record or (record.get("ended") == "length" and used >= request.sampling.max_tokens)
    return whole and request.sampling.temperature == 0 and bool(weights_of(model) or model.costs_nothing)


def retire_others(path: Path, requests: Sequence[Request], model: Model) -> None:
    """Journal answers to other prompts of the same questions as failures, so that they are not scored.

    There are such answers if the prompt of a question has changed since an earlier start: a memory system that was told
    everything again may remember something else.
    """
    journal = Journal(path)
    keys = {request.key(model.identity) for request in requests}
    asked = {(request.id, request.repeat) for request in requests}
    for record in list(journal):
        if record["key"] not in keys and (record["id"], record["repeat"]) in asked and journal.done(record["key"]):
            values = {name: value for name, value in record.items() if name not in ("key", "answer")}
            journal.add(record["key"], **values, failure=RETIRED)
    journal.close()


def answered(
    journal: Journal, requests: Sequence[Request], model: Model, more: Mapping[str, str] | None = None
) -> Generator[Record]:
    """Ask a model, and yield the record of each reply once it is in the journal; see `ask`.

    A model whose replies arrive in another thread writes to the journal from that thread. Closing the generator ends the
    open requests. `more` is added to each record. The bounds that hold here are kept to.
    """
    keep = _keeping(journal, requests, model, more or {})
    if isinstance(model, KeepsNotes):
        model.notes = journal.path.with_name(BATCHES)

    def answer(requests: Sequence[Request]) -> Generator[Reply]:
        if isinstance(model, KeepsReplies):
            yield from model.answer_keeping(requests, keep)
            return
        for reply in model.answer(requests):
            keep(reply)
            yield reply

    if bounds := bounds_now():
        bounds.recall(str(journal.path), journal, model)
    replies = bounds.within(requests, model, answer, keep) if bounds else answer(requests)
    with closing(replies):
        for reply in replies:
            yield journal.records[reply.key]


def _keeping(
    journal: Journal, requests: Sequence[Request], model: Model, more: Mapping[str, str]
) -> Callable[[Reply], None]:
    """Return what journals one reply, and warns if another model answers than before."""
    repeats = {request.key(model.identity): request.repeat for request in requests}
    known = {record.get("served") for record in journal if record.get("failure") is None}
    last = time.monotonic()

    def keep(reply: Reply) -> None:
        nonlocal last
        outcome, now = _outcome(reply), time.monotonic()
        seconds, last = round(now - last, 4), now
        journal.add(reply.key, id=reply.id, repeat=repeats[reply.key], **more, **outcome, seconds=seconds)
        if reply.failure is not None:
            return
        served = outcome.get("served")  # None stands for the requested model
        if known and served not in known:
            before = ", ".join(sorted(name or "the requested name" for name in known))
            changed = (
                f"the endpoint now says that {served or 'the requested model'} answers, and before it said: {before}"
            )
            _log.warning("%s: %s; the scores of this run may be those of several models", model.name, changed)
        known.add(served)

    return keep


def _outcome(reply: Reply) -> dict[str, Any]:
    """The fields of a record about a reply."""
    outcome: dict[str, Any] = {"answer": reply.text}
    if reply.failure is not None:
        outcome = {"failure": reply.failure} | ({"partial": reply.text} if reply.text else {})
    if reply.ended != "stop":
        outcome["ended"] = reply.ended
    outcome |= {name: text for name in ("served", "reasoning") if (text := getattr(reply, name))}
    if reply.probabilities is not None:
        outcome["probabilities"] = dict(reply.probabilities)
    if any(astuple(reply.usage)):
        outcome["usage"] = reply.usage.record
    return outcome


def fingerprint_of(content: Any) -> str:
    """A short hash of answers or prompts, so that a run is continued only with the same ones."""
    plain = told(content) if is_dataclass(content) and not isinstance(content, type) else content
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]
