"""Models with weights on this machine: which weights are meant, and how transformers has them answer.

Two variants of one model, by a revision of the Hub or an adapter on top, have different identities, so that they never share
answers. Nothing is loaded before the first answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput, reason_of
from epbench.models.controls import AS_IT_IS, Controls, refuse_controls
from epbench.models.fingerprint import commit_of, content_fingerprint, weights_fingerprint
from epbench.models.hf.checkpoint import find_checkpoint, load_tokenizer, no_bars_in_a_log, read_window, torch_dtype
from epbench.models.hf.memory import refuse_large_weights, weights_named
from epbench.models.hf.prompt_tokens import PromptTokens
from epbench.models.packages import PACKAGES
from epbench.models.protocol import Reply, Request, Usage, too_long
from epbench.models.replies import as_answered, may_loop, split_reasoning, text_of_first_round

if TYPE_CHECKING:
    from epbench.models.hf.likelihood import Likelihoods
    from epbench.models.hf.shared_prefix import Completion, Prompt, SharedPrefix

log = logging.getLogger(__name__)

_CONFIG, _WEIGHTS = "adapter_config.json", ("adapter_model.safetensors", "adapter_model.bin")
_MOST_TOGETHER = 2**18  # tokens of the prompts that are written before the first of them is answered


@dataclass(frozen=True)
class Variant:
    """Files of a model that have been found, without anything loaded."""

    path: str  # the folder of the checkpoint, or its name on the Hub
    revision: str | None = None  # what was asked for; None for the Hub's main branch, or for a folder
    commit: str | None = None  # the commit that the revision stands for, 40 hex digits; None without a revision
    adapter: str | None = None  # what was asked for; None without an adapter
    adapter_folder: Path | None = None  # the folder of the adapter

    def identity(self, name: str, dtype: str) -> str:
        """A model's name with the fingerprint of its weights, `hf:PATH@1f0c3a…`, if there is one.

        An adapter belongs to it (`hf:PATH@1f0c3a…+77ab01…`), and so does a dtype that was chosen (`hf:PATH@1f0c3a…-bfloat16`).
        """
        weights = self.commit or weights_fingerprint(self.path) or ""
        if self.adapter_folder is not None:
            weights += f"+{content_fingerprint(self.adapter_folder)}"
        fingerprint = "-".join(filter(None, (weights, "" if dtype == "auto" else dtype)))
        return f"{name}@{fingerprint}" if fingerprint else name

    def about(self) -> dict[str, str]:
        """What run.json says of the variant; nothing for a model that is named without one."""
        about = {"revision": self.revision, "commit": self.commit, "adapter": self.adapter}
        if self.adapter_folder is not None:
            in_snapshot = self.adapter_folder.parent.name == "snapshots"
            about["adapter_commit"] = self.adapter_folder.name if in_snapshot else None
            about["adapter_weights"] = content_fingerprint(self.adapter_folder)
        return {name: value for name, value in about.items() if value is not None}


def find_variant(
    name: str, revision: str | None = None, adapter: str | None = None, *, dtype: str = "auto", device: str = "auto"
) -> Variant:
    """Find the files of a model; what the Hub's cache does not have is downloaded, unless `HF_HUB_OFFLINE=1`.

    `name` is as for `find_checkpoint`, `revision` a branch, tag or commit of the Hub, `adapter` the folder of an adapter that
    peft has saved, or its name on the Hub. `dtype` is in what a GGUF file is stored. `BadInput` if revision or adapter are
    missing, or the model is an adapter itself.
    """
    path = find_checkpoint(name, dtype, device)
    commit = None
    if revision is not None:
        if Path(path).is_dir() or name in PACKAGES:
            raise BadInput(
                f"model {name}: revision {revision!r} was asked for, but only a model on the Hub has revisions, and this "
                "one lies on this machine"
            )
        commit = commit_of(path, revision)
        if commit is None:
            raise BadInput(f"model {name}: no revision {revision!r} of it, neither in the Hub's cache nor on the Hub")
    if adapter is None:
        return Variant(path, revision, commit)
    if (Path(path) / _CONFIG).is_file():
        raise BadInput(f"model {name}: it is an adapter itself; give its base model, and one adapter")
    return Variant(path, revision, commit, adapter, _adapter_folder(adapter))


def _adapter_folder(name: str) -> Path:
    folder = Path(name).expanduser()
    if not folder.is_dir():
        from huggingface_hub import snapshot_download

        if name.startswith(("/", ".", "~")) or name.count("/") > 1:
            raise BadInput(f"adapter {name}: no such folder")
        try:
            folder = Path(snapshot_download(name, allow_patterns=[_CONFIG, *_WEIGHTS]))
        except Exception as error:  # the Hub's library raises errors of its own, of requests and of the system
            raise BadInput(
                f"adapter {name}: no such folder, and no such adapter on the Hub ({reason_of(error, 200)})"
            ) from None
    if not (folder / _CONFIG).is_file() or not any((folder / file).is_file() for file in _WEIGHTS):
        raise BadInput(
            f"adapter {name}: expected a folder with {_CONFIG} and {_WEIGHTS[0]}, as peft saves them; a whole model is "
            "not an adapter and is named as the model"
        )
    return folder


class LocalModel:
    """What models with weights on this machine share: which files are meant, and what they say before weights are loaded."""

    costs_nothing = False
    continues_prompts = True
    device = "auto"
    given_window: int | None = None  # fewer tokens than the model could read, if somebody has said so

    def __init__(
        self, kind: str, path_or_id: str, dtype: str, revision: str | None, adapter: str | None, controls: Controls
    ) -> None:
        refuse_controls(f"{kind}:{path_or_id}", controls)
        self.name, self.dtype, self.controls = f"{kind}:{path_or_id}{controls.mark}", dtype, controls
        self._given = path_or_id, revision, adapter

    @cached_property
    def variant(self) -> Variant:
        """The files of the model; see `find_variant`."""
        return find_variant(*self._given, dtype=self.dtype, device=self.device)

    def about_variant(self) -> dict[str, Any]:
        """See `variant_of`."""
        return self.variant.about() | self.controls.given

    @cached_property
    def identity(self) -> str:
        return self.variant.identity(self.name, self.dtype)

    @cached_property
    def prompts(self) -> PromptTokens:
        """The prompts as this model's tokenizer writes them; `BadInput` if there is no tokenizer."""
        return PromptTokens(load_tokenizer(self.variant.path, self.variant.commit), self.controls)

    @cached_property
    def _own_window(self) -> int | None:
        return read_window(self.variant.path, self.prompts.tokenizer, self.variant.commit)

    def window(self) -> int | None:
        """See `Model.window`; if none was given, it is what config and tokenizer say."""
        return self.given_window or self._own_window

    def count_tokens(self, request: Request) -> tuple[int, int]:
        """See `Model.count_tokens`; the tokenizer counts."""
        n = len(self.prompts.ids(request))
        return n, min(n, self.prompts.shared(request))

    def _split(self, request: Request, text: str) -> tuple[str, str]:
        """Return reasoning and answer in what was generated."""
        # Tags of reasoning may be special tokens, so these are dropped only after reasoning has been split off.
        reasoning, answer = map(self.prompts.without_specials, split_reasoning(self.prompts.opening(request) + text))
        return reasoning, answer

    def _replied(
        self, request: Request, text: str, usage: Usage, probabilities: Mapping[str, float] | None, *, cut: bool
    ) -> Reply:
        """Make the reply of what was generated; it is a failure if there is no answer in it."""
        reasoning, answer = self._split(request, text)
        if reasoning:
            usage = replace(usage, thinking=self.prompts.length(reasoning))
        key = request.key(self.identity)
        reply = Reply(key, request.id, answer, reasoning, probabilities=probabilities, usage=usage)
        return as_answered(request, reply, cut=cut)


