"""Servers on this machine that speak OpenAI's API: where they listen, and how they tell the window that they have allocated.

A model's own window says nothing here: Ollama allocates 4,096 tokens on a small GPU whatever the model has, and cuts longer
prompts off without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Ask = Callable[..., Any]
"""Asks the server: a path from its root, and perhaps a body to post; it returns the JSON of the answer."""


def _vllm(ask: Ask, model: str) -> Any:
    return _named(ask("/v1/models")["data"], "id", model)["max_model_len"]


def _llamacpp(ask: Ask, model: str) -> Any:
    return ask("/props")["default_generation_settings"]["n_ctx"]


def _lmstudio(ask: Ask, model: str) -> Any:
    return _named(ask("/api/v0/models")["data"], "id", model)["loaded_context_length"]


def _ollama(ask: Ask, model: str) -> Any:
    ask("/api/generate", {"model": model})  # loads it, because a window is allocated only then
    full = model if ":" in model else f"{model}:latest"
    return _named(ask("/api/ps")["models"], "name", full)["context_length"]


def _named(entries: Any, key: str, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(entry for entry in entries if entry[key] == name)
    return found


@dataclass(frozen=True)
class LocalServer:
    """A server that needs no key.

    Attributes:
        url: Where it listens unless it is told otherwise, up to `/v1`.
        window: Finds the window that it has allocated for a model; any exception means that this is unknown.
        larger: How its window is made larger, as a message says it, where the server cuts prompts off without a word, so
            that an unknown window is refused; else empty.
    """

    url: str
    window: Callable[[Ask, str], Any]
    larger: str = ""


LOCAL_SERVERS: Mapping[str, LocalServer] = {
    "ollama": LocalServer("http://127.0.0.1:11434/v1", _ollama, "OLLAMA_CONTEXT_LENGTH=32768 ollama serve"),
    "llamacpp": LocalServer("http://127.0.0.1:8080/v1", _llamacpp),
    "lmstudio": LocalServer("http://127.0.0.1:1234/v1", _lmstudio, "the context length when it is loaded"),
    "vllm-server": LocalServer("http://127.0.0.1:8000/v1", _vllm),
}
"""By the kind of a model's name, as in `ollama:qwen3:8b`."""
