"""From the name on the command line to a model."""

from __future__ import annotations

from dataclasses import dataclass

from epbench.errors import BadInput
from epbench.models.protocol import Model
from epbench.tulving.reader.lexical import LexicalReader

KINDS = "lexical (rule-based, offline), hf:PATH_OR_ID, vllm:PATH_OR_ID, openai:NAME"


@dataclass(frozen=True)
class Options:
    """What a backend may be told on the command line.

    Attributes:
        base_url: of an OpenAI-compatible endpoint.
        window: in tokens, of an endpoint that does not tell, or to be set aside by vLLM where a GPU is small.
        tensor_parallel: number of GPUs for vLLM.
        request_timeout: seconds, above 0, that one try of one request to an endpoint may take.
    """

    base_url: str | None = None
    window: int | None = None
    tensor_parallel: int = 1
    request_timeout: float = 300.0


def load_model(name: str, options: Options | None = None) -> Model:
    """The reader of that name; its weights are not loaded yet.

    Raises:
        BadInput: there is none, or what it needs is not installed.
    """
    options = options or Options()
    kind, _, target = name.partition(":")
    if kind == "lexical" and not target:
        return LexicalReader()
    if kind not in ("hf", "vllm", "openai") or not target:
        raise BadInput(f"unknown model {name!r}; there are: {KINDS}")
    try:
        if kind == "hf":
            from epbench.models.hf.model import TransformersModel

            return TransformersModel(target)
        if kind == "vllm":
            from epbench.models.vllm.model import VllmModel

            return VllmModel(target, tensor_parallel=options.tensor_parallel, max_model_len=options.window)
        from epbench.models.openai.model import EndpointModel

        return EndpointModel(
            target, base_url=options.base_url, window=options.window, timeout_s=options.request_timeout
        )
    except ImportError as error:
        extra = "vllm" if kind == "vllm" else "models"
        raise BadInput(f"--model {name} needs more libraries ({error}); pip install 'epbench[{extra}]'") from None
