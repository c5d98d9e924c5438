"""Causal language models of transformers: a context is read once, and its questions are answered in batches."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput, reason_of
from epbench.models.controls import AS_IT_IS, Controls
from epbench.models.ending import as_answered, may_loop, split_reasoning, text_of_first_round
from epbench.models.hf.checkpoint import no_bars_in_a_log, torch_dtype
from epbench.models.hf.memory import refuse_large_weights
from epbench.models.hf.variant import LocalModel
from epbench.models.protocol import Reply, Request, Usage, too_long

if TYPE_CHECKING:
    from epbench.models.hf.likelihood import Likelihoods
    from epbench.models.hf.prefix_batches import Prompt
    from epbench.models.hf.shared_prefix import Completion, SharedPrefix

log = logging.getLogger(__name__)

_MOST_TOGETHER = 2**18  # tokens of the prompts that are written before the first of them is answered


class TransformersModel(LocalModel):
    """A model from a folder or the Hub, on this machine.

    Answers are greedy, or drawn from the whole distribution at the request's temperature, with random numbers that
    depend only on the request's seed, id and repeat. A greedy answer ends once it goes in circles. Penalties and limits
    in the model's own generation settings are ignored. A request's `schema` does not constrain what is generated; the
    caller checks the answer.

    `path_or_id` is the folder of the model, a GGUF file, `smollm2` for the model of an installed package, or a name on the Hub.
    `device` is a device of torch, or "auto" for CUDA if there is any (all devices), else the CPU. `dtype` is one of torch, or
    "auto": on CUDA bfloat16, or float16 if that is not supported; else float32. `batch_size` is the largest number of questions
    answered at one time, by default as many as fit in memory. `adapter` is put on top of the model; the tokenizer is the model's
    own. Of the controls, limits of what is drawn and a penalty of repetitions hold for answers in words, not for labels.

    Raises:
        BadInput: there is a control that these models do not have.
    """

    def __init__(
        self,
        path_or_id: str,
        *,
        device: str = "auto",
        dtype: str = "auto",
        batch_size: int | None = None,
        revision: str | None = None,
        adapter: str | None = None,
        controls: Controls = AS_IT_IS,
    ) -> None:
        super().__init__("hf", path_or_id, dtype, revision, adapter, controls)
        self.device, self.batch_size = device, batch_size

    @cached_property
    def reader(self) -> SharedPrefix:
        """The model with its weights, which the first use loads; `BadInput` if there are none, or no such device or dtype."""
        from epbench.models.hf.shared_prefix import SharedPrefix

        model = self._with_weights()
        ends = model.generation_config.eos_token_id
        ends = [ends] if isinstance(ends, int) else list(ends or [])
        end_id = self.prompts.tokenizer.eos_token_id
        ends += [] if end_id is None else [end_id]
        return SharedPrefix(model, ends, batch_size=self.batch_size, controls=self.controls)

    @cached_property
    def likelihoods(self) -> Likelihoods:
        """The same model, to tell how probable given texts are."""
        from epbench.models.hf.likelihood import Likelihoods

        return Likelihoods(self.reader.forward.model, window=self.window())

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`. Each system message and context is read once, and the order is that of the contexts' lengths.

        If a prompt and its answer do not fit in the window, nothing is cut: the reply is a failure with both numbers.
        Short contexts, and those with one question such as retrieved passages, are answered together.
        """
        groups: dict[tuple[str, str], list[Request]] = {}
        for request in requests:
            groups.setdefault((request.system, request.context), []).append(request)
        together: list[tuple[Request, Prompt]] = []
        n = 0
        # Neighbours in this order have about the same length, so that they need little padding.
        for group in sorted(groups.values(), key=lambda group: (len(group) == 1, -len(group[0].context))):
            fitting = yield from self._fitting(group)
            together += fitting
            n += sum(len(prompt.ids) for _, prompt in fitting)
            if n >= _MOST_TOGETHER:
                yield from self._answer_together(together)
                together, n = [], 0
        yield from self._answer_together(together)

    def _fitting(self, group: Sequence[Request]) -> Generator[Reply, None, list[tuple[Request, Prompt]]]:
        """Turn requests with one context into prompts; what does not fit in the window gets its reply at once."""
        fitting = []
        for request in group:
            ids, new = self.prompts.ids(request), 1 if request.labels else request.sampling.max_tokens
            if why := too_long(len(ids), new, self.window()):
                yield Reply(request.key(self.identity), request.id, failure=why, usage=Usage(prompt=len(ids)))
                continue
            context = (request.system, request.context) if len(group) > 1 else None
            fitting.append((request, self.prompt_of(request, ids, context)))
        return fitting

    def _answer_together(self, asked: Sequence[tuple[Request, Prompt]]) -> Iterator[Reply]:
        prompts = [prompt for _, prompt in asked]
        for i, completion in self.reader.answer(prompts) if prompts else ():
            yield self._reply(asked[i][0], completion, len(prompts[i].ids))

    def prompt_of(self, request: Request, ids: Sequence[int], context: Hashable = None) -> Prompt:
        """Turn a request, the token ids of its prompt, and a name for its context into what `SharedPrefix` answers."""
        from epbench.models.hf.prefix_batches import Prompt

        sampling = request.sampling
        return Prompt(
            ids,
            max(1, sampling.max_tokens),
            sampling.temperature,
            (sampling.seed, request.id, request.repeat),
            self.prompts.label_ids(request.labels),
            context,
            partial(self._has_said_enough, request) if may_loop(request) or self.controls.stop else None,
        )

    def _has_said_enough(self, request: Request, ids: Sequence[int]) -> bool:
        _, answer, stopped = self._read(request, ids)
        return stopped or (may_loop(request) and text_of_first_round(answer) is not None)

    def _reply(self, request: Request, completion: Completion, n_prompt: int) -> Reply:
        key, usage = request.key(self.identity), Usage(n_prompt, completion.cached, len(completion.ids))
        if completion.failure is not None:
            return Reply(key, request.id, failure=completion.failure, usage=Usage(n_prompt))
        reasoning, answer, stopped = self._read(request, completion.ids)
        if reasoning:
            usage = replace(usage, thinking=self.prompts.length(reasoning))
        reply = Reply(key, request.id, answer, reasoning, probabilities=completion.probabilities, usage=usage)
        return as_answered(request, reply, cut=not (completion.ended or stopped))

    def _read(self, request: Request, ids: Sequence[int]) -> tuple[str, str, bool]:
        """Return reasoning and answer in generated ids, and whether they have come to a text at which they end."""
        # Tags of reasoning may be special tokens, so these are dropped only after reasoning has been split off.
        text = self.prompts.tokenizer.decode(ids, skip_special_tokens=False)
        until = self.controls.cut(text)
        thoughts = split_reasoning(self.prompts.opening(request) + (text if until is None else until))
        reasoning, answer = (self.prompts.without_specials(part) for part in thoughts)
        return reasoning, answer, until is not None

    def _with_weights(self) -> Any:
        import torch
        from transformers import AutoModelForCausalLM

        device, spread = self.device, {}
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
            n = torch.cuda.device_count()
            log.info("device %s: %s", device, f"{n} CUDA devices" if n else "there is no CUDA device")
            spread = {"device_map": "auto"} if n > 1 else {}
        dtype = torch_dtype(self.dtype, device)
        if self.dtype == "auto":
            why = "supported by this device" if dtype != torch.float32 else f"the default on {device}"
            log.info("dtype %s: %s", dtype, why)
        if device == "cpu" and dtype == torch.bfloat16 and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
            log.warning(
                "dtype bfloat16: this CPU has no instructions for it; in float32 it computes several times as fast"
            )
        if not spread and device in ("cpu", "cuda"):
            self._check_memory(dtype, device)
        revision, path = self.variant.commit or "main", self.variant.path
        load = partial(AutoModelForCausalLM.from_pretrained, path, trust_remote_code=False, revision=revision)
        expected = "the folder of a transformers model, a GGUF file, or a name on the Hub"
        model = self._loaded("its weights", partial(load, dtype=dtype, **spread), expected)
        if (adapter := self.variant.adapter_folder) is not None:
            expected = "an adapter of this model, as peft saves it; reading it needs peft"
            self._loaded(f"the adapter {self.variant.adapter}", partial(model.load_adapter, str(adapter)), expected)
        try:
            return (model if spread else model.to(device)).eval()
        except (RuntimeError, AssertionError) as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            raise BadInput(f"device {self.device!r}: cannot be used: {str(error).splitlines()[0]}") from error

    def _check_memory(self, dtype: Any, device: str) -> None:
        """Refuse weights that do not fit; nothing where their number is unknown, or they are stored in fewer bits."""
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        if device == "cuda" and not torch.cuda.is_available():
            return
        try:
            revision = self.variant.commit or "main"
            config = AutoConfig.from_pretrained(self.variant.path, trust_remote_code=False, revision=revision)
            with torch.device("meta"):
                model: Any = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
        except Exception:  # loading tells what is wrong with foreign files
            return
        if not hasattr(config, "quantization_config"):
            refuse_large_weights(self.name, model.num_parameters(), dtype, device)

    def _loaded(self, part: str, load: Callable[[], Any], expected: str) -> Any:
        try:
            with no_bars_in_a_log():
                return load()
        except MemoryError:
            raise
        except Exception as error:  # foreign files can make transformers, safetensors, pickle and JSON raise anything
            import torch

            if isinstance(error, torch.OutOfMemoryError):
                raise
            raise BadInput(
                f"model {self.name}: cannot read {part} ({reason_of(error)}); expected {expected}"
            ) from error
