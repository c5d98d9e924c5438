"""From the name of a memory system to the system: a baseline, one that is installed, a server, or a class of the user's own.

Baselines keep what the user said word for word, and differ in what they return. Where a memory system does worse than these,
it loses by what it stores. `none` and `oracle` bound what can be reached.

Of a server nothing runs here but our client (`epbench.memories.servers`), in a process for each store, as of any system. The
command of an MCP server is started by that process, and within bubblewrap with it.
"""

from __future__ import annotations

import hashlib
import importlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import NoneType
from typing import Any
from urllib.parse import urlsplit

from msgspec import ValidationError, convert

from epbench.errors import BadInput, CallFailed, install_hint
from epbench.files.secrets import checked_key
from epbench.memories import systems
from epbench.memories.guard import Limits
from epbench.memories.process import ISOLATIONS, describe_system, require_bwrap
from epbench.memories.protocol import (
    PUBLISHED_EMBEDDER,
    Conversation,
    Endpoint,
    Installation,
    Isolation,
    Setting,
    SystemSpec,
)
from epbench.memories.servers import CALLS, PRESETS, Server, Tool
from epbench.memories.worker import METHODS, import_system
from epbench.models.openai.address import endpoint_address, shown
from epbench.retrieval.load import load_retriever
from epbench.retrieval.protocol import MakeSearcher, Searcher


class FullContext:
    """`full-context`: returns everything that the user said, in the order of storing, whatever k is."""

    def __init__(self) -> None:
        self.stored: list[str] = []

    def store_conversation(self, conversation: Conversation) -> None:
        self.stored += [turn["content"] for turn in conversation if turn["role"] == "user"]

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        return self.stored

    def get_all_memories(self) -> list[str]:
        return self.stored


class Nothing(FullContext):
    """`none`: stores nothing."""

    def store_conversation(self, conversation: Conversation) -> None:
        """Forget the conversation."""


