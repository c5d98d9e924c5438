"""What runs in the process of a memory system: it imports the class, makes the calls and sends back the results.

`epbench.memories.process` starts it. A call is a line of JSON on standard input, a list of the method and its arguments, and
a reply is one on standard output: an object with `returned`, `failed` (why the call failed) or `refused` (why the class is
not a memory system). Nothing heavy is imported here, so that starting it takes little longer than starting Python.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import signal
import socket
import sys
import sysconfig
import threading
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from importlib.metadata import distributions
from pathlib import Path
from queue import SimpleQueue
from types import ModuleType
from typing import IO, Any

from epbench.errors import BadInput, CallFailed
from epbench.memories.guard import CLOSE, LIST, RETRIEVE, STORE, Host, reason_of
from epbench.memories.protocol import Setting, SystemSpec, takes_folder

METHODS = (STORE, RETRIEVE, LIST)  # the methods that every memory system has
LOAD = "load"
"""Sent instead of a method, to import a class. The arguments are its name, its settings or None, and None or the port at
which the relay is wanted in the sandbox."""
RELAY_SOCKET = "/run/relay.sock"  # where the sandbox has the socket of the relay
OUT_OF_MEMORY = 76  # the exit status of a process whose memory ran out


def main() -> None:
    """Serve calls until the instance is closed. The argument on the command line is the limit of memory in bytes."""
    memory = int(sys.argv.pop())  # a system that reads the command line should find nothing there
    calls, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # what the system prints goes to the log, and not among the replies
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    waiting: SimpleQueue[list[Any]] = SimpleQueue()
    threading.Thread(target=_read, args=(calls, waiting), name="calls", daemon=True).start()
    _limit_memory(memory)
    _serve(waiting, replies)


def _read(calls: IO[bytes], waiting: SimpleQueue[list[Any]]) -> None:
    """Pass on the calls. If they end without a last one, the run has died, and so does the group of this process."""
    for line in calls:
        waiting.put(call := json.loads(line))
        if call[0] == CLOSE:
            return
    os.killpg(0, signal.SIGKILL)  # at once: another run may go on in the same folder


def _serve(waiting: SimpleQueue[list[Any]], replies: IO[bytes]) -> None:
    host: Host | None = None
    while True:
        method, args = waiting.get()
        if method == CLOSE:
            if host is not None:
                host.close()
            return
        try:
            if method == LOAD:
                name, settings, port = args
                if port is not None:
                    _bring_relay(port)
                system = import_system(name, settings)
                host = Host(system, sys.stderr)
                reply = {"durable": system.durable, "digest": system.digest, "version": system.version}
            else:
                assert host is not None
                reply = {"returned": host.call(method, args)}
            line = json.dumps(reply)
        except BadInput as error:
            line = json.dumps({"refused": str(error)})
        except CallFailed as error:
            line = json.dumps({"failed": str(error)})
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        replies.write(line.encode() + b"\n")
        replies.flush()


def _limit_memory(size: int) -> None:
    """Make allocations fail by which this process would hold more private, writable memory than `size` bytes."""
    import resource

    # Not of addresses, of which CUDA and others reserve far more than they use. Platforms other than Linux may refuse.
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    with suppress(*(() if sys.platform == "linux" else (OSError, ValueError))):
        resource.setrlimit(resource.RLIMIT_DATA, (size if most == resource.RLIM_INFINITY else min(size, most), most))


def _bring_relay(port: int) -> None:
    """Serve the relay's socket on a port of the sandbox, because client libraries want an address."""
    server = socket.create_server(("127.0.0.1", port))

    def serve() -> None:
        while True:
            inside, _ = server.accept()
            outside = socket.socket(socket.AF_UNIX)
            outside.connect(RELAY_SOCKET)
            for pair in ((inside, outside), (outside, inside)):
                threading.Thread(target=_pump, args=pair, daemon=True).start()

    threading.Thread(target=serve, name="relay", daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def import_system(name: str, settings: Mapping[str, Setting] | None = None) -> SystemSpec:
    """Import the class behind `module:Class` or `path/to/file.py:Class` into this process.

    A module is searched for on Python's path and in the current folder. `settings` are passed to the constructor, unless None.
    `BadInput` if there is no such module or class, the module cannot be imported, or the class is not a memory system.
    """
    where, _, class_name = name.rpartition(":")
    if not where or not class_name:
        raise BadInput(f"memory system {name!r}: expected module:Class or path/to/file.py:Class")
    before = set(sys.modules)
    try:
        module = _load_file(name, Path(where)) if where.endswith(".py") else _load_module(name, where)
    except (BadInput, KeyboardInterrupt):
        raise
    except BaseException as error:  # a module that calls sys.exit() must not end the run either
        raise BadInput(f"memory system {name!r}: its module cannot be imported ({reason_of(error)})") from error
    loaded = {loaded for loaded in set(sys.modules) - before if not loaded.startswith("epbench.")}
    system_class = getattr(module, class_name, None)
    if not inspect.isclass(system_class):
        classes = [n for n, c in vars(module).items() if inspect.isclass(c) and c.__module__ == module.__name__]
        raise BadInput(f"memory system {name!r}: found no class {class_name!r}, only: {', '.join(classes) or '–'}")
    for method in METHODS:
        if not callable(getattr(system_class, method, None)):
            raise BadInput(f"memory system {name!r}: expected the methods {', '.join(METHODS)}, found no {method}()")
        if inspect.iscoroutinefunction(getattr(system_class, method)):
            raise BadInput(f"memory system {name!r}: expected a plain method {method}(), found an async one")
    durable = bool(getattr(system_class, "durable", False))
    if durable and not takes_folder(system_class):
        raise BadInput(f"memory system {name!r}: durable = True requires a constructor with a parameter 'folder'")
    make: Any = system_class if settings is None else partial(system_class, settings=dict(settings))  # type: ignore[call-arg]
    digest = _digest(loaded | {module.__name__})
    return SystemSpec(name, make, durable=durable, digest=digest, version=_version(module))


def _load_module(name: str, module: str) -> ModuleType:
    _search_also(Path.cwd())
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise BadInput(f"memory system {name!r}: found no module {error.name!r}") from None
        raise


def _load_file(name: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise BadInput(f"memory system {name!r}: found no file {path}")
    _search_also(path.resolve().parent)
    spec = importlib.util.spec_from_file_location(f"memory_system_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses and pickle look up the module
    spec.loader.exec_module(module)
    return module


def _search_also(folder: Path) -> None:
    """Add a folder to the end of Python's path, where nothing in it can hide a library."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))


def _digest(modules: set[str]) -> str:
    """Return the digest of the source of those modules that belong to no installed package: the user's own files."""
    installed = {Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    files = {Path(file).resolve() for name in modules if (file := getattr(sys.modules.get(name), "__file__", None))}
    own_files = [file for file in files if file.is_file() and not installed & set(file.parents)]
    hashes = sorted((file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in own_files)
    return hashlib.sha256(repr(hashes).encode()).hexdigest()[:16]


def _version(module: ModuleType) -> str:
    """Return the version of the package that the module was installed with; empty if it belongs to none."""
    top = module.__name__.partition(".")[0]
    for distribution in distributions():  # `packages_distributions` reads every file name of every package
        named = distribution.read_text("top_level.txt")
        files = "\n" + (distribution.read_text("RECORD") or "") if named is None else ""
        if top in (named or "").split() or f"\n{top}/" in files or f"\n{top}.py," in files:
            return distribution.version
    return ""
