"""What runs in the process of a memory system: it reads calls from a socket, makes them and sends back the results.

`epbench.memories.process` starts it and exchanges messages of length and JSON with it; nothing that arrives is executed or
unpickled. Nothing heavy is imported here, so that starting it takes little longer than starting Python.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from epbench.errors import BadInput, CallFailed
from epbench.memories.guard import Host
from epbench.memories.isolation import RELAY_SOCKET
from epbench.memories.user_class import import_system

HEAD = 8
"""Number of bytes in which the length of a message is sent before it."""
PIECE = 1 << 20
"""The most bytes that are read at one time."""


def pack(message: dict[str, Any]) -> bytes:
    """Encode a message for the socket. Half a surrogate pair is kept as an escape."""
    data = json.dumps(message).encode()
    return len(data).to_bytes(HEAD, "big") + data


def unpack(read: Callable[[int], bytes], limit: int) -> dict[str, Any]:
    """Read the next message.

    Raises:
        ValueError: the message is too long, or is not a JSON object.
    """
    length = int.from_bytes(read(HEAD), "big")
    if length > limit:
        raise ValueError(f"expected a message of at most {limit:,} bytes, got {length:,}")
    try:
        message = json.loads(read(length))
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    if not isinstance(message, dict):
        raise ValueError(f"expected a JSON object, got {type(message).__name__}")
    return message


def read_exactly(channel: socket.socket, size: int) -> bytes:
    """Read exactly `size` bytes from a blocking socket.

    Raises:
        EOFError: the other side has closed it.
    """
    data = bytearray()
    while len(data) < size:
        piece = channel.recv(min(size - len(data), PIECE))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


LOAD = "load"
"""Sent instead of a method, to import a class. The arguments are its name, its settings or None, and None or the port at
which the relay is wanted in the sandbox."""
MARK = "EPBENCH_STORE_PROCESS"
"""Environment variable by which the process and everything that it starts are known."""

_ROUNDS = 50  # a process may start another one while it is looked for
_OUT_OF_MEMORY = pack({"out_of_memory": True})  # made in advance, while there is memory to make it


def main() -> None:
    """Serve calls until the other side of the socket is closed.

    The arguments on the command line are the descriptor of the socket, the descriptor of a pipe that closes when the
    calling process dies, and the limit of memory in bytes.
    """
    channel_number, lifeline, memory = map(int, sys.argv[1:])
    del sys.argv[1:]  # a system that reads the command line should find nothing there
    _die_with_parent(lifeline, channel_number)
    _limit_memory(memory)
    os.set_inheritable(channel_number, False)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    serve(socket.socket(fileno=channel_number))


def serve(channel: socket.socket) -> None:
    """Answer calls one after the other until the socket is closed.

    A reply has `found` (what the call returned), `failed` (why the call failed), `refused` (why the class is not a
    memory system), or `out_of_memory`.
    """
    own = os.getpid()
    host: Host | None = None
    while True:
        try:
            request = unpack(partial(read_exactly, channel), sys.maxsize)
        except EOFError:
            if host is not None:
                host.close()
            return
        method, args = request["method"], request["args"]
        reply: dict[str, Any]
        try:
            if method == LOAD:
                name, settings, port = args
                if port is not None:
                    _bring_relay(port)
                system = import_system(name, settings)
                host = Host(system, sys.stderr)
                about = {"durable": system.durable, "digest": system.digest, "version": system.version}
                reply = {"found": None, **about}
            else:
                assert host is not None
                reply = {"found": host.call(method, args)}
            data = pack(reply)
        except BadInput as error:
            data = pack({"refused": str(error)})
        except CallFailed as error:
            data = pack({"failed": str(error)})
        except MemoryError:
            data = _OUT_OF_MEMORY
        if os.getpid() != own:
            os._exit(0)  # the system has forked, and this is the copy
        channel.sendall(data)
        del request, args, data


def _die_with_parent(lifeline: int, channel: int) -> None:
    """Have this process and everything in its group killed when the other end of the lifeline closes.

    A process waits for that, because code that holds Python's global lock would stop a thread. It is not a child of this
    process, so that a system that waits for its own children does not wait for it.
    """
    if (helper := os.fork()) != 0:
        os.waitpid(helper, 0)
        os.close(lifeline)
        return
    if os.fork() != 0:
        os._exit(0)
    try:
        for descriptor in (channel, 0, 1, 2):  # or they would stay open when the system's process has ended
            os.close(descriptor)
        os.read(lifeline, 1)
    finally:
        with suppress(BaseException):
            kill_marked(os.environ[MARK])
        os.killpg(0, signal.SIGKILL)


def kill_marked(mark: str) -> None:
    """Kill every other process that has this in its environment, whatever group it belongs to (Linux only).

    A process that was started with another environment, or as another user, is not found.
    """
    for _ in range(_ROUNDS):
        others = [file for file in Path("/proc").glob("[0-9]*/environ") if file.parent.name != str(os.getpid())]
        found = [int(file.parent.name) for file in others if mark.encode() in _content(file)]
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


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


def _limit_memory(size: int) -> None:
    """Make allocations fail that would have this process hold more than `size` bytes.

    What counts is private, writable memory. The address space is not limited, because CUDA and others reserve far more
    of it than they use. Platforms other than Linux do not enforce this limit, and some refuse to set it.
    """
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    if most != resource.RLIM_INFINITY:
        size = min(size, most)
    try:
        resource.setrlimit(resource.RLIMIT_DATA, (size, most))
    except (OSError, ValueError):
        if sys.platform == "linux":
            raise
