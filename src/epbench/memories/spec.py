"""What a run knows of a memory system before there is an instance of it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from epbench.files.secrets import without_login
from epbench.memories.isolation import Isolation
from epbench.memories.protocol import MemorySystem

Setting: TypeAlias = bool | int | float | str | None
"""The value of a setting of a memory system; None leaves a number to the system's model."""


PUBLISHED_MODEL = "gpt-4.1-mini"
"""The model inside the systems of the published evaluation (Figure 1)."""


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
class Installation:
    """Where a memory system runs that people install: in an environment of its own, with a relay to its models."""

    class_name: str  # `module:Class` of the class around it
    lock: Path  # file that lists every package of its environment
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
        """Make an instance.

        Args:
            folder: the instance's own folder; it is passed on if the constructor has a parameter `folder`.
        """
        made: MemorySystem = self.make(folder=folder) if takes_folder(self.make) else self.make()
        return made


def takes_folder(make: Any) -> bool:
    """Whether a constructor has a parameter `folder`."""
    try:
        return "folder" in inspect.signature(make).parameters
    except (TypeError, ValueError):  # a class of an extension module may have no signature
        return False
