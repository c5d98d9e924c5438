"""A memory system in a process of its own, which is killed when it hangs and replaced when it has died."""

from __future__ import annotations

import codecs
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from epbench.errors import BadInput, CallFailed, SystemLost
from epbench.files.secrets import without_secrets
from epbench.memories.child import LOAD, MARK, PIECE, kill_marked, pack, unpack
from epbench.memories.guard import EXIT_LIMIT, OPEN, REPLY_LIMIT, Limits, Log, no_answer, one_line, texts_of
from epbench.memories.isolation import Isolation, clean_environment, hide_environment, sandbox
from epbench.memories.spec import Setting, SystemSpec

START_LIMIT = 600.0
"""Seconds in which a process has to start and import the module of the system."""

PACKAGE = Path(__file__).parents[1]
"""The folder of this package, which an environment that does not have it loads it from."""
_MESSAGE_LIMIT = 8 * REPLY_LIMIT  # JSON may need six bytes for one
_POLL_S = 0.5  # how often to check that the process is still there
_LONGEST_LINE = 1 << 20  # characters; the beginning of a longer line is logged before its end has been printed
_LONGEST_SECRET = 4096
# -P keeps files in the current folder from hiding the standard library.
_FLAGS = ("-P", "-u", "-X", "faulthandler", "-c")
# The path is set before anything is imported.
_START = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from epbench.memories.child import main; main()"
# In an environment that does not have epbench, the package is loaded from its folder, and nothing beside it is visible.
_START_ELSEWHERE = (
    "import importlib.util as u, sys; where = sys.argv.pop(1); "
    "spec = u.spec_from_file_location('epbench', where + '/__init__.py', submodule_search_locations=[where]); "
    "sys.modules['epbench'] = module = u.module_from_spec(spec); spec.loader.exec_module(module); "
    "from epbench.memories.child import main; main()"
)


@dataclass(frozen=True)
class Home:
    """How the process of a system is started."""

    command: Sequence[str]  # the command, up to the arguments of `epbench.memories.child.main`
    variables: Mapping[str, str]  # all environment variables of the process
    settings: Mapping[str, Setting] | None = None  # what the class gets as `settings`; None for nothing
    port: int | None = None  # in a sandbox, the port at which it finds the relay; None for no relay


def own_home(name: str, isolation: Isolation, variables: Sequence[str], store: Path) -> Home:
    """Return how a class of the user's own is started: with our interpreter and our packages.

    Args:
        name: Of the class, as for `describe_system`.
        isolation: `process` or `bwrap`.
        variables: Names of the environment variables that it gets besides those of `clean_environment`.
        store: Folder of the store, for the sandbox.
    """
    command, environment = [sys.executable, *_FLAGS, _START, json.dumps(sys.path)], clean_environment(variables)
    if isolation == "bwrap":
        current, file = Path.cwd(), Path(name.rpartition(":")[0]).absolute()
        models = Path(os.environ.get("HF_HUB_CACHE") or Path.home() / ".cache/huggingface/hub")
        own = [file, file.parent] if file.suffix == ".py" else []
        wanted = [current, *own, *map(Path, (sys.prefix, sys.base_prefix, *filter(None, sys.path))), models]
        command = [*sandbox(store, [path for path in wanted if path.exists()], current), *command]
        environment |= {"HOME": "/tmp", "TMPDIR": "/tmp", "HF_HUB_CACHE": str(models)}
    return Home(command, environment)


def command_elsewhere(python: Path) -> list[str]:
    """Return the command of a `Home` with the interpreter of another environment, which does not have this package."""
    return [str(python), *_FLAGS, _START_ELSEWHERE, str(PACKAGE)]


