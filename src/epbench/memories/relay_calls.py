"""The journal of what a memory system asked of its models, and what storing and retrieving have cost in all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epbench.journals.journal import read_journal
from epbench.memories.guard import RETRIEVE

CALLS = "system_calls.jsonl"
"""One record for each request of the system, in the order of their ends."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What the system is doing while it sends requests."""

    method: str = ""  # the method that is called, such as `store_conversation`; empty before the first call
    store: str = ""  # name of the store
    item: str = ""  # id of the conversation or the query; empty for other methods


def calls_usage(folder: Path) -> dict[str, dict[str, int]]:
    """Sum up the requests of a run's memory system, of calls that failed and were made again, too.

    For `storing` (all calls but retrievals) and `retrieving` there are calls (requests to the language model), tokens_in and
    tokens_out of these, embeddings (requests to the embedder) and embedding_tokens, retries (requests that were sent again
    after an answer that could not be used), errors (answers that were errors), and unparsable (replies that should have been
    JSON and were not). Nothing if the system has sent no request through the relay.
    """
    if not (folder / CALLS).exists():
        return {}
    parts: dict[str, list[Mapping[str, Any]]] = {"storing": [], "retrieving": []}
    for record in read_journal(folder / CALLS).values():
        parts["retrieving" if record["method"] == RETRIEVE else "storing"].append(record)
    return {stage: _sum(records) for stage, records in parts.items()}


def _sum(records: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    names = ("calls", "tokens_in", "tokens_out", "embeddings", "embedding_tokens", "retries", "errors", "unparsable")
    total = dict.fromkeys(names, 0)
    for record in records:
        embeds = record["path"].endswith("/embeddings")
        if not record.get("refused"):  # one that was not passed on is an error, and no call
            total["embeddings" if embeds else "calls"] += 1
        total["embedding_tokens" if embeds else "tokens_in"] += record["tokens_in"]
        total["tokens_out"] += record["tokens_out"]
        total["retries"] += record["retry"]
        total["errors"] += record["status"] >= 400
        total["unparsable"] += record["unparsable"]
    return total


def asks_for_json(body: Mapping[str, Any]) -> bool:
    """Whether a chat request demands JSON, by its response format or in the words of a message."""
    wanted = body.get("response_format")
    if isinstance(wanted, dict) and wanted.get("type") in ("json_object", "json_schema"):
        return True
    messages = body.get("messages")
    return isinstance(messages, list) and "json" in json.dumps(messages).lower()


def text_of(response: str) -> str:
    """The reply in a chat completion, with its calls of tools as JSON; the whole response if it has another form."""
    message = _message(response)
    if message is None:
        return response
    called = message.get("tool_calls")
    return _content(message) + (json.dumps(called) if called else "")


def holds_json(response: str) -> bool:
    """Whether the reply calls a tool or has JSON in it: alone, in a code fence, or an object or a list among words."""
    message = _message(response)
    if message is None:
        return False
    if message.get("tool_calls"):
        return True
    text = _content(message).strip()
    spans = [text, *(text[text.find(first) : text.rfind(last) + 1] for first, last in ("{}", "[]"))]
    return any(map(_is_json, spans))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def tokens_of(response: str) -> tuple[int, int]:
    """Tokens of the prompt and of the reply, as the response reports them; 0 where it does not."""
    body = _object(response)
    usage = body.get("usage") if body else None
    if not isinstance(usage, dict):
        return 0, 0
    return _count(usage, "prompt_tokens", "input_tokens"), _count(usage, "completion_tokens", "output_tokens")


def streamed(response: str) -> bytes:
    """Turn a chat completion into the events of a stream that says all of it at once."""
    body = _object(response) or {}
    chunk = {**body, "object": "chat.completion.chunk", "choices": []}
    for choice in _objects(body.get("choices")):
        message = choice.get("message")
        delta = dict(message) if isinstance(message, dict) else {}
        calls = [{"index": i, **call} for i, call in enumerate(_objects(delta.get("tool_calls")))]
        delta |= {"tool_calls": calls} if calls else {}
        finish = choice.get("finish_reason")
        chunk["choices"].append({"index": choice.get("index", 0), "delta": delta, "finish_reason": finish})
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()


def _objects(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _content(message: Mapping[str, Any]) -> str:
    """The text of a message, which may come in parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in _objects(content)]
    return "".join(part for part in parts if isinstance(part, str)) or (json.dumps(content) if content else "")


def _object(response: str) -> dict[str, Any] | None:
    try:
        body = json.loads(response)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def _message(response: str) -> dict[str, Any] | None:
    body = _object(response) or {}
    try:
        message = body["choices"][0]["message"]
    except (LookupError, TypeError):
        return None
    return message if isinstance(message, dict) else None


def _count(usage: Mapping[str, Any], *names: str) -> int:
    for name in names:
        if type(usage.get(name)) is int and usage[name] >= 0:
            return int(usage[name])
    return 0
