"""What a model of inspect_ai is asked, and what its output stands for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from epbench.models.ending import as_answered
from epbench.models.openai.wire import TOP_LOGPROBS, label_probabilities
from epbench.models.protocol import Reply, Request, Usage, whole
from epbench.models.reasoning import split_reasoning

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, ModelUsage

_CUT = ("max_tokens", "model_length")
_JSON_PLEASE = "Answer with one JSON object."


def messages_for(request: Request) -> list[ChatMessage]:
    """Return the messages of a request; a prompt that wants JSON says so, as not every provider can enforce it."""
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser

    user = whole(request.user)
    if request.schema is not None and "json" not in f"{request.system} {user}".lower():
        user += f"\n\n{_JSON_PLEASE}"
    system: list[ChatMessage] = [ChatMessageSystem(content=whole(request.system))] if request.system else []
    return [*system, ChatMessageUser(content=user)]


def asked_for(request: Request, *, plain: bool = False) -> GenerateConfig:
    """Return how an answer is to be drawn; a provider leaves out what it does not know, or refuses the request.

    Args:
        request: The request.
        plain: Whether to ask for neither a schema nor probabilities.
    """
    from inspect_ai.model import GenerateConfig, ResponseSchema
    from inspect_ai.util import JSONSchema

    sampling = request.sampling
    config = GenerateConfig(
        max_tokens=sampling.max_tokens, temperature=sampling.temperature, seed=sampling.seed + request.repeat
    )
    if request.schema is not None and not plain:
        schema = JSONSchema.model_validate(request.schema)
        config.response_schema = ResponseSchema(name="answer", json_schema=schema, strict=True)
    if request.labels and not plain:
        config.logprobs, config.top_logprobs = True, TOP_LOGPROBS
    return config


def read_output(output: ModelOutput, request: Request, key: str) -> Reply:
    """Read the reply in an output; it is a failure if there is no answer in it.

    Args:
        output: What the model gave.
        request: The request that it answers.
        key: The key of the request.
    """
    if output.error:
        return Reply(key, request.id, failure=" ".join(whole(output.error).split()))
    if not output.choices:
        return Reply(key, request.id, failure="the reply is empty", ended="empty")
    choice = output.choices[0]
    thoughts, answer = split_reasoning(whole(output.completion))
    parts = [] if isinstance(choice.message.content, str) else choice.message.content
    apart = [whole(part.reasoning) for part in parts if part.type == "reasoning"]
    logprobs = choice.logprobs.model_dump() if choice.logprobs else None
    reply = Reply(
        key,
        request.id,
        answer,
        reasoning="\n\n".join(part for part in (*apart, thoughts) if part),
        probabilities=label_probabilities(request.labels, logprobs),
        usage=_usage(output.usage),
    )
    if choice.stop_reason == "content_filter":  # of the provider, or a refusal of the model itself: both look the same
        return replace(reply, failure="the model refused to answer, or a filter stopped it", ended="content_filter")
    thought = bool(output.usage and output.usage.reasoning_tokens)
    return as_answered(request, reply, cut=choice.stop_reason in _CUT, thought=thought)


def _usage(usage: ModelUsage | None) -> Usage:
    """Tokens as we count them: those of the prompt include what came from a cache."""
    if usage is None:
        return Usage()
    cached = usage.input_tokens_cache_read or 0
    return Usage(usage.input_tokens + cached + (usage.input_tokens_cache_write or 0), cached, usage.output_tokens)
