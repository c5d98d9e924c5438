"""A memory system in a process of its own for each store, which is killed when it hangs and replaced when it has died.

What such a process can see and reach is the user's choice:

- `none`: the class runs in this process, and nothing limits it.
- `process`: a process of its own with a clean environment and limits on time, memory and output. It runs as the same
  user, so it can read the user's files and reach the network.
- `bwrap`: such a process inside bubblewrap. It has no network but the relay to its model, sees no processes but its own
  and no files but those of Python, its class and its store, and can write only to its store and a private `/tmp`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, CallFailed, SystemLost
from epbench.memories.guard import CLOSE, EXIT_LIMIT, OPEN, REPLY_LIMIT, Limits, Log, copy_printed, one_line
from epbench.memories.protocol import Isolation, Setting, SystemSpec
from epbench.memories.worker import LOAD, OUT_OF_MEMORY, RELAY_SOCKET

ISOLATIONS: tuple[Isolation, ...] = ("none", "process", "bwrap")
START_LIMIT = 600.0  # seconds in which a process has to start and import the module of the system
PACKAGE = Path(__file__).parents[1]

_PASSED_ON = """
    PATH HOME USER LOGNAME LANG LANGUAGE LC_ALL LC_CTYPE TZ TMPDIR SYSTEMROOT LD_LIBRARY_PATH SSL_CERT_FILE
    SSL_CERT_DIR REQUESTS_CA_BUNDLE XDG_CACHE_HOME EPBENCH_CACHE HF_HOME HF_HUB_CACHE HF_HUB_OFFLINE
    TRANSFORMERS_OFFLINE TOKENIZERS_PARALLELISM CUDA_VISIBLE_DEVICES OMP_NUM_THREADS
""".split()
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/sys/devices/system/cpu"),
    *("/etc/alternatives", "/etc/group", "/etc/hosts", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf"),
    *("/etc/passwd", "/etc/ca-certificates", "/etc/ssl", "/etc/pki"),
)
_BWRAP = """
    bwrap --die-with-parent --unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --cap-drop
    ALL --proc /proc --dev /dev --tmpfs /tmp
""".split()
_PR_SET_DUMPABLE = 4
_MESSAGE_LIMIT = 8 * REPLY_LIMIT  # JSON may need six bytes for one
# -P keeps files in the current folder from hiding the standard library.
_FLAGS = ("-P", "-u", "-X", "faulthandler", "-c")
# The path is set before anything is imported.
_START = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from epbench.memories.worker import main; main()"
ELSEWHERE = (
    *_FLAGS,
    "import importlib.util as u, sys; where = sys.argv.pop(1); "
    "spec = u.spec_from_file_location('epbench', where + '/__init__.py', submodule_search_locations=[where]); "
    "sys.modules['epbench'] = module = u.module_from_spec(spec); spec.loader.exec_module(module); "
    "from epbench.memories.worker import main; main()",
    str(PACKAGE),
)
"""What follows the interpreter of an environment without epbench: it is loaded from its folder, and nothing beside it."""


def clean_environment(more: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment variables that foreign code gets: those of a short list, and so no keys, and `more`."""
    return {name: os.environ[name] for name in (*_PASSED_ON, *more) if name in os.environ}


@cache
def hide_environment() -> None:
    """Remove this process's variables from `/proc`, and keep other processes of the user out of its memory (Linux only).

    `os.environ` keeps them, and so do processes that are started from here. Root can still read the memory.
    """
    if sys.platform != "linux":
        return
    import ctypes

    for name, value in os.environ.items():
        os.environ[name] = value  # a copy elsewhere in memory, for native code and for new processes
    start, end = map(int, Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()[47:49])
    ctypes.memset(start, 0, end - start)
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


@cache
def require_bwrap() -> None:
    """Check that bubblewrap is installed, and that this machine lets it make namespaces; else `BadInput`."""
    if shutil.which("bwrap") is None:
        raise BadInput("isolation 'bwrap': found no bubblewrap; install it, as in 'apt-get install bubblewrap'")
    tried = subprocess.run([*_BWRAP, "--ro-bind", "/", "/", "true"], capture_output=True, text=True, errors="replace")
    if tried.returncode:
        raise BadInput(
            f"isolation 'bwrap': bubblewrap does not work here ({' '.join(tried.stderr.split())[:200]}); allow user "
            f"namespaces, or choose 'process'"
        )


