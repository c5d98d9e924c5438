"""What is sent to an OpenAI-compatible endpoint and what it answers: chat completions as plain JSON.

How an endpoint wants requests written is found out from what it refuses.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from epbench.files.text import whole
from epbench.models.controls import AS_IT_IS, Controls
from epbench.models.protocol import Reply, Request, Usage
from epbench.models.replies import as_answered, split_reasoning

ANSWER_FORMATS = ("json_schema", "json_object", "prompt")
"""The ways to ask for JSON, the most reliable first: under a schema, as any object, by the prompt alone."""

_REFUSED = re.compile(r"(?i)unsupported|not support|not (?:allowed|permitted)|forbidden|unrecognized|unknown")
_FORMAT = re.compile(r"(?i)response.?format|json.?schema|json.?object|\bschemas?\b|structured.?output|guided|grammar")
# Such an error may mention the schema among what makes the prompt long. Without a schema it would still be too long.
_TOO_LONG = re.compile(r"context.?(?:length|window|size)|too long|too many tokens|reduce the length", re.IGNORECASE)


@dataclass(frozen=True)
class Dialect:
    """How requests are written for one endpoint."""

    max_tokens: str = "max_tokens"  # the field that limits tokens; OpenAI's newer models know `max_completion_tokens`
    without: frozenset[str] = frozenset()  # those of temperature, seed and logprobs that the endpoint does not take
    answer_format: str = ANSWER_FORMATS[0]  # how JSON is asked for

    def learned(self, reason: str, *, with_format: bool = False) -> Dialect:
        """Return the dialect that avoids a refusal, given in the endpoint's words; the same if it has another reason.

        `with_format` says whether the refused request asked for JSON by `response_format`.
        """
        if self.max_tokens == "max_tokens" and "max_completion_tokens" in reason:
            return replace(self, max_tokens="max_completion_tokens")
        fields = ("temperature", "seed", "logprobs") if _REFUSED.search(reason) else ()
        named = {field for field in fields if re.search(rf"\b{field}\b", reason)} - self.without
        format_ = self.answer_format
        if with_format and not named and _FORMAT.search(reason) and not _TOO_LONG.search(reason):
            format_ = ANSWER_FORMATS[min(ANSWER_FORMATS.index(format_) + 1, len(ANSWER_FORMATS) - 1)]
        return replace(self, without=self.without | named, answer_format=format_)

    def joined(self, other: Dialect) -> Dialect:
        """Combine what two dialects have learned, because several open requests may be refused for one reason."""
        return Dialect(
            max(self.max_tokens, other.max_tokens, key=len),
            self.without | other.without,
            max(self.answer_format, other.answer_format, key=ANSWER_FORMATS.index),
        )


TOP_LOGPROBS = 20  # the most that the API allows
_MOST_TOKENS = 10**9  # in one request; no model has such a window
_MOST_DIGITS = 300  # in a number; Python refuses to read integers of more than 4,300 digits

_CUT = frozenset(["length", "max_tokens", "model_length"])  # OpenAI and most others, Anthropic, Mistral
_BROKEN = frozenset(["error", "abort"])  # OpenRouter and Mistral, vLLM
CHARACTERS_PER_TOKEN = 4
_JSON_PLEASE = "Answer with one JSON object."


class NoJson(ValueError):
    """A response with status 200 that is not JSON, such as a proxy's page. The same request may succeed later."""


class NoCompletion(Exception):
    """A response with status 200 and JSON that is not a chat completion. The same request would get the same."""


class ReplyTooLarge(Exception):
    """A response whose body is larger than a reply may be. The same request may cost as much again, so it is not sent."""


_PLAIN = ("top_p", "stop", "reasoning_effort", "top_k", "min_p", "repetition_penalty")


def chat_body(
    request: Request, model: str, dialect: Dialect | None = None, controls: Controls = AS_IT_IS
) -> dict[str, Any]:
    """Write the body of POST /chat/completions; requests with one context agree in all bytes before their questions.

    The API knows the controls top_p, stop and reasoning_effort; vLLM, SGLang, llama.cpp and most gateways take the others. It has
    no place for `request.answer_start`. If an endpoint takes no schema, the prompt asks for JSON, as `json_object` demands.
    """
    request, dialect = controls.with_system(request), dialect or Dialect()
    messages = [{"role": "system", "content": whole(request.system)}] if request.system else []
    unheld = request.schema is not None and dialect.answer_format != "json_schema"
    user = user_message(request, json_by_prompt=unheld)
    body: dict[str, Any] = {
        "model": model,
        "messages": [*messages, {"role": "user", "content": user}],
        "temperature": request.sampling.temperature,
        dialect.max_tokens: request.sampling.max_tokens,
        "seed": request.sampling.seed + request.repeat,  # with one seed for all, every repeat would draw the same
    }
    if request.schema is not None and dialect.answer_format != "prompt":
        schema = {"name": "answer", "schema": request.schema, "strict": True}
        body["response_format"] = {"type": dialect.answer_format} | ({} if unheld else {"json_schema": schema})
    if request.labels:
        body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    body |= {name: value for name, value in controls.given.items() if name in _PLAIN}
    if values := {k: v for k, v in controls.template_values.items() if k not in _PLAIN}:
        body["chat_template_kwargs"] = values
    body |= controls.extra_body
    left_out = dialect.without | ({"top_logprobs"} if "logprobs" in dialect.without else set())
    return {field: value for field, value in body.items() if field not in left_out}


