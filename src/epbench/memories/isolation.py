"""What the process of a memory system can see and reach: its environment variables, and bubblewrap's sandbox.

- `none`: the class runs in a thread of this process.
- `process`: a process of its own with a clean environment and limits on time, memory and output. It runs as the same
  user, so it can read the user's files and reach the network.
- `bwrap`: such a process inside bubblewrap. It has no network but the relay to its model, sees no processes but its own
  and no files but those of Python, its class and its store, and can write only to its store and a private `/tmp`.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from epbench.errors import BadInput

Isolation: TypeAlias = Literal["none", "process", "bwrap"]
ISOLATIONS: tuple[Isolation, ...] = ("none", "process", "bwrap")
RELAY_SOCKET = "/run/relay.sock"
"""Where the sandbox has the socket of the relay."""

_PASSED_ON = (
    "PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SYSTEMROOT",
    "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "XDG_CACHE_HOME", "EPBENCH_CACHE", "HF_HOME",
    "HF_HUB_CACHE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "TOKENIZERS_PARALLELISM", "CUDA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
)  # fmt: skip
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/sys/devices/system/cpu"),
    *("/etc/alternatives", "/etc/group", "/etc/hosts", "/etc/ld.so.cache", "/etc/localtime", "/etc/nsswitch.conf"),
    *("/etc/passwd", "/etc/ca-certificates", "/etc/ssl", "/etc/pki"),
)
_BWRAP = (
    "bwrap", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
    "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
)  # fmt: skip
_PR_SET_DUMPABLE = 4


def clean_environment(more: Iterable[str] = ()) -> dict[str, str]:
    """Return the environment variables that foreign code gets: those of a short list, and so no keys.

    Args:
        more: Names of further variables of ours that it gets as well.
    """
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
    """Check that bubblewrap is there and works.

    Raises:
        BadInput: It is not installed, or this machine does not let it make namespaces.
    """
    import subprocess

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

    Args:
        store: The store's folder, two levels below the run's; it can be written to, and the rest of the run is hidden.
        visible: Files and folders that can be read. Those that would show the user's home folder are left out.
        current: The current folder of the process, among the visible ones.
        relay: The socket of the relay; None for no connection to anything.

    Raises:
        BadInput: The current folder would show the user's home folder.
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
