"""What goes into vLLM's engine with one prompt, and what comes out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.models.ending import as_answered
from epbench.models.protocol import Reply, Request, Usage
from epbench.models.reasoning import split_reasoning

LabelIds = Mapping[str, Sequence[int]]
"""By label, the ids of the tokens that spell it."""


def refusals() -> tuple[type[Exception], ...]:
    """Return the exceptions by which vLLM refuses what it was asked for; the engine goes on running."""
    try:
        from vllm.exceptions import VLLMClientError  # type: ignore[import-not-found]
    except ImportError:  # older versions raise a ValueError
        return (ValueError,)
    return ValueError, VLLMClientError


def answer_tokens(request: Request) -> int:
    """Return the largest number of tokens that will be generated."""
    return 1 if request.labels else request.sampling.max_tokens


def sampling_params(request: Request, label_ids: LabelIds) -> Any:
    """Make vLLM's `SamplingParams` for a request.

    Args:
        request: what is to be answered.
        label_ids: the token ids of each of its labels.
    """
    from vllm import SamplingParams  # type: ignore[import-not-found]
    from vllm.sampling_params import (  # type: ignore[import-not-found]
        RequestOutputKind,
        StructuredOutputsParams,
    )

    more: dict[str, Any] = {}
    if request.labels:
        # For the first token of the answer, over the whole vocabulary; `prompt_logprobs` would bypass the cache.
        more["logprob_token_ids"] = [token for label in request.labels for token in label_ids[label]]
    elif request.schema is not None:
        more["structured_outputs"] = StructuredOutputsParams(json=dict(request.schema))
    return SamplingParams(
        temperature=request.sampling.temperature,
        seed=request.sampling.seed + request.repeat,  # with one seed for all, every repeat would draw the same
        max_tokens=answer_tokens(request),
        skip_special_tokens=False,  # tags of reasoning may be special tokens: dropped only after reasoning has been split off
        output_kind=RequestOutputKind.FINAL_ONLY,
        **more,
    )


def read_output(
    request: Request, key: str, output: Any, label_ids: LabelIds, *, opening: str, specials: Sequence[str]
) -> Reply:
    """Read the reply in a finished `RequestOutput`; it is a failure if there is no answer in it.

    Args:
        request: the request that was answered.
        key: the key of the request.
        output: what the engine returned.
        label_ids: the token ids of each label.
        opening: the tag of a block of reasoning that the prompt has opened, or "".
        specials: special tokens, which are left out of the text.
    """
    made = output.outputs[0]
    usage = Usage(len(output.prompt_token_ids), output.num_cached_tokens or 0, len(made.token_ids))
    if made.finish_reason not in ("stop", "length"):
        return Reply(key, request.id, failure=f"vLLM ended the answer: {made.finish_reason}", usage=usage)
    probabilities = None
    if request.labels:
        first = made.logprobs[0]
        probabilities = {
            label: min(1.0, math.fsum(math.exp(first[token].logprob) for token in label_ids[label]))
            for label in request.labels
        }
    reasoning, answer = (_without(part, specials) for part in split_reasoning(opening + made.text))
    reply = Reply(key, request.id, answer, reasoning, probabilities=probabilities, usage=usage)
    return as_answered(request, reply, cut=made.finish_reason == "length")


def _without(text: str, specials: Sequence[str]) -> str:
    for special in specials:
        text = text.replace(special, "")
    return text.strip()
