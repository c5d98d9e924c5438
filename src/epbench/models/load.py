"""From the name of a language model to the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from epbench.errors import BadInput
from epbench.models.protocol import Model

MODELS = ("hf:PATH_OR_ID", "vllm:PATH_OR_ID", "openai:NAME")
"""How the name of a model is written, one form for each backend; a new backend adds its form here."""
DTYPES = ("auto", "float32", "bfloat16", "float16")
"""In what a model on this machine computes; `auto` is float32 on a CPU, and 16 bits on a GPU."""
_KINDS = tuple(form.partition(":")[0] for form in MODELS)


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
        revision: branch, tag or commit of a model on the Hub; None for its main branch.
        adapter: folder of an adapter, as peft saves it, or its name on the Hub; None for the model as it is.
    """

    base_url: str | None = None
    window: int | None = None
    tensor_parallel: int = 1
    request_timeout: float = 300.0
    dtype: str = "auto"
    revision: str | None = None
    adapter: str | None = None


def is_model_name(name: str) -> bool:
    """Tell whether a name has the form of one of `MODELS`; nothing is loaded."""
    kind, _, target = name.partition(":")
    return kind in _KINDS and bool(target)


def load_model(name: str, options: Options | None = None, *, also: Sequence[str] = ()) -> Model:
    """Find the model of this name. Its weights are not loaded yet.

    Args:
        name: `hf:` and the folder or Hub name of a model for transformers, a GGUF file, or `smollm2` for the model of an
            installed package; `vllm:` and the same for vLLM; or `openai:` and the name of a model behind an
            OpenAI-compatible endpoint.
        options: how the model is run or reached.
        also: other names that the caller takes, for the message about an unknown name.

    Raises:
        BadInput: the name is unknown, or something that the model needs is not installed.
    """
    options = options or Options()
    kind, _, target = name.partition(":")
    if not is_model_name(name):
        raise BadInput(f"unknown model {name!r}; expected one of: {', '.join([*also, *MODELS])}")
    try:
        if kind == "hf":
            from epbench.models.hf.model import TransformersModel

            return TransformersModel(target, dtype=options.dtype, revision=options.revision, adapter=options.adapter)
        if kind == "vllm":
            from epbench.models.vllm.model import VllmModel

            return VllmModel(
                target, tensor_parallel=options.tensor_parallel, max_model_len=options.window, dtype=options.dtype,
                revision=options.revision, adapter=options.adapter,
            )  # fmt: skip
        refuse_variant(name, options)
        from epbench.models.openai.model import EndpointModel

        return EndpointModel(
            target, base_url=options.base_url, window=options.window, timeout_s=options.request_timeout
        )
    except ImportError as error:
        extra = "vllm" if kind == "vllm" else "models"
        raise BadInput(f"model {name} needs more libraries ({error}); pip install 'epbench[{extra}]'") from None


def refuse_variant(name: str, options: Options | None) -> None:
    """Refuse a revision or an adapter of something that has no weights on this machine.

    Raises:
        BadInput: One is given.
    """
    given = {"revision": options.revision, "adapter": options.adapter} if options else {}
    for what, value in given.items():
        if value is not None:
            raise BadInput(f"model {name}: expected no {what}, which only hf: and vllm: models have, got {value!r}")