def describe_system(
    name: str, limits: Limits | None = None, isolation: Isolation = "process", variables: Sequence[str] = ()
) -> SystemSpec:
    """Find the class behind `module:Class` or `path/to/file.py:Class`, importing it in a process of its own only.

    Args:
        name: Of the class, as for `epbench.memories.user_class.import_system`.
        limits: Of the memory of that process. The time to import the module is limited by `START_LIMIT`.
        isolation: `process` or `bwrap`, for that process and those of a run.
        variables: Names of the environment variables that they get besides those of `clean_environment`.

    Returns:
        A system without `make`, because a `ProcessGuard` makes its instances.

    Raises:
        BadInput: There is no such module or class, the module cannot be imported, or the class is not a memory system.
    """
    if not hasattr(os, "fork"):
        raise BadInput(
            f"memory system {name!r}: this platform has no fork() for a process of its own; run the system in this process"
        )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        log, store = Path(scratch) / "log", Path(scratch) / "stores" / "none"
        store.mkdir(parents=True)
        child = _Child(limits or Limits(), log, own_home(name, isolation, variables, store))
        try:
            about = child.load(name)
        except CallFailed as error:
            child.kill()
            lines = log.read_text("utf-8", "replace").split("\n")
            last = next((f"; it printed last: {line.strip()}" for line in reversed(lines) if line.strip()), "")
            reason = one_line(f"{error}{last}")
            raise BadInput(f"memory system {name!r}: its module cannot be imported ({reason})") from None
        finally:
            child.end()
    digest, version = about.get("digest"), about.get("version")
    return SystemSpec(
        name, durable=about.get("durable") is True, digest=str(digest or ""), version=str(version or ""),
        isolation=isolation, variables=tuple(variables),
    )  # fmt: skip


class ProcessGuard:
    """A `Guard` that keeps the instance in a process of its own.

    In our own environment, one process serves all stores of a run, one after the other. Each store has a new instance, but
    Python is started and the module imported only once. A process that died, or in which a call hung, is never used
    again; the next `open` starts another. An installed system, and any system in a sandbox, has a process for each store.
    """

    def __init__(self, name: str, limits: Limits, log: Path, home: Callable[[Path], Home], *, shared: bool) -> None:
        """
        Args:
            name: Of the system, as for `describe_system`.
            limits: Of a call and of the memory.
            log: File to which everything that the system prints, and the traceback of what it raises, is appended.
            home: Returns how the process that serves the store in a folder is started.
            shared: Whether one process may serve all stores.
        """
        self._name, self._limits, self._log, self._home, self._shared = name, limits, log, home, shared
        self._child: _Child | None = None

    def open(self, folder: Path) -> None:
        """See `Guard.open`.

        Raises:
            BadInput: the class is no longer a memory system.
        """
        if not self._shared:
            self.close()
        if self._child is None:
            child = _Child(self._limits, self._log, self._home(folder))
            try:
                child.load(self._name)
            except BaseException:
                child.kill()
                raise
            self._child = child
        self.call(OPEN, str(folder))

    def call(self, method: str, *args: Any) -> list[str] | None:
        """See `Guard.call`."""
        if self._child is None:
            raise SystemLost("there is no instance to call")
        try:
            found: list[str] | None = self._child.ask(method, args, self._limits.seconds).get("found")
            return found
        except SystemLost:
            self._child = None
            raise

    @property
    def pid(self) -> int | None:
        """Number of the process, which leads a group of its own; None if there is none."""
        return self._child.pid if self._child is not None else None

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.end()
            self._child = None


