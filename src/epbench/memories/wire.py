"""Messages between a run and the process of a memory system: JSON behind its length, over a socket of their own.

Nothing that comes from the other side is executed or unpickled.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

HEAD = 8
"""Bytes of the length before a message."""
PIECE = 1 << 20
"""Most bytes that are read at a time."""


def pack(message: dict[str, Any]) -> bytes:
    """A message as it goes over the socket. Half a surrogate pair is kept, as an escape."""
    data = json.dumps(message).encode()
    return len(data).to_bytes(HEAD, "big") + data


def unpack(read: Callable[[int], bytes], limit: int) -> dict[str, Any]:
    """The next message.

    Args:
        read: gives exactly so many bytes.
        limit: most bytes that a message may have.

    Raises:
        ValueError: it is too long, or is not a JSON object.
    """
    length = int.from_bytes(read(HEAD), "big")
    if length > limit:
        raise ValueError(f"a message of {length:,} bytes, at most {limit:,} are expected")
    try:
        message = json.loads(read(length))
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
    if not isinstance(message, dict):
        raise ValueError(f"JSON that is not an object: {type(message).__name__}")
    return message


def read_exactly(channel: socket.socket, size: int) -> bytes:
    """So many bytes from a blocking socket.

    Raises:
        EOFError: the other side has gone.
    """
    data = bytearray()
    while len(data) < size:
        piece = channel.recv(min(size - len(data), PIECE))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)