class Verbatim(FullContext):
    """`verbatim-bm25` and `verbatim-dense`: return the k best memories of an exact search."""

    def __init__(self, search: MakeSearcher) -> None:
        super().__init__()
        self._search = search
        self._index: Searcher | None = None

    def store_conversation(self, conversation: Conversation) -> None:
        """Store each turn of the user; the index is rebuilt when it is next needed."""
        super().store_conversation(conversation)
        self._index = None

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Return the k best memories; memories with equal scores come in the order of storing."""
        if not self.stored:
            return []
        self._index = self._index or self._search(self.stored)
        return [self.stored[position] for position in next(iter(self._index.search([query], k)))]


class Oracle(FullContext):
    """`oracle`: knows which memories a question needs, and returns all of these in the given order.

    k does not limit them: a question that needs four memories would at k = 3 measure k, while the oracle is there to
    measure the reader.
    """

    def __init__(self, gold: Mapping[str, Sequence[str]]) -> None:
        """`gold` has by query the texts that it needs, as the user says them; or parts of these, each under a heading."""
        super().__init__()
        self._gold = gold

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        def is_stored(text: str) -> bool:
            part = text.partition("\n\n")[2]  # behind the heading
            return text in self.stored or (part != "" and any(part in stored for stored in self.stored))

        return [text for text in self._gold.get(query, ()) if is_stored(text)]


BASELINES = ("none", "full-context", "verbatim-bm25", "verbatim-dense", "oracle")
BRING_YOUR_OWN = (
    f"any other as module:Class or path/to/file.py:Class: a class around it with {', '.join(METHODS)}, as in "
    f"epbench.memories.example; or as http://HOST:PORT, mcp:COMMAND or mcp:URL"
)
"""What to tell a user who names a memory system that is not built in."""

_DENSE = "verbatim-dense:"
_HTTP = ("http://", "https://")
_REMOTE = ("http:", "https:", "mcp:")
_HASH = re.compile(rb" -+hash=\S+")
_MINILM = "sentence-transformers/all-MiniLM-L6-v2"


@dataclass(frozen=True)
class _Known:
    """A system that can be installed."""

    module: str  # of its adapter, in `epbench.memories.systems`
    class_name: str
    package: tuple[str, str]  # what it is called in the package index, and its version
    embedder: str  # of the published evaluation, or the system's own default if it was not evaluated
    variables: Mapping[str, str] = field(default_factory=dict)  # see `Installation`
    reserves: float = 0.0  # see `Installation`


_MEM0 = {"MEM0_TELEMETRY": "False"}
_PRICES = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
_LANG = {"LANGCHAIN_TRACING_V2": "false"}
_GRAPHITI = ("graphiti-core", "0.31.1")
_COGNEE = {"TELEMETRY_DISABLED": "1", **_PRICES}

SYSTEMS: Mapping[str, _Known] = {
    "mem0": _Known("mem0", "Mem0", ("mem0ai", "2.2.1"), PUBLISHED_EMBEDDER, _MEM0),
    "mem0-1": _Known("mem0", "Mem0", ("mem0ai", "1.0.11"), PUBLISHED_EMBEDDER, _MEM0),
    "a-mem": _Known("a_mem", "AMem", ("a-mem", "0.2.6"), _MINILM, {"ANONYMIZED_TELEMETRY": "False", **_PRICES}),
    "simplemem": _Known("simplemem", "SimpleMem", ("simplemem", "0.1.0"), _MINILM),
    "langmem": _Known("langmem", "LangMem", ("langmem", "0.0.30"), PUBLISHED_EMBEDDER, _LANG),
    "graphiti": _Known(
        "graphiti", "Graphiti", _GRAPHITI, PUBLISHED_EMBEDDER, {"GRAPHITI_TELEMETRY_ENABLED": "false"}, reserves=8.0
    ),
    "cognee": _Known("cognee", "Cognee", ("cognee", "1.6.5"), PUBLISHED_EMBEDDER, _COGNEE, reserves=128.0),
    "structmem": _Known("structmem", "StructMem", ("lightmem", "checkout"), _MINILM),
}
"""By name, every system that can be installed."""


def load_memory(
    name: str,
    gold: Mapping[str, Sequence[str]] | None = None,
    *,
    limits: Limits | None = None,
    isolation: Isolation = "process",
    variables: Sequence[str] = (),
    endpoint: Endpoint | None = None,
    settings: Mapping[str, str] | None = None,
    source: Path | None = None,
) -> SystemSpec:
    """Find the memory system of this name. No instance of it is made yet.

    Args:
        name: one of `BASELINES`; `verbatim-dense:PATH_OR_ID` for a search by a sentence-transformers model; one of
            `SYSTEMS`, which is installed when it is first used; `module:Class` or `path/to/file.py:Class` for a class of
            the user's own; or `http://HOST:PORT` (or `http:` and that), `mcp:URL` or `mcp:COMMAND` for a server, which is
            asked who it is if it does not speak MCP.
        gold: by query, the texts that it needs, as they are stored. Only the oracle uses it, and it needs it.
        limits: what the system may take; by default 300 s for a call and 8 GB for its process.
        isolation: how code of others is kept apart, see `epbench.memories.process`; baselines run in this process.
        variables: names of environment variables, such as that of a key, that the user's class or an MCP server's command
            gets in its process; the first of them has the key of a server behind an address.
        endpoint: who answers the requests of an installed system; by default OpenAI's gpt-4.1-mini. The command of an MCP
            server finds it where OPENAI_BASE_URL says, with the key in OPENAI_API_KEY; None if it asks no model.
        settings: of an installed system, by name; all others have the published evaluation's values. Of an MCP server, a tool
            for each call, `preset` and `durable`.
        source: folder of the source code of a system that is not in the package index.

    Raises:
        BadInput: the name or a setting is unknown, the class is not a memory system, something it needs is not installed,
            a server does not answer, a limit is out of its range, or the isolation does not work here.
    """
    limits = limits or Limits()
    limits.check()
    if isolation not in ISOLATIONS:
        raise BadInput(f"isolation: expected one of {', '.join(ISOLATIONS)}, got {isolation!r}")
    if isolation == "bwrap" and not _is_baseline(name):
        require_bwrap()
    if name in SYSTEMS:
        if isolation == "none":
            raise BadInput(f"memory system {name!r}: it lives in an environment of its own, not in this process")
        if variables:
            raise BadInput(
                f"memory system {name!r}: it gets no variables of ours, as the run makes its requests for it"
            )
        return replace(_installed(name, endpoint or Endpoint(), settings or {}, source), isolation=isolation)
    remote = name.startswith(_REMOTE)
    if (not remote and (endpoint is not None or settings)) or source is not None:
        raise BadInput(
            f"memory system {name!r}: a model, an embedder and settings can be chosen for {', '.join(SYSTEMS)} only"
        )
    if remote:
        return _remote(name, limits, isolation, variables, settings or {}, endpoint)
    if _is_baseline(name):
        return _baseline(name, gold)
    if ":" not in name:
        there_are = ", ".join([*BASELINES, *SYSTEMS])
        raise BadInput(f"unknown memory system {name!r}; expected one of: {there_are}; {BRING_YOUR_OWN}")
    return import_system(name) if isolation == "none" else describe_system(name, limits, isolation, variables)


def _is_baseline(name: str) -> bool:
    return name in BASELINES or name.startswith(_DENSE)


def _baseline(name: str, gold: Mapping[str, Sequence[str]] | None) -> SystemSpec:
    if name == "none":
        return SystemSpec(name, Nothing, baseline=True, may_be_empty=True)
    if name == "full-context":
        return SystemSpec(name, FullContext, baseline=True, beyond_k=True)
    if name == "oracle":
        if gold is None:
            raise BadInput("memory system 'oracle': expected the texts that each query needs, got none")
        return SystemSpec(name, partial(Oracle, gold), baseline=True, beyond_k=True, knows_gold=True)
    if name == "verbatim-bm25":
        search = load_retriever("bm25")
    elif name == "verbatim-dense":
        from epbench.retrieval.dense import latent_search as search
    elif model := name.removeprefix(_DENSE):
        search = load_retriever(f"st:{model}")  # loaded once, for all stores
    else:
        raise BadInput(f"memory system {name!r}: expected verbatim-dense alone, or verbatim-dense:PATH_OR_ID")
    return SystemSpec(name, partial(Verbatim, search), baseline=True)


def _installed(name: str, endpoint: Endpoint, chosen: Mapping[str, str], source: Path | None) -> SystemSpec:
    """Describe a system of `SYSTEMS`. Nothing is installed or imported yet."""
    known = SYSTEMS[name]
    endpoint = replace(endpoint, embedder=endpoint.embedder or known.embedder)
    endpoint_address(endpoint.url, f"the model of {name}")  # now, and not after its environment has been built
    if endpoint.embedder.startswith("openai:"):
        endpoint_address(endpoint.embedder_url or endpoint.url, f"the embedder of {name}")
    module = f"{systems.__name__}.{known.module}"
    defaults: dict[str, Setting] = dict(importlib.import_module(module).DEFAULTS)
    if ("source" in defaults) != (source is not None):
        wanted = "expected the folder of its source code, got none" if source is None else "it takes no source code"
        raise BadInput(f"memory system {name!r}: {wanted}")
    settings = defaults | {key: _value(name, key, text, defaults) for key, text in chosen.items()}
    if source is not None:
        if not source.is_dir():
            raise BadInput(f"memory system {name!r}: found no folder {source}")
        settings["source"] = str(source.resolve())
    lock = Path(__file__).parent / "systems" / "locks" / f"{name}.txt"
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    sources = sorted(source.rglob("*.py")) if source is not None else []
    files = [Path(spec.origin), Path(spec.origin).with_name("adapter.py"), lock, *sources]
    # Without the hashes of packages, which older locks lack: the versions are the same, and so is the system.
    contents = (_HASH.sub(b"", file.read_bytes()) if file == lock else file.read_bytes() for file in files)
    digest = hashlib.sha256(b"".join(hashlib.sha256(content).digest() for content in contents)).hexdigest()[:16]
    class_name = f"{module}:{known.class_name}"
    installation = Installation(class_name, lock, known.variables, endpoint, known.reserves)
    return SystemSpec(
        name, durable=True, digest=digest, version=" ".join(known.package), settings=settings, installation=installation
    )


def _value(name: str, key: str, text: str, defaults: Mapping[str, Setting]) -> Setting:
    """Read a setting as the type of its default."""
    if key not in defaults or key == "source":
        there_are = ", ".join(f"{key}={value}" for key, value in defaults.items() if key != "source") or "none"
        raise BadInput(
            f"memory system {name!r}: it has no setting {key!r}; its settings and their defaults: {there_are}"
        )
    default = defaults[key]
    kind: Any = float if default is None else type(default)
    try:
        return convert(text, kind, strict=False)  # type: ignore[no-any-return]
    except ValidationError:
        expected = {NoneType: "a number", bool: "true or false"}.get(type(default), f"a value like {default!r}")
        raise BadInput(f"memory system {name!r}, setting {key}: expected {expected}, got {text!r}") from None


def _remote(
    name: str,
    limits: Limits,
    isolation: Isolation,
    variables: Sequence[str],
    settings: Mapping[str, str],
    endpoint: Endpoint | None,
) -> SystemSpec:
    """Describe a system without a class."""
    kind, _, target = name.partition(":")
    target = target if kind == "mcp" or target.startswith(_HTTP) else name
    by_address = kind != "mcp" or target.startswith(_HTTP)
    if by_address:
        _check_address(target)
        for variable in variables[:1]:
            if not checked_key(variable):
                raise BadInput(f"memory system {name!r}: environment variable {variable} is not set")
    if isolation == "none" or (by_address and isolation == "bwrap"):
        raise BadInput(
            f"memory system {name!r}: its client runs in a process of its own; isolation 'process' is for it"
        )
    if endpoint is not None and by_address:
        raise BadInput(f"memory system {name!r}: its models are chosen where its server runs")
    if kind == "mcp":
        return _mcp(name, target, isolation, variables, settings, endpoint)
    if settings:
        raise BadInput(f"memory system {name!r}: it has no settings here; its server has")
    try:
        about = Server(target, limits.seconds, next(iter(variables), "")).call("health", "GET", "/health")
    except CallFailed as error:
        raise BadInput(f"memory system {error}") from None
    version = " ".join(str(about[field]) for field in ("name", "version") if about.get(field))[:100]
    return SystemSpec(
        target,
        durable=about.get("durable") is True,
        version=version,
        client="epbench.memories.servers:HttpMemory",
        variables=tuple(variables),
    )


def _mcp(
    name: str,
    target: str,
    isolation: Isolation,
    variables: Sequence[str],
    settings: Mapping[str, str],
    endpoint: Endpoint | None,
) -> SystemSpec:
    """Describe an MCP server. The folder of a command that asks models is copied as that of an installed system is."""
    if find_spec("mcp") is None:
        raise BadInput(f"memory system {name!r} needs the package mcp: {install_hint('mcp')}")
    preset = settings.get("preset") or next((word for word in PRESETS if word in target), "")
    if preset and preset not in PRESETS:
        raise BadInput(f"memory system {name!r}: unknown preset {preset!r}; there are: {', '.join(PRESETS)}")
    tools = dict(PRESETS[preset].tools) if preset else {}
    tools |= {call: settings[call] for call in CALLS if call in settings}
    unknown = set(settings) - {*CALLS, "preset", "durable"}
    if unknown or len(tools) < len(CALLS):
        wrong = f"unknown setting {min(unknown)!r}" if unknown else "which of its tools store, retrieve and list?"
        raise BadInput(
            f"memory system {name!r}: {wrong} Choose the settings store=TOOL, retrieve=TOOL and list=TOOL, or preset=NAME for "
            f"{' or '.join(PRESETS)}"
        )
    read = [Tool.read(call, tools[call]) for call in CALLS]
    if target.startswith(_HTTP) and not all(tool.has("{store}") for tool in read):
        raise BadInput(
            f"memory system {name!r}: several stores share this server, so each tool needs an argument that tells them "
            f'apart, as in store=\'TOOL {{"content": "{{text}}", "user_id": "{{store}}"}}\''
        )
    if not target.strip():
        raise BadInput(f"memory system {name!r}: expected mcp:COMMAND or mcp:URL")
    keeps = settings.get("durable") == "true" or "{folder}" in target or bool(preset)
    client, installation = "epbench.memories.servers:McpMemory", None
    if endpoint is not None:
        if not keeps:
            raise BadInput(
                f"memory system {name!r}: a system with a model keeps everything in the folder of its store, so that "
                f"nothing is paid for twice; name {{folder}} in its command"
            )
        endpoint_address(endpoint.url, f"the model of {name}")
        asked = replace(endpoint, embedder=endpoint.embedder or PUBLISHED_EMBEDDER)
        installation = Installation(client, None, {}, asked)
    return SystemSpec(
        name,
        durable=keeps,
        settings={**tools, "preset": preset},
        installation=installation,
        isolation=isolation,
        client=client,
        variables=tuple(variables),
    )


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        fine = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        fine = False
    if not fine:
        raise BadInput(f"memory system {shown(url)!r}: expected an address such as http://127.0.0.1:8400")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise BadInput(
            f"memory system {shown(url)!r}: expected an address without login and query; name the environment variable that "
            f"has its key"
        )
