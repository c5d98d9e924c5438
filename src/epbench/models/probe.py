"""What a model can do of what a run needs, found out by asking it a few small questions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from epbench.errors import BadInput, RunFailed
from epbench.models.protocol import Model, Reply, Request, Sampling

_LINES = 400  # of the shared text: some 6,000 tokens, so that a cache of prefixes has something to keep
_FACT = "Line 217: Odile Marchetti keeps the brass key in the green kettle."
_SCHEMA: dict[str, Any] = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
_SCHEMA |= {"additionalProperties": False}
_SYSTEM = "You answer briefly."


@dataclass(frozen=True)
class Finding:
    """What came of one question: `no` is what a run can do without, or does in another way, `failed` is what it needs."""

    what: str  # what was tried
    result: Literal["yes", "no", "failed"]
    found: str  # in words


def probe(model: Model) -> Iterator[Finding]:
    """Try a model, with seven short requests; weights on this machine are loaded for it.

    The long text has about 6,000 tokens, or half of the window if that is less.
    """
    try:
        window = model.window()
    except BadInput as error:
        yield Finding("window", "failed", str(error))
        return
    yield Finding("window", "yes" if window else "no", f"{window:,} tokens" if window else "not told")
    ask = Request("answer", _SYSTEM, "", "What is the capital of France?", Sampling(max_tokens=256), keep_cut=True)
    begin = time.perf_counter()
    reply = _answer(model, ask)
    if reply.failure is not None:
        yield Finding("answers", "failed", reply.failure)
        return
    yield Finding("answers", "yes", f"{reply.text[:60]!r} after {time.perf_counter() - begin:.1f} s")
    thought = reply.usage.thinking or bool(reply.reasoning)
    yield Finding("thinks first", "yes" if thought else "no", f"{reply.usage.thinking:,} tokens" if thought else "")
    reply = _answer(model, replace(ask, id="schema", question="What is 2 + 3?", schema=_SCHEMA))
    try:
        kept = isinstance(json.loads(reply.text)["sum"], int)
    except (ValueError, KeyError, TypeError):
        kept = False
    yield Finding("JSON under a schema", "yes" if kept else "no", repr(reply.failure or reply.text[:60]))
    ask_labels = "Which letter comes first in the alphabet, A or B?"
    labelled = replace(ask, id="labels", question=ask_labels, labels=("A", "B"))
    probabilities = _answer(model, replace(labelled, answer_start="Answer:")).probabilities
    shown = ", ".join(f"{label} {p:.3f}" for label, p in (probabilities or {}).items())
    yield Finding("log-probabilities", "yes" if probabilities else "no", shown or "the written letter decides")
    yield from _long_text(model, ask, window)


def _long_text(model: Model, ask: Request, window: int | None) -> Iterator[Finding]:
    lines = [f"Line {n}: nothing of note was seen at the post by the canal." for n in range(_LINES)]
    lines[217] = _FACT
    context = "\n".join(lines)
    length = model.count_tokens(replace(ask, context=context))[0]
    if window and length > window // 2:
        context = "\n".join([_FACT, *lines[: _LINES * window // (2 * length)]])
    questions = ["Where does Odile Marchetti keep the brass key?", "Which line tells where the brass key is?"]
    asked = [replace(ask, id=f"long-{n}", context=context, question=question) for n, question in enumerate(questions)]
    replies = {reply.id: reply for reply in _answers(model, asked)}
    first, second = (replies[request.id] for request in asked)
    what = "reads a long text"
    if first.failure is not None:
        yield Finding(what, "failed", first.failure)
        return
    counted, sent = first.usage.prompt, model.count_tokens(asked[0])[0]
    if counted and counted < 0.6 * sent:  # a token has 4 to 5 characters in English
        yield Finding(what, "failed", f"it read {counted:,} of about {sent:,} tokens: prompts are cut off")
    else:
        finds = "finds" if "green kettle" in first.text.lower() else "does not find"
        yield Finding(what, "yes", f"{counted:,} tokens; {finds} a fact in it")
    cached = second.usage.cached
    yield Finding("reads a shared text once", "yes" if cached else "no", f"{cached:,} tokens of the second prompt")


def _answer(model: Model, request: Request) -> Reply:
    (reply,) = _answers(model, [request])
    return reply


def _answers(model: Model, requests: list[Request]) -> list[Reply]:
    try:
        return list(model.answer(requests))
    except (BadInput, RunFailed) as error:
        return [Reply("", request.id, failure=str(error)) for request in requests]
