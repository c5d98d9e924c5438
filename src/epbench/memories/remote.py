"""Memory systems without a class: a server behind an address (`http://…`), or one that speaks MCP (`mcp:…`).

Of a server nothing runs here but our client, in a process for each store, as of any system. The command of an MCP server is
started by that process, and within bubblewrap with it.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from epbench.errors import BadInput, CallFailed
from epbench.files.secrets import checked_key
from epbench.memories.guard import Limits
from epbench.memories.http_memory import Server
from epbench.memories.mcp_memory import CALLS, PRESETS, Tool
from epbench.memories.process import Home, own_home
from epbench.memories.protocol import PUBLISHED_EMBEDDER, Endpoint, Installation, Isolation, Setting, SystemSpec
from epbench.models.openai.address import endpoint_address, shown
from epbench.starting.extras import install_hint

_HTTP = ("http://", "https://")
_PREFIXES = ("http:", "https:", "mcp:")
_SHARE = 0.95  # of the limit of a call, after which our client gives up; so its message names the server


def is_remote(name: str) -> bool:
    """Whether a memory system is named by an address or by the command of an MCP server."""
    return name.startswith(_PREFIXES)


def describe_remote(
    name: str,
    limits: Limits,
    isolation: Isolation,
    variables: Sequence[str],
    settings: Mapping[str, str],
    endpoint: Endpoint | None = None,
) -> SystemSpec:
    """Describe a memory system without a class; a server behind HTTP is asked who it is.

    The name is `http://HOST:PORT` (or `http:` and that), `mcp:URL` or `mcp:COMMAND`. The first of the environment variables has
    the key of a server; a command gets all of them. `settings` are those of an MCP server: a tool for each of `CALLS`, `preset`,
    and `durable`. `endpoint` answers the requests of a command to models, which finds them where OPENAI_BASE_URL says, with the
    key in OPENAI_API_KEY; None if it makes none.

    Raises:
        BadInput: The address or a setting cannot be used, the package `mcp` is missing, or the server does not answer.
    """
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
        system = _mcp(name, target, isolation, variables, settings)
        return system if endpoint is None else replace(system, installation=_asking(system, endpoint))
    if settings:
        raise BadInput(f"memory system {name!r}: it has no settings here; its server has")
    try:
        about = Server(target, limits.seconds, next(iter(variables), "")).call("health", "GET", "/health")
    except CallFailed as error:
        raise BadInput(f"memory system {error}") from None
    version = " ".join(str(about[field]) for field in ("name", "version") if about.get(field))[:100]
    return SystemSpec(
        target, durable=about.get("durable") is True, version=version,
        client="epbench.memories.http_memory:HttpMemory", variables=tuple(variables),
    )  # fmt: skip


def _mcp(
    name: str, target: str, isolation: Isolation, variables: Sequence[str], settings: Mapping[str, str]
) -> SystemSpec:
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
    chosen: dict[str, Setting] = {**tools, "preset": preset}
    return SystemSpec(
        name, durable=keeps, settings=chosen, isolation=isolation,
        client="epbench.memories.mcp_memory:McpMemory", variables=tuple(variables),
    )  # fmt: skip


def _asking(system: SystemSpec, endpoint: Endpoint) -> Installation:
    """A command that asks models by the relay; its folder is copied as that of an installed system is."""
    if not system.durable:
        raise BadInput(
            f"memory system {system.name!r}: a system with a model keeps everything in the folder of its store, so that "
            f"nothing is paid for twice; name {{folder}} in its command"
        )
    endpoint = replace(endpoint, embedder=endpoint.embedder or PUBLISHED_EMBEDDER)
    endpoint_address(endpoint.url, f"the model of {system.name}")
    return Installation(system.client, None, {}, endpoint)


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


def remote_home(system: SystemSpec, limits: Limits, store: Path, relay: Path | None = None) -> Home:
    """Return how the process of the client is started; see `own_home`."""
    target = system.name.removeprefix("mcp:")
    home = own_home(system.client, system.isolation, system.variables, store, tuple(_files_of(target)), relay)
    runtime: dict[str, Setting] = {
        "target": target,
        "durable": system.durable,
        "seconds": limits.seconds * _SHARE,
        "key": next(iter(system.variables), ""),
    }
    return replace(home, settings={**system.settings, **runtime})


def _files_of(command: str) -> Iterator[Path]:
    """The folders with the programs and files that a command names, and with the interpreter of an environment."""
    if command.startswith(_HTTP):
        return
    for word in shlex.split(command):
        if (found := shutil.which(word) or (word if Path(word).is_file() else None)) is None:
            continue
        for path in dict.fromkeys((Path(found).absolute(), Path(found).resolve())):
            yield next((parent for parent in path.parents if parent.name == "node_modules"), path.parents[1])
            if (python := path.parent / "python").exists():
                yield python.resolve().parents[1]
