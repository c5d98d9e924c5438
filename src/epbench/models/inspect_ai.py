"""A model behind a provider of inspect_ai: Anthropic, Google, Bedrock, Azure, Mistral, a local server, a class of your own."""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput, RunFailed
from epbench.files.secrets import keep_secret, secrets_of, without_secrets
from epbench.files.text import whole
from epbench.models.controls import AS_IT_IS, Controls, refuse_controls
from epbench.models.openai.model import Deliver, RemoteModel, check_numbers
from epbench.models.openai.wire import CHARACTERS_PER_TOKEN, TOP_LOGPROBS, label_probabilities, user_message
from epbench.models.protocol import Reply, Request, Usage, by_context
from epbench.models.replies import as_answered, split_reasoning

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelAPI, ModelOutput, ModelUsage

log = logging.getLogger(__name__)
MOST_OPEN = 64
"""Requests that wait for their replies at most; inspect_ai itself sends fewer at once, as it finds out what is good."""
MOST_GIVEN_UP = 8
"""Requests in a row without any reply, after which the others would fail as well."""

_RETRIES = 4
_REFUSED = (400, 422)  # HTTP statuses of a request that says something that the provider does not know
_WITH_WEIGHTS = ("hf", "vllm", "sglang", "transformer_lens", "nnterp", "llama-cpp-python")


class InspectModel(RemoteModel):
    """A model of inspect_ai, which paces the requests and repeats those that fail for a while.

    The first request of a context goes alone, so that a provider's prefix cache is warm for the others.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        window: int | None = None,
        timeout_s: float = 300.0,
        controls: Controls = AS_IT_IS,
        batch: bool = False,
    ) -> None:
        """
        `name` is provider and model, as inspect_ai names them, such as `anthropic/claude-sonnet-4-0`. The key is in the
        variable that the provider reads. `base_url` and `window` are by default the provider's own, and what inspect_ai knows of
        the model. `timeout_s` is for one attempt at one request. `batch` asks the provider's batch API, where inspect_ai knows
        it; a batch is submitted anew if the process was killed. `BadInput` if the name is no provider and model, the provider's
        library or key is missing, or a value is out of its range.
        """
        keep_secret(base_url)
        provider, _, model = name.partition("/")
        if not provider or not model:
            raise BadInput(
                f"inspect:{name}: expected a provider and a model, such as inspect:anthropic/claude-sonnet-4-0"
            )
        check_numbers(f"inspect:{name}", timeout_s, window=window)
        refuse_controls(f"inspect:{name}", controls)
        self.name = f"inspect:{name}{controls.mark}"
        self._controls, self._batch = controls, batch
        self._target, self._base_url, self._window, self._timeout_s = name, base_url, window, timeout_s
        self._local = provider in _WITH_WEIGHTS
        self._plain = False  # whether the provider has refused what few of them know: a schema, probabilities
        self._given_up = 0
        if self._local:
            import inspect_ai.model  # noqa: F401  # its models with weights are loaded with the first request
        else:
            self._provided()

    @property
    def address(self) -> str:
        """See `address_of`; without a given one it is that of the variable that the provider reads."""
        kind, service, *_ = self._target.split("/")
        variable = f"{service if kind == 'openai-api' else kind}_base_url".upper().replace("-", "_")
        return without_secrets(self._base_url or os.environ.get(variable, "")).rstrip("/")

    def window(self) -> int | None:
        """Return the given window, else the one that inspect_ai knows of the model; None if there is none."""
        if self._window or self._local:
            return self._window
        from inspect_ai.model import get_model_info

        try:
            info = get_model_info(self._target)
        except Exception:  # whatever happens, an unknown window is no reason to stop
            return None
        return info.context_length if info else None

    def _secrets(self) -> Iterable[str]:
        return secrets_of(self._base_url)

    def _provided(self) -> Model:
        """A model of inspect_ai of its own for each batch, as its connections belong to one event loop."""
        from inspect_ai.model import GenerateConfig, get_model
        from rich.text import Text

        # A batch may take a day, and so has no limit of time.
        how: dict[str, Any] = {"batch": True} if self._batch else {"attempt_timeout": math.ceil(self._timeout_s)}
        config = GenerateConfig(max_retries=_RETRIES, **how)
        try:
            model = get_model(self._target, base_url=self._base_url, config=config, memoize=False)
        except Exception as error:  # of inspect_ai, or of a provider's library
            raise BadInput(f"model {self.name}: {self._clean(Text.from_markup(str(error)).plain)}") from None
        estimate_text_tokens(model.api, model.api)
        return model

    async def _answer_all(self, requests: Sequence[Request], deliver: Deliver) -> None:
        slots = asyncio.Semaphore(len(requests) if self._batch else MOST_OPEN)  # a batch takes all of them

        async def answer_one(model: Model, request: Request) -> None:
            reply = await self._reply(model, request)
            deliver(reply, slots.release)
            self._check_outage(reply)

        async with self._provided() as model, asyncio.TaskGroup() as tasks:
            for group in by_context(requests):
                if len(group) > 1 and not self._batch:
                    await slots.acquire()
                    await answer_one(model, group.pop(0))
                for request in group:
                    await slots.acquire()
                    tasks.create_task(answer_one(model, request))

    async def _reply(self, model: Model, request: Request) -> Reply:
        """The reply, or a failure with the reason."""
        key = request.key(self.identity)
        try:
            try:
                output = await self._output(model, request)
            except Exception as error:
                special = request.schema is not None or request.labels
                if self._plain or not special or getattr(error, "status_code", None) not in _REFUSED:
                    raise
                output = await self._output(model, request, plain=True)
                self._plain = True
                log.warning("%s takes no schema or gives no probabilities: %s", self.name, self._clean(f"{error}"))
        except Exception as error:
            return Reply(key, request.id, failure=self._clean(f"{error}" or type(error).__name__))
        reply = replace(read_output(output, request, key), served=output.model)
        return self._cleaned(reply, self._target, self._target.partition("/")[2])

    async def _output(self, model: Model, request: Request, *, plain: bool = False) -> ModelOutput:
        from inspect_ai.log import Transcript
        from inspect_ai.log._transcript import init_transcript
        from inspect_ai.model import ChatMessageSystem, ChatMessageUser

        init_transcript(Transcript())  # of this task alone, or the events of all requests would stay in memory
        request = self._controls.with_system(request)
        config = asked_for(request, plain=plain or self._plain, controls=self._controls)
        system: list[ChatMessage] = [ChatMessageSystem(content=whole(request.system))] if request.system else []
        # A prompt that wants JSON says so, as not every provider can enforce it.
        user = ChatMessageUser(content=user_message(request, json_by_prompt=request.schema is not None))
        return await model.generate([*system, user], cache=False, config=config)

    def _check_outage(self, reply: Reply) -> None:
        lost = reply.failure is not None and reply.ended == "stop"
        self._given_up = self._given_up + 1 if lost else 0
        if self._given_up >= MOST_GIVEN_UP:
            self._given_up = 0
            raise RunFailed(
                f"{self.name}: {MOST_GIVEN_UP} requests in a row got no answer, the last: {reply.failure}; all answers so "
                "far are kept: start the run again when the provider works"
            )


def estimate_text_tokens(api: ModelAPI, showing: Any) -> None:
    """Have a provider estimate tokens where it would load a tokenizer from the network, as only mock models do."""
    from inspect_ai.model import ModelAPI

    async def count_text_tokens(text: str) -> int:
        return -(-len(text) // CHARACTERS_PER_TOKEN)

    if type(api).count_text_tokens is ModelAPI.count_text_tokens:
        showing.count_text_tokens = count_text_tokens


_CONTROLS = {"thinking_budget": "reasoning_tokens", "stop": "stop_seqs"} | {
    name: name for name in ("reasoning_effort", "extra_body", "top_p", "top_k")
}
"""By control, its name in inspect_ai's `GenerateConfig`."""


