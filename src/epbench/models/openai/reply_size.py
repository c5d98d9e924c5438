"""Replies of bounded size: a hook for clients of httpx that stops reading a response once it is too large.

httpx decompresses whatever arrives in one step, so a compressed megabyte could become a gigabyte of memory. The hook
decompresses in small steps instead and counts what comes out. The package openai uses httpx or its successor httpx2.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from epbench.models.openai.wire import ReplyTooLarge

MOST_BYTES = 16_000_000
"""The default limit of a response body, after decompression."""

_STEP = 65_536  # bytes that are decompressed at a time
_ENCODINGS = {"gzip": 31, "x-gzip": 31, "deflate": 15}  # with the window bits of zlib


class SizeLimit:
    """Limits the responses of a client.

    Attributes:
        most_bytes: How many bytes the body of a response may have after decompression.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes

    def options(self, *, asynchronous: bool) -> dict[str, Any]:
        """The arguments that make a client of httpx keep to this limit and follow no redirect."""
        hook = self._bound_later if asynchronous else self._bound
        encodings = {"accept-encoding": "gzip, deflate"}
        return {"event_hooks": {"response": [hook]}, "headers": encodings, "follow_redirects": False}

    def _bound(self, response: Any) -> None:
        encoding = response.headers.pop("content-encoding", "identity").strip().lower()
        library = type(response).__module__.partition(".")[0]
        response.stream = _bounded_stream(library)(response.stream, encoding, self.most_bytes)

    async def _bound_later(self, response: Any) -> None:
        self._bound(response)


@cache
def _bounded_stream(library: str) -> Any:
    """The class below as a stream of that library."""
    httpx = import_module(library)
    bases = (_Bounded, httpx.SyncByteStream, httpx.AsyncByteStream)
    return type("BoundedStream", bases, {"damaged": httpx.DecodingError})


class _Bounded:
    """The decompressed bytes of a response.

    Raises:
        ReplyTooLarge: There are more than the limit, or they are compressed in a way that was not asked for.
    """

    damaged: type[Exception]

    def __init__(self, stream: Any, encoding: str, most_bytes: int) -> None:
        self._stream, self._most, self._left = stream, most_bytes, most_bytes
        if encoding not in ("", "identity", *_ENCODINGS):
            raise ReplyTooLarge(f"the reply is compressed as {encoding!r:.40}, expected gzip or deflate")
        bits = _ENCODINGS.get(encoding)
        self._decoder = None if bits is None else zlib.decompressobj(bits)

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            yield from self._decoded(chunk)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            for part in self._decoded(chunk):
                yield part

    def close(self) -> None:
        self._stream.close()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _decoded(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            part = chunk
            if self._decoder is None:
                chunk = b""
            elif self._decoder.eof:
                return
            else:
                try:
                    part = self._decoder.decompress(chunk, _STEP)
                except zlib.error as error:
                    raise self.damaged(str(error)) from None
                chunk = self._decoder.unconsumed_tail
            self._left -= len(part)
            if self._left < 0:
                raise ReplyTooLarge(f"the reply has more than {self._most / 1e6:g} MB")
            yield part
