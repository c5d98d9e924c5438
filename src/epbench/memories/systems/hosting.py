"""Where the stores of an installed memory system run: its environment, and the relay that it talks to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from epbench.memories.addresses import LOG
from epbench.memories.guard import Limits
from epbench.memories.process import Home, ProcessGuard
from epbench.memories.relay.calls import Operation
from epbench.memories.relay.server import PLACEHOLDER, Relay
from epbench.memories.spec import Setting, SystemSpec
from epbench.memories.systems.environment import environment_python, variables_for


class Hosting:
    """The environment and the relay of one run, both made when the first store is opened."""

    def __init__(self, system: SystemSpec, folder: Path) -> None:
        """
        Args:
            system: with an installation.
            folder: of the run.
        """
        self._system, self._folder = system, folder
        self._relay: Relay | None = None

    def home(self, store: Path) -> Home:
        """Return the environment of the process that serves the store in a folder.

        Raises:
            BadInput: the environment cannot be built, or the endpoint or the embedder cannot be used.
            RunFailed: the embeddings endpoint does not answer.
        """
        installation = self._system.installation
        assert installation is not None
        python = environment_python(installation.lock)
        if self._relay is None:
            self._relay = Relay(installation.endpoint, self._folder, store.parent / LOG)
        settings: dict[str, Setting] = {
            **self._system.settings,
            "model": installation.endpoint.model,
            "base_url": self._relay.base_url,
            "api_key": PLACEHOLDER,
            "embedding_model": installation.endpoint.embedder.removeprefix("openai:"),
            "dimensions": self._relay.dimensions,
        }
        keys = {"OPENAI_API_KEY": PLACEHOLDER, "OPENAI_BASE_URL": self._relay.base_url}
        variables = variables_for(store, self._relay.base_url, {**keys, **installation.variables})
        return Home(python, variables, self._relay.address, settings)

    def begin(self, operation: Operation) -> None:
        """Say what the system does from now on; its requests are noted under it."""
        if self._relay is not None:
            self._relay.begin(operation)

    def close(self) -> None:
        """Stop the relay."""
        if self._relay is not None:
            self._relay.close()


def process_guard(
    system: SystemSpec, limits: Limits, log: Path, hosting: Hosting | None, addresses: Path | None = None
) -> ProcessGuard:
    """Return what keeps a system in a process of its own: in its own environment if it is installed, else in ours.

    Args:
        system: the system.
        limits: of a call and of the memory.
        log: file for what it prints.
        hosting: of an installed system; None for any other.
        addresses: file for the addresses beyond this machine that a system asks for in our environment; None notes none.
    """
    if system.installation is None or hosting is None:
        return ProcessGuard(system.name, limits, log, addresses=addresses)
    limits = replace(limits, gigabytes=limits.gigabytes + system.installation.reserves)
    return ProcessGuard(system.installation.class_name, limits, log, hosting.home)