class TransformersModel(LocalModel):
    """A model from a folder or the Hub, on this machine.

    Answers are greedy, or drawn from the whole distribution at the request's temperature, with random numbers that depend only
    on the request's seed, id and repeat. A greedy answer ends once it goes in circles. Penalties and limits in the model's own
    generation settings are ignored. A request's `schema` does not constrain what is generated; the caller checks the answer.

    `path_or_id`, `revision` and `adapter` are as for `find_variant`. `device` is one of torch, or "auto" for CUDA if there is any
    (all devices), else the CPU. `dtype` is as for `torch_dtype`. Of the controls, limits of what is drawn and a penalty of
    repetitions hold for answers in words, not for labels; `BadInput` if there is one that these models do not have.
    """

    def __init__(
        self,
        path_or_id: str,
        *,
        device: str = "auto",
        dtype: str = "auto",
        revision: str | None = None,
        adapter: str | None = None,
        controls: Controls = AS_IT_IS,
    ) -> None:
        super().__init__("hf", path_or_id, dtype, revision, adapter, controls)
        self.device = device

    @cached_property
    def reader(self) -> SharedPrefix:
        """The model with its weights, which the first use loads; `BadInput` if there are none, or no such device or dtype."""
        from epbench.models.hf.shared_prefix import SharedPrefix

        model = self._with_weights()
        ends = model.generation_config.eos_token_id
        ends = [ends] if isinstance(ends, int) else list(ends or [])
        end_id = self.prompts.tokenizer.eos_token_id
        ends += [] if end_id is None else [end_id]
        return SharedPrefix(model, ends, controls=self.controls)

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
            context = (group[0].system, group[0].context) if len(group) > 1 else None
            for request in group:
                ids, new = self.prompts.ids(request), 1 if request.labels else request.sampling.max_tokens
                if why := too_long(len(ids), new, self.window()):
                    yield Reply(request.key(self.identity), request.id, failure=why, usage=Usage(prompt=len(ids)))
                else:
                    together.append((request, self.prompt_of(request, ids, context)))
                    n += len(ids)
            if n >= _MOST_TOGETHER:
                yield from self._answer_together(together)
                together, n = [], 0
        yield from self._answer_together(together)

    def _answer_together(self, asked: Sequence[tuple[Request, Prompt]]) -> Iterator[Reply]:
        prompts = [prompt for _, prompt in asked]
        for i, completion in self.reader.answer(prompts) if prompts else ():
            yield self._reply(asked[i][0], completion, len(prompts[i].ids))

    def prompt_of(self, request: Request, ids: Sequence[int], context: Hashable = None) -> Prompt:
        """Turn a request, the token ids of its prompt, and a name for its context into what `SharedPrefix` answers."""
        from epbench.models.hf.shared_prefix import Prompt

        sampling, labels = request.sampling, self.prompts.label_ids(request.labels)
        stream = sampling.seed, request.id, request.repeat
        enough = partial(self._has_said_enough, request) if may_loop(request) or self.controls.stop else None
        return Prompt(ids, sampling.max_tokens, sampling.temperature, stream, labels, context, enough)

    def _has_said_enough(self, request: Request, ids: Sequence[int]) -> bool:
        text, stopped = self._written(ids)
        return stopped or (may_loop(request) and text_of_first_round(self._split(request, text)[1]) is not None)

    def _reply(self, request: Request, completion: Completion, n_prompt: int) -> Reply:
        if (why := completion.failure) is not None:
            return Reply(request.key(self.identity), request.id, failure=why, usage=Usage(n_prompt))
        text, stopped = self._written(completion.ids)
        usage, cut = Usage(n_prompt, completion.cached, len(completion.ids)), not (completion.ended or stopped)
        return self._replied(request, text, usage, completion.probabilities, cut=cut)

    def _written(self, ids: Sequence[int]) -> tuple[str, bool]:
        """Return the text of generated ids, up to one at which it has to end, and whether it has come to that."""
        text = self.prompts.tokenizer.decode(ids, skip_special_tokens=False)
        until = self.controls.cut(text)
        return text if until is None else until, until is not None

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
        from transformers import AutoConfig

        if device == "cuda" and not torch.cuda.is_available():
            return
        try:
            revision = self.variant.commit or "main"
            config = AutoConfig.from_pretrained(self.variant.path, trust_remote_code=False, revision=revision)
            n = weights_named(config)
        except Exception:  # loading tells what is wrong with foreign files
            return
        if not hasattr(config, "quantization_config"):
            refuse_large_weights(self.name, n, dtype, device)

    def _loaded(self, part: str, load: Callable[[], Any], expected: str) -> Any:
        import torch

        try:
            with no_bars_in_a_log():
                return load()
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # foreign files can make transformers, safetensors, pickle and JSON raise anything
            raise BadInput(
                f"model {self.name}: cannot read {part} ({reason_of(error)}); expected {expected}"
            ) from error
