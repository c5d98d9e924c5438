"""Where a memory system runs: in the environment of an installed one, which is built once from its lock, or in our own.

An installed system talks to its models by a relay, and so does the command of a server that asks models. Of a server, our client
runs in our environment.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

from epbench.errors import BadInput
from epbench.files.cache import cache_folder
from epbench.files.secrets import without_secrets
from epbench.memories.guard import Limits
from epbench.memories.process import ELSEWHERE, PACKAGE, Home, ProcessGuard, clean_environment, own_home, sandbox
from epbench.memories.protocol import Installation, Setting, SystemSpec
from epbench.memories.relay import Relay
from epbench.progress import counter

_SHARE = 0.95  # of the limit of a call, after which our client gives up; so its message names the server


class Hosting:
    """The environment and the relay of one run, both made when the first store is opened, if the system has them."""

    def __init__(self, system: SystemSpec, folder: Path) -> None:
        self._system, self._folder = system, folder
        self.relay: Relay | None = None

    def guard(self, limits: Limits, log: Path) -> ProcessGuard:
        """Return what keeps the system in a process of its own: in its own environment if it is installed, else in ours."""
        system = self._system
        if (installation := system.installation) is not None:
            home = partial(self._home, installation, limits)
            limits = replace(limits, gigabytes=limits.gigabytes + installation.reserves)
            return ProcessGuard(installation.class_name, limits, log, home)
        if system.client:
            return ProcessGuard(system.client, limits, log, partial(_home_of_client, system, limits))
        return ProcessGuard(
            system.name, limits, log, partial(own_home, system.name, system.isolation, system.variables)
        )

    def _home(self, installation: Installation, limits: Limits, store: Path) -> Home:
        """Return how the process that serves the store in a folder is started; see `environment_python` and `Relay`."""
        python = environment_python(installation.lock) if installation.lock is not None else None
        sandboxed = self._system.isolation == "bwrap"
        relay = self.relay = self.relay or Relay(installation.endpoint, self._folder, by_socket=sandboxed)
        keys = {"OPENAI_API_KEY": relay.admit(), "OPENAI_BASE_URL": relay.base_url}
        if python is None:  # our client of a system without a class, whose command asks the relay
            home = _home_of_client(self._system, limits, store, relay.socket if sandboxed else None)
            return replace(home, variables={**home.variables, **keys}, port=relay.port if sandboxed else None)
        settings: dict[str, Setting] = {
            **self._system.settings,
            "model": installation.endpoint.model,
            "base_url": relay.base_url,
            "api_key": keys["OPENAI_API_KEY"],
            "embedding_model": installation.endpoint.embedder.removeprefix("openai:"),
            "dimensions": relay.dimensions,
        }
        quiet = {"DO_NOT_TRACK": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONUTF8": "1"}
        # The home folder is that of the store, so that nothing is written into the user's.
        variables = {**clean_environment(), "HOME": str(store), **quiet, **keys, **installation.variables}
        command = [str(python), *ELSEWHERE]
        if not sandboxed:
            return Home(command, variables, settings)
        file = Path(installation.class_name.rpartition(":")[0])  # a file if it is no module of ours
        source = [Path(str(settings["source"]))] if "source" in settings else []
        mounts = [python.parents[1], Path(sys.base_prefix), PACKAGE, *source, *([file] if file.suffix == ".py" else [])]
        command = [*sandbox(store, mounts, store, relay.socket), *command]
        return Home(command, variables | {"TMPDIR": "/tmp"}, settings, relay.port)

    def close(self) -> None:
        if self.relay is not None:
            self.relay.close()


def _home_of_client(system: SystemSpec, limits: Limits, store: Path, relay: Path | None = None) -> Home:
    """Return how the process of our client of a server is started; see `own_home`."""
    target = system.name.removeprefix("mcp:")
    home = own_home(system.client, system.isolation, system.variables, store, tuple(_files_of(target)), relay)
    key = next(iter(system.variables), "")
    settings: dict[str, Setting] = {**system.settings, "target": target, "durable": system.durable, "key": key}
    return replace(home, settings=settings | {"seconds": limits.seconds * _SHARE})


def _files_of(command: str) -> Iterator[Path]:
    """The folders with the programs and files that a command names, and with the interpreter of an environment."""
    if command.startswith(("http://", "https://")):
        return
    for word in shlex.split(command):
        if (found := shutil.which(word) or (word if Path(word).is_file() else None)) is None:
            continue
        for path in dict.fromkeys((Path(found).absolute(), Path(found).resolve())):
            yield next((parent for parent in path.parents if parent.name == "node_modules"), path.parents[1])
            if (python := path.parent / "python").exists():
                yield python.resolve().parents[1]


_FOR_PYTHON = re.compile(r"^# python: (\d+)\.(\d+) to (\d+)\.(\d+)$", re.M)
_REQUIREMENT = re.compile(r"^[A-Za-z0-9]", re.M)
# Wheels run nothing when they are installed. langdetect, which cognee needs, has none: its source is known by its hash.
_INSTALL = "-m pip install --no-deps --require-hashes --only-binary :all: --no-binary langdetect --no-input -r"
_FOR_PIP = re.compile(r"PIP_\w+|(https?|all|no)_proxy", re.I)  # how it reaches its index


def environment_python(lock: Path) -> Path:
    """Return the interpreter of the environment of a lock; the environment is built if there is none yet.

    A lock is a list of packages with exact versions and the hashes of their files. A comment `# python: 3.11 to 3.13` says for
    which versions of Python it was made. `BadInput` if there is no such lock, it is for another Python, or a package cannot be
    installed, which is also so if it has no wheel or other contents than the lock says.
    """
    if not lock.is_file():
        raise BadInput(f"{lock}: expected the list of packages of a memory system, found no such file")
    if (match := _FOR_PYTHON.search(lock.read_text("utf-8"))) is not None:
        low, high = (int(match[1]), int(match[2])), (int(match[3]), int(match[4]))
        if not low <= sys.version_info[:2] <= high:
            given, needed = "{}.{}".format(*sys.version_info), "{}.{} to {}.{}".format(*low, *high)
            raise BadInput(f"{lock}: it is for Python {needed}, this is {given}; run epbench with one of these")
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    folder = cache_folder("systems") / f"{lock.stem}-{digest}-py{sys.version_info[0]}{sys.version_info[1]}"
    if not folder.exists():
        _build(lock, folder)
    return folder / "bin/python"


def _build(lock: Path, folder: Path) -> None:
    """Build the environment beside its place, and move it there when it is complete."""
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / f".{folder.name}.lock"):
        if folder.exists():  # another process has built it meanwhile
            return
        draft = folder.with_name(f"{folder.name}.draft")
        shutil.rmtree(draft, ignore_errors=True)
        try:
            _run([sys.executable, "-m", "venv", str(draft)], lock)
            command = [str(draft / "bin/python"), *shlex.split(_INSTALL), str(lock)]
            n, collected = len(_REQUIREMENT.findall(lock.read_text("utf-8"))), count(1)
            with counter(f"packages of {lock.stem}", n) as reach:
                _run(command, lock, lambda line: reach(next(collected), 0) if line.startswith("Collecting ") else None)
            draft.replace(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def _run(command: list[str], lock: Path, see: Callable[[str], None] = lambda line: None) -> None:
    """Run a command of the build; what it prints last explains a failure."""
    lines: list[str] = []
    with subprocess.Popen(
        command,
        env=clean_environment(filter(_FOR_PIP.fullmatch, os.environ)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip():
                lines.append(line.strip())
            see(line)
    if process.returncode:
        said = next((line for line in reversed(lines) if "ERROR" in line), lines[-1] if lines else "it printed nothing")
        raise BadInput(
            f"{lock}: the environment of this memory system cannot be built: {without_secrets(said)[:300]}; it needs a "
            f"package index once, and is kept in {cache_folder('systems')}"
        )