def asked_for(request: Request, *, plain: bool = False, controls: Controls = AS_IT_IS) -> GenerateConfig:
    """Return how an answer is to be drawn, without schema and probabilities if `plain`; `BadInput` if a control is wrong."""
    from inspect_ai.model import GenerateConfig, ResponseSchema
    from inspect_ai.util import JSONSchema

    sampling = request.sampling
    more = {_CONTROLS[name]: value for name, value in controls.given.items() if name in _CONTROLS}
    drawn = {"max_tokens": sampling.max_tokens, "temperature": sampling.temperature}
    try:
        config = GenerateConfig.model_validate({**drawn, "seed": sampling.seed + request.repeat, **more})
    except ValueError as error:  # pydantic names the field and what it may be
        raise BadInput(f"controls of an inspect: model: {' '.join(str(error).split())}") from None
    if request.schema is not None and not plain:
        schema = JSONSchema.model_validate(request.schema)
        config.response_schema = ResponseSchema(name="answer", json_schema=schema, strict=True)
    if request.labels and not plain:
        config.logprobs, config.top_logprobs = True, TOP_LOGPROBS
    return config


def read_output(output: ModelOutput, request: Request, key: str) -> Reply:
    """Read the reply in an output; it is a failure if there is no answer in it."""
    if output.error:
        return Reply(key, request.id, failure=" ".join(whole(output.error).split()))
    if not output.choices:
        return Reply(key, request.id, failure="the reply is empty", ended="empty")
    choice = output.choices[0]
    thoughts, answer = split_reasoning(whole(output.completion))
    parts = [] if isinstance(choice.message.content, str) else choice.message.content
    apart = [whole(part.reasoning) for part in parts if part.type == "reasoning"]
    reasoning = "\n\n".join(part for part in (*apart, thoughts) if part)
    found = label_probabilities(request.labels, choice.logprobs.model_dump() if choice.logprobs else None)
    reply = Reply(key, request.id, answer, reasoning, probabilities=found, usage=_usage(output.usage))
    if choice.stop_reason == "content_filter":  # of the provider, or a refusal of the model itself: both look the same
        return replace(reply, failure="the model refused to answer, or a filter stopped it", ended="content_filter")
    thought = bool(output.usage and output.usage.reasoning_tokens)
    return as_answered(request, reply, cut=choice.stop_reason in ("max_tokens", "model_length"), thought=thought)


def _usage(usage: ModelUsage | None) -> Usage:
    """Tokens as we count them: those of the prompt include what came from a cache."""
    if usage is None:
        return Usage()
    cached = usage.input_tokens_cache_read or 0
    prompt = usage.input_tokens + cached + (usage.input_tokens_cache_write or 0)
    return Usage(prompt, cached, usage.output_tokens, usage.reasoning_tokens or 0)
