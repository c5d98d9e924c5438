"""What goes to an OpenAI-compatible endpoint and what comes back: chat completions as plain JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.models.protocol import Reply, Request, Usage
from epbench.models.reasoning import split_reasoning

TOP_LOGPROBS = 20  # the most that the API allows


def chat_body(request: Request, model: str, max_tokens_field: str = "max_tokens") -> dict[str, Any]:
    """Body of POST /chat/completions; requests of one context agree in all bytes before their questions."""
    messages = [{"role": "system", "content": request.system}] if request.system else []
    body: dict[str, Any] = {
        "model": model,
        "messages": [*messages, {"role": "user", "content": request.user}],
        "temperature": request.sampling.temperature,
        max_tokens_field: request.sampling.max_tokens,
        "seed": request.sampling.seed + request.repeat,  # with one seed for all, every repeat would draw the same
    }
    if request.schema is not None:
        schema = {"name": "answer", "schema": request.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.labels:
        body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    return body


def read_chat(text: str, request: Request, key: str) -> Reply:
    """The reply in the body of a response with status 200.

    Raises:
        ValueError: it is no JSON, or no chat completion; the message quotes it.
    """
    try:
        body = json.loads(text)
    except ValueError:
        raise ValueError(f"the answer is no JSON: {text or 'it is empty'}") from None
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content = _text(message.get("content") or message.get("refusal"))
        apart = _text(message.get("reasoning_content") or message.get("reasoning"))
        reasoning, answer = split_reasoning(content)
        return Reply(
            key,
            request.id,
            answer,
            reasoning="\n\n".join(part for part in (apart, reasoning) if part),
            probabilities=label_probabilities(request.labels, choice.get("logprobs")),
            usage=_usage(body.get("usage")),
        )
    except (KeyError, IndexError, TypeError, AttributeError):
        raise ValueError(f"the answer is no chat completion: {error_words(text)}") from None


def label_probabilities(labels: Sequence[str], logprobs: Any) -> dict[str, float] | None:
    """Probability of each label as the first token, all its spellings (`A`, ` A`) together.

    A label that is not among the most probable tokens that the endpoint lists has 0. None where no label is wanted or
    the endpoint gives no probabilities.
    """
    try:
        first = logprobs["content"][0]
        tokens = {token["token"]: float(token["logprob"]) for token in [*(first.get("top_logprobs") or []), first]}
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    if not labels:
        return None
    return {
        label: min(1.0, math.fsum(math.exp(logprob) for token, logprob in tokens.items() if token.strip() == label))
        for label in labels
    }


def error_words(text: str) -> str:
    """What the body of an error says, in the endpoint's words; the body itself where it has no known form."""
    try:
        body = json.loads(text)
    except ValueError:
        return text
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("detail") or error
    return error if isinstance(error, str) else json.dumps(error)


def _text(content: Any) -> str:
    """A text, or the text parts of a list of parts."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part["text"] for part in content if part.get("type") == "text")


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        prompt=int(usage.get("prompt_tokens") or 0),
        cached=int(details.get("cached_tokens") or 0),
        completion=int(usage.get("completion_tokens") or 0),
    )
