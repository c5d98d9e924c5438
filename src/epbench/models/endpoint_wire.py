"""What goes to an OpenAI-compatible endpoint and what comes back: chat completions as plain JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from epbench.models.protocol import Reply, Request, Usage
from epbench.models.reasoning import split_reasoning

TOP_LOGPROBS = 20  # the most that the API allows


_REFUSED = re.compile(r"unsupported|not supported?|not allowed|unrecognized|unknown", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """What an endpoint wants said in another way; found out by what it refuses.

    Attributes:
        max_tokens: name of that field; OpenAI's newer models know `max_completion_tokens` only.
        without: fields that it does not take, of temperature, seed and logprobs.
    """

    max_tokens: str = "max_tokens"
    without: frozenset[str] = frozenset()

    def learned(self, reason: str) -> Dialect:
        """The dialect after a refusal for this reason; the same where the reason is another one."""
        if self.max_tokens == "max_tokens" and "max_completion_tokens" in reason:
            return replace(self, max_tokens="max_completion_tokens")
        if not _REFUSED.search(reason):
            return self
        named = {field for field in ("temperature", "seed", "logprobs") if re.search(rf"\b{field}\b", reason)}
        return replace(self, without=self.without | named)


def chat_body(request: Request, model: str, dialect: Dialect | None = None) -> dict[str, Any]:
    """Body of POST /chat/completions; requests of one context agree in all bytes before their questions.

    The API has no place for the start of an answer, `request.answer_start`.
    """
    messages = [{"role": "system", "content": request.system}] if request.system else []
    dialect = dialect or Dialect()
    body: dict[str, Any] = {
        "model": model,
        "messages": [*messages, {"role": "user", "content": request.user}],
        "temperature": request.sampling.temperature,
        dialect.max_tokens: request.sampling.max_tokens,
        "seed": request.sampling.seed + request.repeat,  # with one seed for all, every repeat would draw the same
    }
    if request.schema is not None:
        schema = {"name": "answer", "schema": request.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.labels:
        body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    left_out = dialect.without | ({"top_logprobs"} if "logprobs" in dialect.without else set())
    return {field: value for field, value in body.items() if field not in left_out}


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

    A label that is not among the most probable tokens that the endpoint lists has 0. None where no label is wanted,
    the endpoint gives no probabilities, or the answer does not begin with a label: "The answer is B" says nothing by
    its first token.
    """
    try:
        first = logprobs["content"][0]
        tokens = {token["token"]: float(token["logprob"]) for token in [*(first.get("top_logprobs") or []), first]}
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    if first["token"].strip() not in labels:
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