def sandbox(store: Path, visible: Sequence[Path], current: Path, relay: Path | None = None) -> list[str]:
    """Return the command that starts another one in bubblewrap.

    The folder of the store, two levels below the run's, can be written to, and the rest of the run is hidden. Of what is
    `visible`, that is left out which would show the user's home folder; `BadInput` if the `current` folder would. `relay` is the
    socket of the relay; None for no connection to anything.
    """
    home = Path.home().resolve()
    if home.is_relative_to(current.resolve()):
        raise BadInput(
            f"isolation 'bwrap': {current} holds your home folder, which has to be hidden; start from the folder of the class"
        )
    mounts = [("--tmpfs", store.parents[1])]
    mounts += [("--ro-bind", path) for path in dict.fromkeys(visible) if not home.is_relative_to(path.resolve())]
    mounts.append(("--bind", store))
    command = [*_BWRAP, *(word for path in _SYSTEM for word in ("--ro-bind-try", path, path))]
    for how, path in sorted(mounts, key=lambda mount: len(mount[1].parts)):  # a folder before what lies in it
        command += [how, str(path)] if how == "--tmpfs" else [how, str(path), str(path)]
    if relay is not None:
        command += ["--bind", str(relay), RELAY_SOCKET]
    return [*command, "--remount-ro", str(store.parents[1]), "--remount-ro", "/", "--chdir", str(current), "--"]


@dataclass(frozen=True)
class Home:
    """How the process of a system is started."""

    command: Sequence[str]  # the command, up to the arguments of `epbench.memories.worker.main`
    variables: Mapping[str, str]  # all environment variables of the process
    settings: Mapping[str, Setting] | None = None  # what the class gets as `settings`; None for nothing
    port: int | None = None  # in a sandbox, the port at which it finds the relay; None for no relay


def own_home(
    name: str,
    isolation: Isolation,
    variables: Sequence[str],
    store: Path,
    visible: Sequence[Path] = (),
    relay: Path | None = None,
) -> Home:
    """Return how a class of the user's own is started: with our interpreter and our packages.

    In a sandbox it sees, beside the store, what is `visible`, and reaches nothing but the socket of the `relay`.
    """
    command, environment = [sys.executable, *_FLAGS, _START, json.dumps(sys.path)], clean_environment(variables)
    if isolation == "bwrap":
        current, file = Path.cwd(), Path(name.rpartition(":")[0]).absolute()
        models = Path(os.environ.get("HF_HUB_CACHE") or Path.home() / ".cache/huggingface/hub")
        own_files = [file, file.parent] if file.suffix == ".py" else []
        python = map(Path, (sys.prefix, sys.base_prefix, *filter(None, sys.path)))
        wanted = [current, *own_files, *python, models, *visible]
        command = [*sandbox(store, [path for path in wanted if path.exists()], current, relay), *command]
        environment |= {"HOME": "/tmp", "TMPDIR": "/tmp", "HF_HUB_CACHE": str(models)}
    return Home(command, environment)


