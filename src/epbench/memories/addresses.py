"""Keeps a memory system to one address: any other that its process asks for is noted and refused.

The hook sees what Python code opens. Native code that opens sockets by itself is told by the proxy variables of its
environment to ask the relay, which refuses it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

LOG = "addresses.log"
"""File of the refused addresses, beside the folders of the stores: one JSON string per line."""

_HERE = ("127.0.0.1", "::1", "localhost", "", None)


def allow_only(host: str, port: int, log: Path) -> None:
    """Refuse every address but one in this process from now on; it cannot be undone.

    Args:
        host: the address that is allowed, as it is written in URLs.
        port: its port.
        log: file to which the refused addresses are appended.
    """

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event in ("socket.connect", "socket.sendto"):
            address = args[1]
            if isinstance(address, tuple) and address[:2] != (host, port):  # other kinds stay on this machine
                _refuse(f"{address[0]}:{address[1]}", log)
        elif event == "socket.getaddrinfo" and _name(args[0]) not in (host, "localhost", "", None):
            _refuse(f"{_name(args[0])}:{args[1]}", log)

    log.touch()
    sys.addaudithook(watch)


def note_all(log: Path) -> None:
    """Note every address beyond this machine that this process asks for from now on; none is refused.

    Args:
        log: file to which the addresses are appended.
    """

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect" and isinstance(args[1], tuple) and args[1][0] not in _HERE:
            note_address(f"{args[1][0]}:{args[1][1]}", log)
        elif event == "socket.getaddrinfo" and _name(args[0]) not in _HERE:
            note_address(f"{_name(args[0])}:{args[1]}", log)

    log.touch()
    sys.addaudithook(watch)


def refused_addresses(stores: Path) -> list[str]:
    """Return the addresses that were refused, each once, in the order in which they were first asked for.

    Args:
        stores: the folder in which the folders of the stores lie.
    """
    log = stores / LOG
    if not log.exists():
        return []
    return list(dict.fromkeys(json.loads(line) for line in log.read_text("utf-8").splitlines() if line))


def _name(host: Any) -> Any:
    return host.decode("ascii", "replace") if isinstance(host, bytes) else host


def note_address(address: str, log: Path) -> None:
    """Append an address to the file of them."""
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(address) + "\n")


def _refuse(address: str, log: Path) -> None:
    note_address(address, log)
    raise PermissionError(f"{address}: this memory system may talk only to its model's address")
