"""Causal language models of transformers as readers: a context is read once, its questions are answered in batches.

Torch and transformers are imported when they are first needed, weights are loaded with the first answer.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.models.ending import as_answered
from epbench.models.fingerprint import identity_of
from epbench.models.hf.checkpoint import label_ids, load_tokenizer, read_window
from epbench.models.hf.prompt_tokens import PromptTokens
from epbench.models.protocol import Reply, Request, Usage
from epbench.models.reasoning import split_reasoning

if TYPE_CHECKING:
    from epbench.models.hf.shared_prefix import Ask, SharedPrefix, Told

log = logging.getLogger(__name__)

_LONGEST_REASON = 300  # characters


class TransformersModel:
    """A model of a folder or of the Hub, on this machine.

    Answers are greedy, or drawn from the whole distribution at the request's temperature with a stream of draws that
    depends on the request's seed, id and repeat alone. Penalties and limits of the model's own generation settings are
    left aside. A request's `schema` does not constrain what is generated: whoever reads the answer checks it.

    Args:
        path_or_id: folder, or name on the Hub; with `HF_HUB_OFFLINE=1` only what is in the cache is found.
        device: as torch names it, or "auto": CUDA if there is any (all of several devices), else the CPU.
        dtype: as torch names it, or "auto": on CUDA bfloat16, where that is missing float16; else float32.
        batch_size: most questions answered at a time; by default what memory takes.
    """

    costs_nothing = False
    continues_prompts = True

    def __init__(
        self, path_or_id: str, *, device: str = "auto", dtype: str = "auto", batch_size: int | None = None
    ) -> None:
        self.path = str(Path(path_or_id).expanduser()) if path_or_id.startswith("~") else path_or_id
        self.name = f"hf:{path_or_id}"
        self.device, self.dtype, self.batch_size = device, dtype, batch_size

    @cached_property
    def identity(self) -> str:
        """See `Model.identity`."""
        return identity_of(self.name, self.path)

    @cached_property
    def prompts(self) -> PromptTokens:
        """How this model's tokenizer writes prompts.

        Raises:
            BadInput: there is no tokenizer at this path or name.
        """
        return PromptTokens(load_tokenizer(self.path))

    @cached_property
    def reader(self) -> SharedPrefix:
        """The model with its weights; the first use loads them.

        Raises:
            BadInput: there are none at this path or name, or no such device or dtype.
        """
        from epbench.models.hf.shared_prefix import SharedPrefix

        model = self._with_weights()
        ends = model.generation_config.eos_token_id
        ends = [ends] if isinstance(ends, int) else list(ends or [])
        own = self.prompts.tokenizer.eos_token_id
        return SharedPrefix(model, [*ends, *([] if own is None else [own])], batch_size=self.batch_size)

    def window(self) -> int | None:
        """As config and tokenizer say; None if neither does."""
        return self._window

    @cached_property
    def _window(self) -> int | None:
        return read_window(self.path, self.prompts.tokenizer)

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """(tokens of the prompt, of these those before the question), by the tokenizer."""
        n = len(self.prompts.ids(request))
        return n, min(n, self.prompts.shared(request))

    def answer(self, requests: Sequence[Request]) -> Generator[Reply]:
        """See `Model.answer`. Requests of one system text and context are answered together, wherever they stand.

        A prompt that does not fit in the window with its answer is not cut: its reply is a failure with both numbers.
        Contexts with one request only, such as retrieved ones, are put together and share what they have in common.
        """
        groups: dict[tuple[str, str], list[Request]] = {}
        for request in requests:
            groups.setdefault((request.system, request.context), []).append(request)
        lone = [group[0] for group in groups.values() if len(group) == 1]
        for group in [*(group for group in groups.values() if len(group) > 1), lone]:
            yield from self._answer_group(group)

    def _answer_group(self, group: Sequence[Request]) -> Iterator[Reply]:
        asks, asked = [], []
        for request in group:
            ids, new = self.prompts.ids(request), 1 if request.labels else request.sampling.max_tokens
            window = self.window()
            if window is not None and len(ids) + new > window:
                why = (
                    f"prompt of {len(ids):,} tokens and answer of {new:,} do not fit in the window of {window:,} tokens"
                )
                yield Reply(request.key(self.identity), request.id, failure=why, usage=Usage(prompt=len(ids)))
                continue
            asks.append(self.ask_of(request, ids))
            asked.append(request)
        for n, (place, told) in enumerate(self.reader.answer(asks) if asks else ()):
            yield self._reply(asked[place], told, len(asks[place].ids), told.shared if n else 0)

    def ask_of(self, request: Request, ids: Sequence[int]) -> Ask:
        """The request as the reader takes it, with the token ids of its prompt."""
        from epbench.models.hf.shared_prefix import Ask

        sampling = request.sampling
        return Ask(
            ids,
            max(1, sampling.max_tokens),
            sampling.temperature,
            (sampling.seed, request.id, request.repeat),
            {label: label_ids(self.prompts.tokenizer, label) for label in request.labels},
        )

    def _reply(self, request: Request, told: Told, n_prompt: int, cached: int) -> Reply:
        key, usage = request.key(self.identity), Usage(n_prompt, cached, len(told.ids))
        if told.failure is not None:
            return Reply(key, request.id, failure=told.failure, usage=Usage(n_prompt))
        tokenizer = self.prompts.tokenizer
        # Marks of reasoning may be special tokens, so these are dropped only after it is split off.
        text = self.prompts.opening(request) + tokenizer.decode(told.ids, skip_special_tokens=False)
        reasoning, answer = (self.prompts.without_specials(part) for part in split_reasoning(text))
        reply = Reply(key, request.id, answer, reasoning, probabilities=told.probabilities, usage=usage)
        return as_answered(request, reply, cut=not told.ended)

    def _with_weights(self) -> Any:
        import torch
        from transformers import AutoModelForCausalLM

        device, spread = self.device, {}
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
            n = torch.cuda.device_count()
            log.info("device %s: %s", device, f"{n} of CUDA" if n else "no CUDA here")
            spread = {"device_map": "auto"} if n > 1 else {}
        dtype = getattr(torch, self.dtype, None)
        if self.dtype == "auto":
            dtype = torch.float32
            if device.startswith("cuda"):
                dtype = torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
            log.info("dtype %s: %s", dtype, "what this device supports" if dtype != torch.float32 else f"on {device}")
        if not isinstance(dtype, torch.dtype):
            raise BadInput(f"dtype {self.dtype!r} is none of torch's; expected auto, float32, bfloat16 or float16")
        model = self._loaded("weights", AutoModelForCausalLM.from_pretrained, dtype=dtype, **spread)
        try:
            return (model if spread else model.to(device)).eval()
        except (RuntimeError, AssertionError) as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            raise BadInput(f"device {self.device!r} cannot be used: {str(error).splitlines()[0]}") from error

    def _loaded(self, what: str, load: Any, **more: Any) -> Any:
        try:
            return load(self.path, trust_remote_code=False, **more)
        except MemoryError:
            raise
        except Exception as error:  # what foreign files make transformers, safetensors, pickle and JSON raise
            import torch

            if isinstance(error, torch.OutOfMemoryError):
                raise
            reason = " ".join(str(error).split())[:_LONGEST_REASON] or type(error).__name__
            expected = "a folder with a model of transformers, or its name on the Hub"
            raise BadInput(f"model {self.name}: no {what} that can be read; expected {expected} ({reason})") from error
