"""Messages between a run and the process of a memory system: length and JSON, over a socket of their own.

Nothing that arrives is executed or unpickled.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

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

    Args:
        read: returns exactly as many bytes as it is asked for.
        limit: the most bytes that a message may have.

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
