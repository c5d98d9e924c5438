"""From the name of a language model to the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, install_hint
from epbench.models.controls import AS_IT_IS, Controls, refuse_controls
from epbench.models.openai.address import LOCAL_SERVERS
from epbench.models.protocol import Model

_SERVERS = [f"{server}:NAME" for server in LOCAL_SERVERS]
MODELS = ("hf:PATH_OR_ID", "vllm:PATH_OR_ID", "openai:NAME", *_SERVERS, "inspect:PROVIDER/NAME")
"""How the name of a model is written, one form for each backend; a new backend adds its form here."""
DTYPES = ("auto", "float32", "bfloat16", "float16")
"""In what a model on this machine computes; `auto` is float32 on a CPU, and 16 bits on a GPU."""
_WITH_WEIGHTS = ("hf", "vllm")
_KINDS = tuple(form.partition(":")[0] for form in MODELS)

Engine = Callable[[Model, Callable[[], Model], int], Model]
"""Has a model answer elsewhere. It is given the model of this process, which counts tokens, what makes the same model in
another process, and the number of GPUs that this takes; it returns the model that answers.
"""


@dataclass(frozen=True)
class Options:
    """How a model is run or reached.

    Attributes:
        base_url: URL of an OpenAI-compatible endpoint, up to `/v1`.
        window: tokens that prompt and answer may have together: of an endpoint that does not say so itself, or for vLLM
            to allocate if the GPU is small. None asks the endpoint or the model's configuration.
        tensor_parallel: number of GPUs for vLLM.
        request_timeout: seconds, more than 0, for one attempt at one request to an endpoint.
        dtype: in what weights on this machine are computed, one of `DTYPES`.
        engine: where a model with weights answers; None for this process. An endpoint has machines of its own.
        revision: branch, tag or commit of a model on the Hub; None for its main branch.
        adapter: folder of an adapter, as peft saves it, or its name on the Hub; None for the model as it is.
        controls: how it generates.
        batch: whether a provider of inspect_ai is asked by its batch API.
        endpoint: what reaches an OpenAI-compatible endpoint in place of `EndpointModel`, such as its batch API; it is
            called with the same arguments.
    """

    base_url: str | None = None
    window: int | None = None
    tensor_parallel: int = 1
    request_timeout: float = 300.0
    dtype: str = "auto"
    engine: Engine | None = None
    revision: str | None = None
    adapter: str | None = None
    controls: Controls = AS_IT_IS
    batch: bool = False
    endpoint: Callable[..., Model] | None = None


def is_model_name(name: str) -> bool:
    """Tell whether a name has the form of one of `MODELS`; nothing is loaded."""
    kind, _, target = name.partition(":")
    return kind in _KINDS and bool(target)


def load_model(name: str, options: Options | None = None, *, also: Sequence[str] = ()) -> Model:
    """Find the model of this name. Its weights are not loaded yet.

    Args:
        name: `hf:` and the folder or Hub name of a model for transformers, a GGUF file, or `smollm2` for the model of an
            installed package; `vllm:` and the same for vLLM; `openai:` and the name of a model behind an
            OpenAI-compatible endpoint; one of `LOCAL_SERVERS` and the same, for a server on this machine; or `inspect:`
            and a provider and model of inspect_ai, as `anthropic/NAME`.
        options: how the model is run or reached.
        also: other names that the caller takes, for the message about an unknown name.

    Raises:
        BadInput: the name is unknown, or something that the model needs is not installed.
    """
    options = options or Options()
    kind, _, target = name.partition(":")
    if not is_model_name(name):
        raise BadInput(f"unknown model {name!r}; expected one of: {', '.join([*also, *MODELS])}")
    if options.engine is not None and kind in _WITH_WEIGHTS:
        return _on_engine(name, options, options.engine)
    weights: dict[str, Any] = {"dtype": options.dtype, "revision": options.revision, "adapter": options.adapter}
    try:
        if kind == "hf":
            if find_spec("torch") is None:  # told at once, before a package of weights or a folder is looked for
                raise ModuleNotFoundError("No module named 'torch'", name="torch")
            from epbench.models.hf.model import TransformersModel

            return TransformersModel(target, controls=options.controls, **weights)
        if kind == "vllm":
            from epbench.models.vllm import VllmModel

            n, window = options.tensor_parallel, options.window
            return VllmModel(target, tensor_parallel=n, max_model_len=window, controls=options.controls, **weights)
        refuse_variant(name, options)
        reached: dict[str, Any] = {"base_url": options.base_url, "window": options.window}
        reached |= {"timeout_s": options.request_timeout, "controls": options.controls}
        if kind == "inspect":
            from epbench.models.inspect_ai import InspectModel

            return InspectModel(target, batch=options.batch, **reached)
        from epbench.models.openai.model import EndpointModel

        return (options.endpoint or EndpointModel)(target, server=kind, **reached)
    except ImportError as error:
        extra = kind if kind in ("vllm", "inspect") else "models"
        raise BadInput(f"model {name} needs more libraries ({error}); {install_hint(extra)}") from None


def load_reader(name: str, rules: Model, options: Options | None = None) -> Model:
    """Find a benchmark's reader: its rule-based one, `rules`, or a language model; it raises what `load_model` raises."""
    if name != rules.name:
        return load_model(name, options, also=[f"{rules.name} (rule-based, offline)"])
    refuse_variant(name, options)
    refuse_controls(name, options.controls if options else AS_IT_IS)
    return rules


def _on_engine(name: str, options: Options, engine: Engine) -> Model:
    """A model whose weights are elsewhere; paths are made absolute, as another process has another working folder."""
    kind, _, target = name.partition(":")
    here = replace(options, engine=None, base_url=None)  # an address may contain a login, and weights need none
    adapter = options.adapter if options.adapter is None else _absolute(options.adapter)
    elsewhere = partial(load_model, f"{kind}:{_absolute(target)}", replace(here, adapter=adapter))
    gpus = options.tensor_parallel if kind == "vllm" else 1
    return engine(load_model(name, here), elsewhere, gpus)


def _absolute(name: str) -> str:
    return str(Path(name).absolute()) if Path(name).exists() else name


def refuse_variant(name: str, options: Options | None) -> None:
    """Refuse a revision or an adapter of something that has no weights on this machine."""
    for option in ("revision", "adapter"):
        if (value := getattr(options, option, None)) is not None:
            raise BadInput(f"model {name}: expected no {option}, which only hf: and vllm: models have, got {value!r}")
