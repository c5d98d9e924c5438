"""Where the stores of an installed memory system run: its environment, and the relay that it talks to."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from epbench.memories.guard import Limits
from epbench.memories.isolation import sandbox
from epbench.memories.process import PACKAGE, Home, ProcessGuard, command_elsewhere, own_home
from epbench.memories.relay.calls import Operation
from epbench.memories.relay.server import Relay
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
        """Return how the process that serves the store in a folder is started.

        Raises:
            BadInput: the environment cannot be built, or the endpoint or the embedder cannot be used.
            RunFailed: the embeddings endpoint does not answer.
        """
        installation = self._system.installation
        assert installation is not None
        python = environment_python(installation.lock)
        sandboxed = self._system.isolation == "bwrap"
        if self._relay is None:
            self._relay = Relay(installation.endpoint, self._folder, by_socket=sandboxed)
        token = self._relay.admit()
        settings: dict[str, Setting] = {
            **self._system.settings,
            "model": installation.endpoint.model,
            "base_url": self._relay.base_url,
            "api_key": token,
            "embedding_model": installation.endpoint.embedder.removeprefix("openai:"),
            "dimensions": self._relay.dimensions,
        }
        keys = {"OPENAI_API_KEY": token, "OPENAI_BASE_URL": self._relay.base_url}
        variables = variables_for(store, {**keys, **installation.variables})
        command = command_elsewhere(python)
        if not sandboxed:
            return Home(command, variables, settings)
        own = Path(installation.class_name.rpartition(":")[0])  # a file if it is no module of ours
        source = [Path(str(settings["source"]))] if "source" in settings else []
        visible = [python.parents[1], Path(sys.base_prefix), PACKAGE, *source, *([own] if own.suffix == ".py" else [])]
        command = [*sandbox(store, visible, store, self._relay.socket), *command]
        return Home(command, variables | {"TMPDIR": "/tmp"}, settings, self._relay.port)

    def begin(self, operation: Operation) -> None:
        """Say what the system does from now on; its requests are noted under it."""
        if self._relay is not None:
            self._relay.begin(operation)

    def close(self) -> None:
        """Stop the relay."""
        if self._relay is not None:
            self._relay.close()


def process_guard(system: SystemSpec, limits: Limits, log: Path, hosting: Hosting | None) -> ProcessGuard:
    """Return what keeps a system in a process of its own: in its own environment if it is installed, else in ours.

    Args:
        system: the system.
        limits: of a call and of the memory.
        log: file for what it prints.
        hosting: of an installed system; None for any other.
    """
    if system.installation is None or hosting is None:
        home = partial(own_home, system.name, system.isolation, system.variables)
        return ProcessGuard(system.name, limits, log, home, shared=system.isolation != "bwrap")
    limits = replace(limits, gigabytes=limits.gigabytes + system.installation.reserves)
    return ProcessGuard(system.installation.class_name, limits, log, hosting.home, shared=False)