class _Child:
    """The process of a system, seen from its parent."""

    def __init__(self, limits: Limits, log: Path, home: Home) -> None:
        hide_environment()
        self._limits, self._home = limits, home
        self._mark = secrets.token_hex(16)
        self._channel, theirs = socket.socketpair()
        read, self._lifeline = os.pipe()  # our end closes when this process dies, however that happens
        output = Log(log)
        self._process = subprocess.Popen(
            [*home.command, *map(str, (theirs.fileno(), read, limits.bytes))],
            env={**home.variables, MARK: self._mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(theirs.fileno(), read),
            start_new_session=True,  # so that it dies with all that it started, and Ctrl-C reaches only us
        )
        theirs.close()
        os.close(read)
        assert self._process.stdout is not None
        self._printer = threading.Thread(target=_copy, args=(self._process.stdout, output), daemon=True)
        self._printer.start()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def load(self, name: str) -> dict[str, Any]:
        """Have the class imported; return what the process says of it."""
        settings = None if self._home.settings is None else dict(self._home.settings)
        return self.ask(LOAD, [name, settings, self._home.port], START_LIMIT)

    def ask(self, method: str, args: Sequence[Any], seconds: float) -> dict[str, Any]:
        """Send a call and wait at most `seconds` for the reply."""
        deadline = time.monotonic() + seconds
        try:
            self._channel.settimeout(min(seconds, START_LIMIT))
            self._channel.sendall(pack({"method": method, "args": args}))
            reply = unpack(partial(self._read, deadline=deadline), _MESSAGE_LIMIT)
            if reply.get("out_of_memory"):
                raise SystemLost(f"out of memory: the limit of its process is {self._limits.gigabytes:g} GB")
            if reply.get("found") is not None:
                reply["found"] = texts_of(reply["found"])
            elif not reply.keys() & {"found", "failed", *(["refused"] if method == LOAD else [])}:
                raise ValueError(f"expected the result of {method}(), got none")
        except TimeoutError:
            self.kill()
            raise SystemLost(no_answer(seconds)) from None
        except OSError:
            raise SystemLost(self._end()) from None
        except BaseException as error:  # includes an interrupt: an open call must not go on
            self.kill()
            if isinstance(error, (ValueError, CallFailed)) and not isinstance(error, SystemLost):
                raise SystemLost(one_line(f"the system's process did not send a valid reply: {error}")) from None
            raise
        if method == LOAD and "refused" in reply:
            raise BadInput(one_line(str(reply["refused"]), longest=None))
        if "failed" in reply:
            raise CallFailed(one_line(str(reply["failed"])))
        return reply

    def _read(self, size: int, deadline: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._channel.settimeout(min(left, _POLL_S))
            try:
                piece = self._channel.recv(min(size - len(data), PIECE))
            except TimeoutError:
                if self._process.poll() is not None:  # one that it started may keep the socket open
                    raise ConnectionResetError from None
                continue
            if not piece:
                raise ConnectionResetError
            data += piece
        return bytes(data)

    def _end(self) -> str:
        """Say how the process ended that has closed its socket."""
        try:
            status = self._process.wait(EXIT_LIMIT)
        except subprocess.TimeoutExpired:
            self.kill()
            return "the system's process closed its connection and was killed"
        self.kill()
        if self._home.command[0] == "bwrap" and status > 128:  # its way to say that a signal ended the process
            status = 128 - status
        if status >= 0:
            return f"the system's process ended with status {status}"
        killed = f"the system's process was killed by signal {-status} ({signal.strsignal(-status)})"
        return f"{killed}; memory may have run out" if -status == signal.SIGKILL else killed

    def end(self) -> None:
        """Let the process end by itself, so that a system can close its files; then kill what is left of it."""
        self._channel.close()
        try:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(EXIT_LIMIT)
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the process and everything that it started, unless this has been done before; see `kill_marked`."""
        if self._lifeline < 0:
            return
        kill_marked(self._mark)
        with suppress(ProcessLookupError, PermissionError):  # nothing is left, or on macOS only zombies
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._printer.join(EXIT_LIMIT)  # for the last output, unless something outside the group keeps it open
        self._channel.close()
        os.close(self._lifeline)
        self._lifeline = -1


def _copy(printed: IO[bytes], log: Log) -> None:
    """Append what a process prints to its log until nothing can print there any more."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    pending = ""
    with printed, log:
        while True:
            piece = os.read(printed.fileno(), 1 << 16)
            pending += decode(piece, final=not piece)
            whole = len(pending) if not piece else pending.rfind("\n") + 1
            if not whole and len(pending) > _LONGEST_LINE:
                pending = without_secrets(pending)
                whole = len(pending) - _LONGEST_SECRET  # a secret may lie across the cut
            if whole > 0:
                with suppress(OSError):  # a full disk must not stop the system; writing the journals will report it
                    log.write(pending[:whole])
                pending = pending[whole:]
            if not piece:
                return
