"""Where an OpenAI-compatible endpoint is and how it is reached: its address, its key, and the secrets in both."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from epbench.errors import BadInput
from epbench.files.secrets import checked_key, keep_secret, secrets_of
from epbench.models.openai.wire import ReplyTooLarge
from epbench.starting.extras import install_hint

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Address:
    """The address of an endpoint."""

    url: str  # without query and fragment; a login in it is sent with every request
    # The parameters after the `?` of the URL; they are sent with every request.
    query: Mapping[str, str] = field(repr=False)
    # The bearer token; "none" if the endpoint needs no key, because the client insists on one.
    key: str = field(repr=False)
    # What must not appear in any file: the key, the password and login in the URL, the values of the query.
    secrets: tuple[str, ...] = field(repr=False)

    @property
    def client_options(self) -> dict[str, Any]:
        """The arguments for a client of the package openai; attempts and deadlines are left to the caller.

        Clients must not follow redirects: these would carry the prompt to a host that nobody named, and a loop of them
        would multiply every request.
        """
        return {"base_url": self.url, "api_key": self.key, "default_query": dict(self.query)}


def find_address(base_url: str | None, who: str, local: str | None = None) -> Address:
    """Find the endpoint at a base URL for the client of the package openai; see `endpoint_address`.

    Raises:
        BadInput: as there, or the package openai is not installed.
    """
    address = endpoint_address(base_url, who, local)
    if find_spec("openai") is None:
        raise BadInput(f"{who} needs the package openai: {install_hint('models')}")
    return address


def endpoint_address(base_url: str | None, who: str, local: str | None = None) -> Address:
    """Find the endpoint at a base URL, with the key from the environment.

    Args:
        base_url: URL up to `/v1`; by default the environment variable OPENAI_BASE_URL, else OpenAI itself.
        who: the model that messages name, such as `openai:gpt-4o-mini`.
        local: where a server that needs no key listens, in place of these defaults; it is sent no key of the environment.

    Raises:
        BadInput: the URL is not valid, or the key is missing or cannot be sent.
    """
    given_url = base_url or local or os.environ.get("OPENAI_BASE_URL") or None
    if given_url and not _is_http(given_url):
        raise BadInput(
            f"base URL {shown(given_url)!r}: expected http:// or https:// and a host, such as http://127.0.0.1:8000/v1"
        )
    keep_secret(given_url)
    key = "" if local else checked_key("OPENAI_API_KEY")
    if not key and not given_url:
        raise BadInput(f"{who}: set OPENAI_API_KEY, or give the base URL of an endpoint that needs no key")
    parts = urlsplit(given_url or OPENAI)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    url = parts._replace(query="", fragment="").geturl()
    return Address(url, query, key or "none", tuple(filter(None, (key, *secrets_of(given_url)))))


def shown(url: str) -> str:
    """Remove login, query and fragment from a URL, however badly written.

    >>> [shown(url) for url in ("http://me:word@host/v1?api_key=x", "me:word@host/v1#x", "/other?key=x")]
    ['http://host/v1', 'host/v1', '/other']
    """
    scheme, mark, rest = re.split(r"[?#]", url, maxsplit=1)[0].rpartition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, or an unclosed bracket
        return False


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
