"""What is sent to an OpenAI-compatible endpoint and what it answers: chat completions as plain JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from epbench.models.ending import as_answered
from epbench.models.openai.dialect import Dialect
from epbench.models.protocol import Reply, Request, Usage, whole
from epbench.models.reasoning import split_reasoning

TOP_LOGPROBS = 20  # the most that the API allows
_MOST_TOKENS = 10**9  # in one request; no model has such a window
_MOST_DIGITS = 300  # in a number; Python refuses to read integers of more than 4,300 digits

_CUT = frozenset(["length", "max_tokens", "model_length"])  # OpenAI and most others, Anthropic, Mistral
_BROKEN = frozenset(["error", "abort"])  # OpenRouter and Mistral, vLLM
_JSON_PLEASE = "Answer with one JSON object."


class NoJson(ValueError):
    """A response with status 200 that is not JSON, such as a proxy's page. The same request may succeed later."""


class NoCompletion(Exception):
    """A response with status 200 and JSON that is not a chat completion. The same request would get the same."""


class ReplyTooLarge(Exception):
    """A response whose body is larger than a reply may be. The same request may cost as much again, so it is not sent."""


def chat_body(request: Request, model: str, dialect: Dialect | None = None) -> dict[str, Any]:
    """Write the body of POST /chat/completions; requests with one context agree in all bytes before their questions.

    The API has no place for the start of an answer, `request.answer_start`. If an endpoint takes no schema, the prompt
    asks for JSON, in an extra line if it does not do so already, because OpenAI refuses `json_object` without it.
    """
    messages = [{"role": "system", "content": whole(request.system)}] if request.system else []
    dialect = dialect or Dialect()
    user = whole(request.user)
    unheld = request.schema is not None and dialect.answer_format != "json_schema"
    if unheld and "json" not in f"{request.system} {user}".lower():
        user += f"\n\n{_JSON_PLEASE}"
    body: dict[str, Any] = {
        "model": model,
        "messages": [*messages, {"role": "user", "content": user}],
        "temperature": request.sampling.temperature,
        dialect.max_tokens: request.sampling.max_tokens,
        "seed": request.sampling.seed + request.repeat,  # with one seed for all, every repeat would draw the same
    }
    if request.schema is not None and dialect.answer_format == "json_object":
        body["response_format"] = {"type": "json_object"}
    elif request.schema is not None and dialect.answer_format == "json_schema":
        schema = {"name": "answer", "schema": request.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    if request.labels:
        body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    left_out = dialect.without | ({"top_logprobs"} if "logprobs" in dialect.without else set())
    return {field: value for field, value in body.items() if field not in left_out}


def read_chat(text: str, request: Request, key: str) -> Reply:
    """Read the reply in the body of a response with status 200; it is a failure if there is no answer in it.

    An answer that was paid for is not lost because of odd parts beside it. Token counts in an odd form, such as negative
    numbers or words, count as unknown, which is 0. Probabilities, refusals, reasoning and names of models in an unknown
    form are ignored.

    Raises:
        NoJson: the body is not JSON, such as a proxy's page or a torn body; the message quotes it.
        NoCompletion: the body is not a chat completion; the message quotes it.
    """
    try:
        body = json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError):
        raise NoJson(f"the answer is no JSON: {text or 'it is empty'}") from None
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content = message.get("content")
        refusal = _beside(message.get("refusal")) or _text(content, "refusal")
        apart = _beside(message.get("reasoning_content")) or _beside(message.get("reasoning"))
        reasoning, answer = split_reasoning(_text(content))
        reply = Reply(
            key,
            request.id,
            answer,
            reasoning="\n\n".join(part for part in (apart, reasoning) if part),
            probabilities=label_probabilities(request.labels, choice.get("logprobs")),
            usage=_usage(body.get("usage")),
            served=_beside(body.get("model")),
        )
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
    return as_answered(request, reply, cut=ended in _CUT, thought=_thought(body.get("usage")))


def label_probabilities(labels: Sequence[str], logprobs: Any) -> dict[str, float] | None:
    """Return the probability of each label as the first token, adding up its spellings (`A`, ` A`).

    A label that is not among the most probable tokens listed by the endpoint has 0. The result is None if no label is
    wanted, the endpoint lists no probabilities, or the answer does not begin with a label: the first token of "The
    answer is B" says nothing.
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


def _beside(value: Any) -> str:
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
    prompt = _count(usage.get("prompt_tokens"))
    return Usage(
        prompt=prompt,
        cached=min(prompt, _detail(usage, "prompt_tokens_details", "cached_tokens")),
        completion=_count(usage.get("completion_tokens")),
    )


def _thought(usage: Any) -> bool:
    """Whether tokens were used for reasoning that the endpoint does not show."""
    return isinstance(usage, Mapping) and _detail(usage, "completion_tokens_details", "reasoning_tokens") > 0


def _detail(usage: Mapping[str, Any], details: str, name: str) -> int:
    found = usage.get(details)
    return _count(found.get(name)) if isinstance(found, Mapping) else 0


def _count(value: Any) -> int:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if number and 0 < value <= _MOST_TOKENS else 0
