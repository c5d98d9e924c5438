"""The memory systems that have a class here, by name, and what has to be known of each before it is installed."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from epbench.errors import BadInput
from epbench.memories.spec import Endpoint, Installation, Setting, SystemSpec
from epbench.models.openai.address import endpoint_address

_HASH = re.compile(rb" -+hash=\S+")
_OPENAI_EMBEDDER = "openai:text-embedding-3-small"
_MINILM = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True)
class _Known:
    """A system."""

    module: str  # of its adapter, in this room
    class_name: str
    package: tuple[str, str]  # what it is called in the package index, and its version
    embedder: str  # of the published evaluation, or the system's own default if it was not evaluated
    # Environment variables that its process needs from its start, mostly to send nothing to anybody.
    variables: Mapping[str, str] = field(default_factory=dict)
    reserves: float = 0.0  # see `Installation`


_MEM0 = {"MEM0_TELEMETRY": "False"}
_CHROMA = {"ANONYMIZED_TELEMETRY": "False", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

SYSTEMS: Mapping[str, _Known] = {
    "mem0": _Known("mem0", "Mem0", ("mem0ai", "2.2.1"), _OPENAI_EMBEDDER, _MEM0),
    "mem0-1": _Known("mem0", "Mem0", ("mem0ai", "1.0.11"), _OPENAI_EMBEDDER, _MEM0),
    "a-mem": _Known("a_mem", "AMem", ("a-mem", "0.2.6"), _MINILM, _CHROMA),
    "simplemem": _Known("simplemem", "SimpleMem", ("simplemem", "0.1.0"), _MINILM),
    "langmem": _Known("langmem", "LangMem", ("langmem", "0.0.30"), _OPENAI_EMBEDDER, {"LANGCHAIN_TRACING_V2": "false"}),
    "graphiti": _Known(
        "graphiti", "Graphiti", ("graphiti-core", "0.31.1"), _OPENAI_EMBEDDER, {"GRAPHITI_TELEMETRY_ENABLED": "false"},
        reserves=8.0,
    ),
    "cognee": _Known(
        "cognee", "Cognee", ("cognee", "1.6.5"), _OPENAI_EMBEDDER,
        {"TELEMETRY_DISABLED": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}, reserves=128.0,
    ),
    "structmem": _Known("structmem", "StructMem", ("lightmem", "checkout"), _MINILM),
}  # fmt: skip
"""By name, every system that can be installed."""


def describe_installed(name: str, endpoint: Endpoint, chosen: Mapping[str, str], source: Path | None) -> SystemSpec:
    """Describe a system of `SYSTEMS`. Nothing is installed or imported yet.

    Args:
        name: one of `SYSTEMS`.
        endpoint: who answers its requests; without an embedder, that of the published evaluation is filled in.
        chosen: settings that the user has chosen, as text; all others have the published evaluation's values.
        source: folder of its source code, which `structmem` needs and no other takes.

    Raises:
        BadInput: the system has no such setting, a value has another type, the folder is missing or not wanted, or a URL
            or the key of an endpoint cannot be used.
    """
    known = SYSTEMS[name]
    endpoint = replace(endpoint, embedder=endpoint.embedder or known.embedder)
    endpoint_address(endpoint.url, f"the model of {name}")  # now, and not after its environment has been built
    if endpoint.embedder.startswith("openai:"):
        endpoint_address(endpoint.embedder_url or endpoint.url, f"the embedder of {name}")
    module = f"{__package__}.{known.module}"
    defaults: dict[str, Setting] = dict(importlib.import_module(module).DEFAULTS)
    if ("source" in defaults) != (source is not None):
        wanted = "expected the folder of its source code, got none" if source is None else "it takes no source code"
        raise BadInput(f"memory system {name!r}: {wanted}")
    settings = defaults | {key: _value(name, key, text, defaults) for key, text in chosen.items()}
    if source is not None:
        if not source.is_dir():
            raise BadInput(f"memory system {name!r}: found no folder {source}")
        settings["source"] = str(source.resolve())
    lock = Path(__file__).parent / "locks" / f"{name}.txt"
    spec = importlib.util.find_spec(module)
    assert spec is not None and spec.origin is not None
    files = [Path(spec.origin), lock, *(sorted(source.rglob("*.py")) if source is not None else ())]
    # Without the hashes of packages, which older locks lack: the versions are the same, and so is the system.
    contents = (_HASH.sub(b"", file.read_bytes()) if file == lock else file.read_bytes() for file in files)
    digest = hashlib.sha256(b"".join(hashlib.sha256(content).digest() for content in contents)).hexdigest()[:16]
    return SystemSpec(
        name,
        durable=True,
        digest=digest,
        version=" ".join(known.package),
        settings=settings,
        installation=Installation(
            class_name=f"{module}:{known.class_name}",
            lock=lock,
            variables=known.variables,
            endpoint=endpoint,
            reserves=known.reserves,
        ),
    )


def _value(name: str, key: str, text: str, defaults: Mapping[str, Setting]) -> Setting:
    """Read a setting as the type of its default."""
    if key not in defaults or key == "source":
        there_are = ", ".join(f"{key}={value}" for key, value in defaults.items() if key != "source") or "none"
        raise BadInput(
            f"memory system {name!r}: it has no setting {key!r}; its settings and their defaults: {there_are}"
        )
    default = defaults[key]
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        return float(text) if default is None else type(default)(text)
    except (ValueError, KeyError):
        kind = (
            "true or false"
            if isinstance(default, bool)
            else "a number"
            if default is None
            else f"a value like {default!r}"
        )
        raise BadInput(f"memory system {name!r}, setting {key}: expected {kind}, got {text!r}") from None