def describe_system(
    name: str, limits: Limits | None = None, isolation: Isolation = "process", variables: Sequence[str] = ()
) -> SystemSpec:
    """Find the class behind `module:Class` or `path/to/file.py:Class`, importing it in a process of its own only.

    See `epbench.memories.worker.import_system`. The time to import the module is limited by `START_LIMIT`. The system has no
    `make`, because a `ProcessGuard` makes its instances.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        log, store = Path(scratch) / "log", Path(scratch) / "stores" / "none"
        store.mkdir(parents=True)
        guard = ProcessGuard(name, limits or Limits(), log, partial(own_home, name, isolation, variables))
        try:
            about = guard.load(store)
        except CallFailed as error:
            lines = log.read_text("utf-8", "replace").split("\n")
            last = next((f"; it printed last: {line.strip()}" for line in reversed(lines) if line.strip()), "")
            reason = one_line(f"{error}{last}")
            raise BadInput(f"memory system {name!r}: its module cannot be imported ({reason})") from None
        finally:
            guard.close()
    return SystemSpec(name, isolation=isolation, variables=tuple(variables), **about)


class ProcessGuard:
    """Keeps the instance in a process, a new one for each `open`, and is used as `epbench.memories.guard.InProcessGuard` is."""

    def __init__(self, name: str, limits: Limits, log: Path, home: Callable[[Path], Home]) -> None:
        """
        What the system prints, and the traceback of what it raises, is appended to the file `log`. `home` returns how the process
        that serves the store in a folder is started.
        """
        self._name, self._limits, self._log, self._home = name, limits, log, home
        self._process: subprocess.Popen[bytes] | None = None

    def open(self, folder: Path) -> None:
        """See `InProcessGuard.open`; `BadInput` if the class is no longer a memory system."""
        self.load(folder)
        self.call(OPEN, str(folder))

    def load(self, folder: Path) -> dict[str, Any]:
        """Start a process that serves the store in a folder and import the class there; return what is found out about it."""
        self.close()
        hide_environment()
        home = self._home(folder)
        self._process = process = subprocess.Popen(
            [*home.command, str(int(self._limits.gigabytes * 1e9))],
            env=dict(home.variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that it dies with all that it started, and Ctrl-C reaches only us
        )
        self._printer = threading.Thread(target=copy_printed, args=(process.stderr, Log(self._log)), daemon=True)
        self._printer.start()
        settings = None if home.settings is None else dict(home.settings)
        return self._ask(LOAD, [self._name, settings, home.port], START_LIMIT)

    def call(self, method: str, *args: Any) -> Any:
        return self._ask(method, args, self._limits.seconds)["returned"]

    @property
    def pid(self) -> int | None:
        """Number of the process, which leads a group of its own; None if there is none."""
        return self._process.pid if self._process is not None else None

    def close(self) -> None:
        """Let the process end by itself, so that a system can close its files; then kill what is left of it."""
        if self._process is not None:
            with suppress(OSError, subprocess.TimeoutExpired):
                _send(self._process, CLOSE, [])
                self._process.wait(EXIT_LIMIT)
            self._kill()

    def _ask(self, method: str, args: Sequence[Any], seconds: float) -> dict[str, Any]:
        """Send a call and wait at most `seconds` for the reply."""
        if self._process is None:
            raise SystemLost("there is no instance to call")
        outcome: Future[bytes] = Future()
        exchange = (self._process, method, args, outcome)
        threading.Thread(target=_exchange, args=exchange, daemon=True).start()  # neither way may take too long
        try:
            line = outcome.result(seconds)
            if not line:
                raise SystemLost(self._how_it_ended())
            reply: dict[str, Any] = json.loads(line)
        except TimeoutError:
            self._kill()
            raise SystemLost(f"no answer within {seconds:g} s") from None
        except ValueError as error:
            self._kill()
            raise SystemLost(one_line(f"the system's process did not send a valid reply: {error}")) from None
        except BaseException:  # an interrupt: an open call must not go on
            self._kill()
            raise
        if "refused" in reply:
            raise BadInput(one_line(reply["refused"], longest=None))
        if "failed" in reply:
            raise CallFailed(one_line(reply["failed"]))
        return reply

    def _how_it_ended(self) -> str:
        """Say how the process ended that has closed its output."""
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(EXIT_LIMIT)
        command, status = self._process.args, self._kill()
        if status == OUT_OF_MEMORY:
            return f"out of memory: the limit of its process is {self._limits.gigabytes:g} GB"
        if isinstance(command, list) and command[0] == "bwrap" and status > 128:
            status = 128 - status  # its way to say that a signal ended it
        if status >= 0:
            return f"the system's process ended with status {status}"
        killed = f"the system's process was killed by signal {-status} ({signal.strsignal(-status)})"
        return f"{killed}; memory may have run out" if -status == signal.SIGKILL else killed

    def _kill(self) -> int:
        """Kill the process and its group; return its status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with suppress(ProcessLookupError, PermissionError):  # nothing is left, or on macOS only zombies
            os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
        self._printer.join(EXIT_LIMIT)  # for the last output, unless something outside the group keeps it open
        return status


def _send(process: subprocess.Popen[bytes], method: str, args: Sequence[Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps([method, args]).encode() + b"\n")
    process.stdin.flush()


def _exchange(process: subprocess.Popen[bytes], method: str, args: Sequence[Any], outcome: Future[bytes]) -> None:
    """Send a call and read the reply, which is empty if the process has ended."""
    assert process.stdout is not None
    try:
        _send(process, method, args)
        outcome.set_result(process.stdout.readline(_MESSAGE_LIMIT))
    except OSError:
        outcome.set_result(b"")
