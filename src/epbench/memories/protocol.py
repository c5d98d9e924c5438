"""A memory system: its protocol, and what a run knows of it before there is an instance of it.

A system stores conversations, retrieves memories and lists what it holds.

MemFail, Section 3. A system is any class with the three methods of `MemorySystem`. It may also have

- `finalize()`, which is called once when all conversations have been stored;
- `close()`, which is called when an instance is no longer needed and its process is still there;
- `usage()`, which returns counts since the construction by name, such as `{"swallowed": 2}`: errors that the system has
  caught and hidden (`swallowed`), replies of its model that it could not parse (`unparsable`). A run adds them up;
- a constructor with a parameter `folder`, a `Path` to an empty folder of its own inside the run; any other constructor
  is called without arguments;
- `durable = True`, which says that everything it has stored lies in that folder. A run that was stopped then opens the
  system in the same folder and stores only what is missing. The conversation during which it was stopped is stored
  again; the system can recognise it by its timestamps, which are unique. Any other system starts again from nothing.

A system can rely on the following:

- It has a process of its own, unless the user wants it inside the process of the run. It may print, start threads and
  processes and change its current folder. At the start, that is the folder in which the user gave the command; `folder`
  is an absolute path. Standard input is empty. Of the environment it has `PATH`, `HOME` and the like, and what the user
  passes on. In a sandbox (`bwrap`) it has no network, and can write to `folder` and `/tmp` only.
- All calls come from the main thread of that process, one after the other. Each store has an instance and a process of its
  own.
- When a call exceeds the time limit, or the process ends or runs out of memory, the process is killed with its process
  group, without warning and at any point. That call has failed and is not repeated before the next start of the run. A new
  process continues with the store: a durable system is opened in its folder, with whatever was written there; any other
  system is given all earlier conversations again.
- When a store is closed, its process ends normally and has ten seconds to close its files.
- A reply may hold at most 64 MiB of text.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from epbench.files.secrets import without_login

Conversation = list[dict[str, str]]
"""Turns in order, each with `role` (user or assistant), `content`, and `timestamp` (ISO 8601, simulated)."""


class MemorySystem(Protocol):
    """The methods of every memory system."""

    def store_conversation(self, conversation: Conversation) -> None:
        """Commit to memory what the conversation says."""

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Return at most k memories for the query, best first. Nothing is stored.

        Args:
            query: the question, or whatever else is searched for.
            conversation: the turns before the query; empty if the question opens the conversation.
            k: the largest number of memories to return, at least 1.
        """

    def get_all_memories(self) -> list[str]:
        """Return everything that the system holds, in the form in which a retrieval returns it."""


Isolation: TypeAlias = Literal["none", "process", "bwrap"]
"""How the code of a system is kept apart; `epbench.memories.process` says what each means."""

Setting: TypeAlias = bool | int | float | str | None
"""The value of a setting of a memory system; None leaves a number to the system's model."""


PUBLISHED_MODEL = "gpt-4.1-mini"  # the model inside the systems of the published evaluation (Figure 1)
PUBLISHED_EMBEDDER = "openai:text-embedding-3-small"  # Mem0's embedder there


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Who answers the requests of a memory system to a language model and to an embedder.

    Attributes:
        model: name of the model at the endpoint.
        url: base URL of the endpoint, up to `/v1`; None for OPENAI_BASE_URL, else OpenAI itself.
        embedder: `openai:NAME` for a model at an embeddings endpoint, or `minilm`, a folder or a Hub name for a
            sentence-transformers model that runs here. Empty for the one of the published evaluation.
        embedder_url: base URL of the embeddings endpoint; None for that of the model.
        timeout: seconds that one request may take.
    """

    model: str = PUBLISHED_MODEL
    url: str | None = None
    embedder: str = ""
    embedder_url: str | None = None
    timeout: float = 300.0


@dataclass(frozen=True, slots=True)
class Operation:
    """What a system is doing while it sends requests to its models."""

    method: str = ""  # the method that is called, such as `store_conversation`; empty before the first call
    store: str = ""  # name of the store
    item: str = ""  # id of the conversation or the query; empty for other methods


@dataclass(frozen=True, slots=True)
class Installation:
    """Where a memory system runs that asks models: with a relay to them, and if people install it in its own environment."""

    class_name: str  # `module:Class` of the class around it
    lock: Path | None  # file that lists every package of its environment; None for our own environment
    # Environment variables that must be set before it is imported, such as switches of its telemetry.
    variables: Mapping[str, str]
    endpoint: Endpoint  # who answers its requests
    # Gigabytes of addresses that it reserves without using them; its limit of memory is larger by as much.
    reserves: float = 0.0


@dataclass(frozen=True, slots=True)
class SystemSpec:
    """A memory system of which instances can be made.

    Attributes:
        name: the name by which the user chose it.
        make: the class, or another callable that makes an instance; None for a class that is only ever imported in a
            process of its own.
        durable: whether everything it has stored lies in its folder and outlives the process.
        beyond_k: whether it returns more than k memories by design, as some baselines do.
        baseline: whether it is a baseline and not a system to be compared.
        may_be_empty: whether it stores nothing by design.
        knows_gold: whether it returns exactly the memories that a question needs.
        digest: of the files that the class was loaded from; empty for a baseline.
        version: of the package that has the class; empty if it belongs to none.
        settings: what its constructor gets besides its folder.
        installation: where it runs if it is one of `epbench.memories.systems`; None for any other.
        isolation: how its process is kept apart if it has no `make`.
        variables: names of the environment variables that such a process gets besides those of a short list.
        client: `module:Class` of our client of a system without a class; empty for any other.
    """

    name: str
    make: Any = None
    durable: bool = False
    beyond_k: bool = False
    baseline: bool = False
    may_be_empty: bool = False
    knows_gold: bool = False
    digest: str = ""
    version: str = ""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    installation: Installation | None = None
    isolation: Isolation = "process"
    variables: tuple[str, ...] = ()
    client: str = ""

    @property
    def inner_model(self) -> str:
        """The name of the model inside an installed system; empty for any other."""
        return self.installation.endpoint.model if self.installation else ""

    @property
    def identity(self) -> dict[str, Any]:
        """What tells this system from another one of its name, under the names of run.json; nothing for a baseline."""
        if self.baseline:
            return {}
        about = {"system_version": self.version, "system_digest": self.digest, "system_settings": dict(self.settings)}
        if self.installation is None:
            return about
        endpoint = self.installation.endpoint
        urls = {
            "system_url": without_login(endpoint.url or ""),
            "embedder_url": without_login(endpoint.embedder_url or ""),
        }
        return {**about, "system_model": endpoint.model, "embedder": endpoint.embedder, **urls}

    def open(self, folder: Path) -> MemorySystem:
        """Make an instance; its own folder is passed on if the constructor has a parameter `folder`."""
        made: MemorySystem = self.make(folder=folder) if takes_folder(self.make) else self.make()
        return made


def takes_folder(make: Any) -> bool:
    """Whether a constructor has a parameter `folder`."""
    try:
        return "folder" in inspect.signature(make).parameters
    except (TypeError, ValueError):  # a class of an extension module may have no signature
        return False