def user_message(request: Request, *, json_by_prompt: bool) -> str:
    """Return the user message; if the prompt alone must ask for JSON, it does so in an extra line unless it already does."""
    user = whole(request.user)
    asks = not json_by_prompt or "json" in f"{request.system} {user}".lower()
    return user if asks else f"{user}\n\n{_JSON_PLEASE}"


def read_chat(text: str, request: Request, key: str) -> Reply:
    """Read the reply in the body of a response with status 200; it is a failure if there is no answer in it.

    An answer that was paid for is not lost because of odd parts beside it: token counts in an odd form count as unknown, which
    is 0, and others are ignored. `NoJson` and `NoCompletion`, which quote the body, if it is no JSON or no chat completion.
    """
    try:
        body = json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError):
        raise NoJson(f"the answer is no JSON: {text or 'it is empty'}") from None
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content = message.get("content")
        refusal = _text_or_empty(message.get("refusal")) or _text(content, "refusal")
        apart = _text_or_empty(message.get("reasoning_content")) or _text_or_empty(message.get("reasoning"))
        thoughts, answer = split_reasoning(_text(content))
        reasoning = "\n\n".join(part for part in (apart, thoughts) if part)
        found = label_probabilities(request.labels, choice.get("logprobs"))
        usage, served = _usage(body.get("usage")), _text_or_empty(body.get("model"))
        reply = Reply(key, request.id, answer, reasoning, probabilities=found, usage=usage, served=served)
        ended = choice.get("finish_reason")
        ended = ended.lower() if isinstance(ended, str) else ""
    except (KeyError, IndexError, TypeError, AttributeError):
        raise NoCompletion(f"the answer is no chat completion: {error_words(text)}") from None
    if refusal:
        return replace(reply, failure=f"the model refused to answer: {refusal}", ended="refusal")
    if ended == "content_filter":
        return replace(reply, failure="the endpoint's content filter stopped the answer", ended="content_filter")
    if ended in _BROKEN:
        return replace(reply, failure=f"the endpoint ended the answer: {ended}")
    return as_answered(request, reply, cut=ended in _CUT, thought=reply.usage.thinking > 0)


def label_probabilities(labels: Sequence[str], logprobs: Any) -> dict[str, float] | None:
    """Return the probability of each label as the first token, adding up its spellings (`A`, ` A`).

    A label that is not among the most probable tokens listed by the endpoint has 0. The result is None if no label is
    wanted, the endpoint lists no probabilities, or the answer does not begin with a label, as "The answer is B".
    """
    try:
        first = logprobs["content"][0]
        listed = [*(first.get("top_logprobs") or []), first]
        tokens = {token["token"].strip(): 0.0 for token in listed}
        for token, logprob in {token["token"]: float(token["logprob"]) for token in listed}.items():
            tokens[token.strip()] += math.exp(0.0 if logprob > 0 else logprob)
        if first["token"].strip() not in labels or math.isnan(sum(tokens.values())):
            return None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError):
        return None
    return {label: min(1.0, tokens.get(label, 0.0)) for label in labels}


def error_words(text: str) -> str:
    """Return the message in the body of an error, or the body itself if it has no known form."""
    try:
        body = json.loads(text, parse_int=_integer)
        error = body.get("error", body) if isinstance(body, Mapping) else body
        if isinstance(error, Mapping):
            error = error.get("message") or error.get("detail") or error
        return error if isinstance(error, str) else json.dumps(error)
    except (ValueError, RecursionError):
        return text


def _text(content: Any, kind: str = "text") -> str:
    """Join the parts of one kind in a list of parts; a plain string is one part of text."""
    if content is None or isinstance(content, str):
        return (content or "") if kind == "text" else ""
    return "".join(part[kind] for part in content if part.get("type") == kind)


def _text_or_empty(value: Any) -> str:
    """Return the text of a part that nothing depends on; "" if it has an unknown form."""
    try:
        return _text(value)
    except (KeyError, TypeError, AttributeError):
        return ""


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage()
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    cached = _count(usage.get("prompt_tokens_details"), "cached_tokens")
    thinking = _count(usage.get("completion_tokens_details"), "reasoning_tokens")
    return Usage(prompt, min(prompt, cached), completion, thinking)


def _count(counts: Any, name: str) -> int:
    value = counts.get(name) if isinstance(counts, Mapping) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0
    return int(value) if 0 < value <= _MOST_TOKENS else 0
