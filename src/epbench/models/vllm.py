"""A model that vLLM, which is an extra, runs in this process: a long context that questions share is computed once."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, count, islice
from typing import Any

from epbench.errors import BadInput, RunFailed, install_hint
from epbench.files.json_files import read_json
from epbench.files.typed import Whole, fields
from epbench.models.controls import AS_IT_IS, Controls
from epbench.models.hf.model import LocalModel, Variant
from epbench.models.protocol import Reply, Request, Usage, by_context, packed, too_long

log = logging.getLogger(__name__)

_OPEN = 512  # requests handed to the engine: as many as it runs at one time, and some that wait; each holds its prompt
_LONGEST_REASON = 400  # characters


class VllmModel(LocalModel):
    """A model on vLLM's offline engine, with prefix caching."""

    def __init__(
        self,
        path_or_id: str,
        *,
        tensor_parallel: int = 1,
        dtype: str = "auto",
        max_model_len: int | None = None,
        engine_args: Mapping[str, Any] | None = None,
        revision: str | None = None,
        adapter: str | None = None,
        controls: Controls = AS_IT_IS,
    ) -> None:
        """
        `path_or_id` and `revision` are as for `TransformersModel`. `tensor_parallel` is the number of GPUs, at least 1. `dtype`
        is that of weights and activations; `auto` is float32 on a CPU, else what vLLM chooses. `max_model_len` is how many
        tokens prompt and answer may have together, by default the model's window; fewer need less memory. `engine_args` are
        further arguments for vLLM's `LLM`, such as `gpu_memory_utilization`. `adapter` is a LoRA adapter that peft has saved.
        `BadInput` if a number is out of its range, or there is a control that vLLM does not have.
        """
        for argument, value in (("tensor_parallel", tensor_parallel), ("max_model_len", max_model_len)):
            if value is not None and value < 1:
                raise BadInput(f"{argument}: expected at least 1, got {value}")
        super().__init__("vllm", path_or_id, dtype, revision, adapter, controls)
        self.given_window = max_model_len
        self._engine_args: dict[str, Any] = {
            "enable_prefix_caching": True,
            "trust_remote_code": False,  # no code from the model's folder is run
            # Weak models that may put white space between two keys write nothing else until their tokens are used up.
            "structured_outputs_config": {"backend": "guidance", "disable_any_whitespace": True},
            **(engine_args or {}),
            "tensor_parallel_size": tensor_parallel,
        }
        self._numbers = count()
        self._cached = self._repeated = 0

    @property
    def hit_rate(self) -> float | None:
        """The share, 0 to 1, of cached tokens in all prompts after the first of their context; None without such prompts."""
        return self._cached / self._repeated if self._repeated else None

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`. Closing the generator takes open requests out of the engine.

        `BadInput` if the engine cannot start with these arguments, or a label is not one token; `RunFailed` if it did not
        start, or stopped.
        """
        if not requests:
            return
        # Short contexts share a batch, as one after the other they would leave the engine idle.
        for groups in packed(by_context(requests), lambda group: len(self.prompts.ids(group[0])), self._room()):
            yield from self._answer_batch([group[0] for group in groups], repeated=False)
            yield from self._answer_batch([request for group in groups for request in group[1:]], repeated=True)
        if self.hit_rate is not None:
            log.info("%s: %.1f %% of the repeated prompt tokens came from the cache", self.name, 100 * self.hit_rate)

    @cached_property
    def _llm(self) -> Any:
        window = self.window()  # reports an unreadable model before the slow import of vLLM
        os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")  # standard output is for results
        try:
            from vllm import LLM  # type: ignore[import-not-found]
            from vllm.platforms import current_platform  # type: ignore[import-not-found]
        except ImportError as error:
            raise BadInput(f"model {self.name} needs vLLM ({error}); {install_hint('vllm')}") from None
        # vLLM's own choice on a CPU is 16 bits, with which a small model may answer differently.
        dtype = "float32" if self.dtype == "auto" and current_platform.is_cpu() else self.dtype
        try:
            more = variant_arguments(self.variant) | self._engine_args
            return LLM(model=self.variant.path, max_model_len=window, dtype=dtype, **more)
        except Exception as error:
            if isinstance(error, (*refusals(), TypeError, OSError)):  # a bad argument, too little memory
                raise BadInput(f"{self.name}: vLLM cannot start: {_reason(error)}") from error
            # What fails in the engine's own process arrives here without a reason.
            advice = "see its log above; if memory is short, a smaller window or more GPUs help"
            raise RunFailed(f"{self.name}: vLLM did not start: {_reason(error)} ({advice})") from error

    def _room(self) -> int:
        """Return how many tokens of contexts to keep at one time: half of the cache; questions and answers take the rest."""
        cache = self._llm.llm_engine.vllm_config.cache_config
        tokens = getattr(cache, "kv_cache_size_tokens", None) or (cache.num_gpu_blocks or 0) * cache.block_size
        return int(tokens) // 2

    def _answer_batch(self, requests: Sequence[Request], *, repeated: bool) -> Iterator[Reply]:
        """Do what `LLM.generate` does, but yield each reply as soon as it is there, so that a kill does not lose them all."""
        engine = self._llm.llm_engine
        waiting = iter(requests)
        running: dict[str, Request] = {}
        try:
            while True:
                taken = list(islice(waiting, _OPEN - len(running)))
                for request in taken:
                    ids, number = self.prompts.ids(request), str(next(self._numbers))
                    failure = self._submit(number, request, ids)
                    if failure is None:
                        running[number] = request
                    else:
                        yield Reply(request.key(self.identity), request.id, failure=failure, usage=Usage(len(ids)))
                if not taken and not running:
                    return
                for output in self._finished() if running else ():
                    reply = self._read(running.pop(output.request_id), output)
                    if repeated:
                        self._cached += reply.usage.cached
                        self._repeated += reply.usage.prompt
                    yield reply
        finally:
            if running:
                engine.abort_request(list(running))

    def _submit(self, number: str, request: Request, ids: list[int]) -> str | None:
        """Hand one request to the engine; return the reason if that is not possible."""
        most = 1 if request.labels else request.sampling.max_tokens
        if why := too_long(len(ids), most, self.window()):
            return why
        params, lora = self._params(request, most), None
        if (folder := self.variant.adapter_folder) is not None:
            from vllm.lora.request import LoRARequest  # type: ignore[import-not-found]

            lora = LoRARequest("adapter", 1, str(folder.resolve()))
        try:
            self._llm.llm_engine.add_request(number, {"prompt_token_ids": ids}, params, lora_request=lora)
        except refusals() as error:  # such as a schema that the engine does not support
            return f"vLLM refuses the request: {_reason(error)}"
        return None

    def _finished(self) -> list[Any]:
        """Do one step of the engine and return the requests that it finished."""
        try:
            return [output for output in self._llm.llm_engine.step() if output.finished]
        except Exception as error:  # the engine is dead then and can answer no other request
            raise RunFailed(f"{self.name}: vLLM stopped: {_reason(error)}") from error

    def _params(self, request: Request, most: int) -> Any:
        """Make vLLM's `SamplingParams` for a request of which at most so many tokens are generated."""
        from vllm import SamplingParams  # type: ignore[import-not-found]
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams  # type: ignore[import-not-found]

        limits = ("top_p", "top_k", "min_p", "repetition_penalty", "stop")
        more: dict[str, Any] = {name: value for name, value in self.controls.given.items() if name in limits}
        if request.labels:
            # For the first token of the answer, over the whole vocabulary; `prompt_logprobs` would bypass the cache.
            more["logprob_token_ids"] = list(chain(*self.prompts.label_ids(request.labels).values()))
        elif request.schema is not None:
            more["structured_outputs"] = StructuredOutputsParams(json=dict(request.schema))
        return SamplingParams(
            temperature=request.sampling.temperature,
            seed=request.sampling.seed + request.repeat,  # with one seed for all, every repeat would draw the same
            max_tokens=most,
            skip_special_tokens=False,  # tags of reasoning may be special tokens: dropped only after it has been split off
            output_kind=RequestOutputKind.FINAL_ONLY,
            **more,
        )

    def _read(self, request: Request, output: Any) -> Reply:
        """Read the reply in a finished `RequestOutput`; it is a failure if there is no answer in it."""
        completion = output.outputs[0]
        usage = Usage(len(output.prompt_token_ids), output.num_cached_tokens or 0, len(completion.token_ids))
        if completion.finish_reason not in ("stop", "length"):
            why = f"vLLM ended the answer: {completion.finish_reason}"
            return Reply(request.key(self.identity), request.id, failure=why, usage=usage)
        probabilities = None
        if request.labels:
            first = completion.logprobs[0]
            probabilities = {
                label: min(1.0, math.fsum(math.exp(first[token].logprob) for token in ids))
                for label, ids in self.prompts.label_ids(request.labels).items()
            }
        cut = completion.finish_reason == "length"
        return self._replied(request, completion.text, usage, probabilities, cut=cut)


def _reason(error: Exception) -> str:
    reason = " ".join(str(error).split()) or type(error).__name__
    return reason if len(reason) <= _LONGEST_REASON else reason[: _LONGEST_REASON - 1] + "…"


_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # those that vLLM has memory layouts for
_CONFIG = fields({"peft_type": str, "r": Whole})


def variant_arguments(variant: Variant) -> dict[str, Any]:
    """Return arguments for vLLM's `LLM`; `BadInput` if the adapter is not LoRA, or of a higher rank than vLLM takes."""
    more: dict[str, Any] = {}
    if variant.commit:
        more |= {"revision": variant.commit, "tokenizer_revision": variant.commit}
    if (folder := variant.adapter_folder) is not None:
        config = read_json(folder / "adapter_config.json", _CONFIG)
        if config["peft_type"] != "LORA":
            raise BadInput(f"adapter {folder}: vLLM takes LoRA adapters only, found {config['peft_type']}")
        if (rank := next((rank for rank in _RANKS if config["r"] <= rank), None)) is None:
            raise BadInput(f"adapter {folder}: vLLM takes ranks up to {_RANKS[-1]}, found {config['r']}")
        more |= {"enable_lora": True, "max_loras": 1, "max_lora_rank": rank}
    return more


def refusals() -> tuple[type[Exception], ...]:
    """Return the exceptions by which vLLM refuses what it was asked for; the engine goes on running."""
    try:
        from vllm.exceptions import VLLMClientError  # type: ignore[import-not-found]
    except ImportError:  # older versions raise a ValueError
        return (ValueError,)
    return ValueError, VLLMClientError
