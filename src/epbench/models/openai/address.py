"""Where an OpenAI-compatible endpoint is and how it is reached: its address, its key, and the secrets in both."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from epbench.errors import BadInput, install_hint
from epbench.files.secrets import checked_key, keep_secret, secrets_of
from epbench.models.openai.wire import ReplyTooLarge

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Address:
    """The address of an endpoint."""

    url: str  # without query and fragment; a login in it is sent with every request
    query: Mapping[str, str] = field(repr=False)  # the parameters after the `?` of the URL, sent with every request
    key: str = field(repr=False)  # the bearer token; "none" if no key is needed, because the client insists on one
    secrets: tuple[str, ...] = field(repr=False)  # the key, the password and login in the URL, the values of the query

    @property
    def client_options(self) -> dict[str, Any]:
        """The arguments for a client of the package openai, which must not follow redirects to hosts that nobody named."""
        return {"base_url": self.url, "api_key": self.key, "default_query": dict(self.query)}


def find_address(base_url: str | None, who: str, local: str | None = None) -> Address:
    """Return `endpoint_address` for the client of the package openai; `BadInput` also if that is not installed."""
    address = endpoint_address(base_url, who, local)
    if find_spec("openai") is None:
        raise BadInput(f"{who} needs the package openai: {install_hint('models')}")
    return address


def endpoint_address(base_url: str | None, who: str, local: str | None = None) -> Address:
    """Find the endpoint at a base URL up to `/v1`, by default OPENAI_BASE_URL, else OpenAI itself; the key is OPENAI_API_KEY.

    `who` is the model that messages name. `local` is where a server listens that is sent no key, in place of these defaults.
    `BadInput` if the URL is not valid, or the key cannot be sent, or is missing without a URL.
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
    """Limits the responses of a client to so many bytes of body, after decompression."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes

    def options(self, *, asynchronous: bool, key: str = "") -> dict[str, Any]:
        """The arguments that make a client of httpx2 keep to this limit, follow no redirect and send a key, if there is one."""
        hook = self._bound_later if asynchronous else self._bound
        headers = {"accept-encoding": "gzip, deflate"} | ({"Authorization": f"Bearer {key}"} if key else {})
        return {"event_hooks": {"response": [hook]}, "headers": headers, "follow_redirects": False}

    def _bound(self, response: Any) -> None:
        encoding = response.headers.pop("content-encoding", "identity").strip().lower()
        response.stream = _bounded_stream()(response.stream, encoding, self.most_bytes)

    async def _bound_later(self, response: Any) -> None:
        self._bound(response)


@cache
def _bounded_stream() -> Any:
    """The class below as a stream of httpx2, which takes a while to import."""
    import httpx2

    return type("BoundedStream", (_Bounded, httpx2.SyncByteStream, httpx2.AsyncByteStream), {})


class _Bounded:
    """The decompressed bytes of a response; `ReplyTooLarge` if they are too many, or compressed as was not asked for."""

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
                    from httpx2 import DecodingError

                    raise DecodingError(str(error)) from None
                chunk = self._decoder.unconsumed_tail
            self._left -= len(part)
            if self._left < 0:
                raise ReplyTooLarge(f"the reply has more than {self._most / 1e6:g} MB")
            yield part


Ask = Callable[..., Any]
"""Asks a server: a path from its root, and perhaps a body to post; it returns the JSON of the answer."""


def _ollama(ask: Ask, model: str) -> Any:
    ask("/api/generate", {"model": model})  # loads it, because a window is allocated only then
    full = model if ":" in model else f"{model}:latest"
    return _named(ask("/api/ps")["models"], "name", full)["context_length"]


def _named(entries: Any, key: str, name: str) -> Any:
    return next(entry for entry in entries if entry[key] == name)


class LocalServer(NamedTuple):
    """A server on this machine that speaks OpenAI's API and needs no key.

    The window that it has allocated for a model counts, not the model's own: Ollama allocates 4,096 tokens on a small GPU
    whatever the model has, and cuts longer prompts off without a word.
    """

    url: str  # where it listens unless it is told otherwise, up to `/v1`
    window: Callable[[Ask, str], Any]  # finds that window; any exception means that it is unknown
    larger: str = ""  # how it is made larger, where the server cuts prompts off, so that an unknown window is refused


LOCAL_SERVERS: Mapping[str, LocalServer] = {
    "ollama": LocalServer("http://127.0.0.1:11434/v1", _ollama, "OLLAMA_CONTEXT_LENGTH=32768 ollama serve"),
    "llamacpp": LocalServer(
        "http://127.0.0.1:8080/v1", lambda ask, model: ask("/props")["default_generation_settings"]["n_ctx"]
    ),
    "lmstudio": LocalServer(
        "http://127.0.0.1:1234/v1",
        lambda ask, model: _named(ask("/api/v0/models")["data"], "id", model)["loaded_context_length"],
        "the context length when it is loaded",
    ),
    "vllm-server": LocalServer(
        "http://127.0.0.1:8000/v1", lambda ask, model: _named(ask("/v1/models")["data"], "id", model)["max_model_len"]
    ),
}
"""By the kind of a model's name, as in `ollama:qwen3:8b`."""
