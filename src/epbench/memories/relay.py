"""Answers the requests of a memory system on this machine, by the user's endpoint or by an embedder that runs here."""

from __future__ import annotations

import hashlib
import json
import logging
import posixpath
import re
import secrets
import socket
import socketserver
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from epbench.errors import BadInput, EpbenchError, RunFailed
from epbench.files.json_files import read_json, write_json
from epbench.files.secrets import without_secrets
from epbench.files.typed import Whole, fields
from epbench.journals.journal import Journal
from epbench.memories.guard import one_line, reason_of
from epbench.memories.protocol import Endpoint, Operation
from epbench.models.openai.address import MOST_BYTES, SizeLimit, endpoint_address, shown
from epbench.models.openai.wire import ReplyTooLarge, error_words

if TYPE_CHECKING:
    from epbench.retrieval.protocol import Embedder

CALLS = "system_calls.jsonl"  # one record for each request of the system, in the order of their ends
EMBEDDER = "embedder.json"  # file with the embedder of a run and the length of its vectors

_PATHS = frozenset(f"/v1/{name}" for name in ("chat/completions", "completions", "responses", "embeddings"))
_HOST = "127.0.0.1"
_INSIDE = 8080  # the port in a sandbox, where nothing else listens
_OPENAI = "openai:"
_NO_JSON = object()
_POLL = 0.05  # seconds that closing waits at most; Python's default is half a second for each run
_log = logging.getLogger(__name__)


class Relay:
    """A server on loopback or on a Unix socket, until `close`, for whoever has the token of the last `admit`."""

    def __init__(self, endpoint: Endpoint, folder: Path, *, by_socket: bool = False) -> None:
        """Start to serve, on a Unix socket for a sandbox or on a port, and find out how long the embedder's vectors are.

        `BadInput` if a URL, the key or the embedder cannot be used, or its vectors are not as long as when the run was begun;
        `RunFailed` if the embeddings endpoint does not answer with a vector.
        """
        import httpx2

        self._endpoint, self._folder = endpoint, folder
        self._chat = endpoint_address(endpoint.url, f"{_OPENAI}{endpoint.model}")
        self._vectors = endpoint_address(endpoint.embedder_url or endpoint.url, endpoint.embedder)
        self._secrets = (*self._chat.secrets, *self._vectors.secrets)
        self._embedder: Embedder | None = None
        if not endpoint.embedder.startswith(_OPENAI):
            from epbench.retrieval.embedders import SentenceTransformerEmbedder

            self._embedder = SentenceTransformerEmbedder(endpoint.embedder.removeprefix("st:"))
        limits = [SizeLimit(size).options(asynchronous=False) for size in (MOST_BYTES, 4 * MOST_BYTES)]
        self._clients = [httpx2.Client(timeout=endpoint.timeout, **limit) for limit in limits]  # for texts, for vectors
        self._journal = Journal(folder / CALLS)
        self._lock = threading.Lock()
        self._number = len(self._journal.records)
        self.has_answered = False  # whether the model has answered any request since the start
        self.begin(Operation())
        self._token = secrets.token_urlsafe()
        self._room = tempfile.TemporaryDirectory(prefix="epbench-")
        self.socket = Path(self._room.name) / "relay"
        self._server = _Server(str(self.socket) if by_socket else (_HOST, 0), self)
        self.port = _INSIDE if by_socket else self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL,), name="relay", daemon=True)
        self._thread.start()
        try:
            self.dimensions = self._measure()
        except BaseException:
            self.close()
            raise

    @property
    def base_url(self) -> str:
        """URL up to `/v1`."""
        return f"http://{_HOST}:{self.port}/v1"

    def admit(self) -> str:
        """Return a new token, which a store's process sends as its key; that of the store before is no longer good."""
        self._token = secrets.token_urlsafe()
        return self._token

    def admits(self, authorization: str) -> bool:
        """Whether the header of a request carries the token."""
        return secrets.compare_digest(authorization.encode("utf-8", "replace"), f"Bearer {self._token}".encode())

    def begin(self, operation: Operation) -> None:
        """Say what the system does from now on; requests are noted under it."""
        with self._lock:
            self.operation = operation
            # By the digest of a request: whether the last answer could be used, and of an error (whether the request is
            # for vectors, the status, the words).
            self._seen: dict[str, bool] = {}
            self._errors: dict[str, tuple[bool, int, str]] = {}
            self._kinds_answered: set[bool] = set()  # whether requests for vectors, and others, got an answer

    def unanswered(self) -> str | None:
        """Say which requests of the present operation got no answer from its models; None if there is none.

        A system may hide such an error, and lose what it was asked about. Errors other than 429 and from 500 on may be the
        request's own fault (a prompt that is too long), and count only if no other request of its kind got an answer.
        """
        with self._lock:
            lost = [
                (status, words)
                for embeds, status, words in self._errors.values()
                if status == 429 or status >= 500 or embeds not in self._kinds_answered
            ]
            n = len(self._seen)
        if not lost:
            return None
        status, words = lost[-1]
        return f"{len(lost)} of {n} requests to its models got no answer; the last, HTTP {status}: {words}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        for client in self._clients:
            client.close()
        self._journal.close()
        self._room.cleanup()

    def refuse(self, asked: str) -> None:
        """Note a request that is not passed on."""
        self._note(self.operation, path=without_secrets(asked, self._secrets)[:300], status=404, refused=True)

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, bytes, str]:
        """Answer one request of the system and journal it; return status, body and content type of the answer."""
        begin, operation = time.monotonic(), self.operation
        digest = hashlib.sha256(json.dumps([path, body], sort_keys=True).encode()).hexdigest()
        with self._lock:
            retry = self._seen.get(digest) is False
        embeds = path.endswith("/embeddings")
        body["model"] = self._endpoint.embedder.removeprefix(_OPENAI) if embeds else self._endpoint.model
        wants_stream = bool(body.pop("stream", False)) and not embeds
        body.pop("stream_options", None)
        if embeds and self._embedder is not None:
            status, text = self._embed(self._embedder, body)
        else:
            status, text = self._forward(path, body, embeds)
        fine, shown_text, events = status < 400, text, b""
        tokens_in = tokens_out = 0
        unparsable = fine and not embeds
        with suppress(ValueError, RecursionError):  # it is paid for, and so journaled, whatever its form
            tokens_in, tokens_out = tokens_of(text)
            shown_text = text_of(text) if fine else text
            events = streamed(text) if wants_stream and fine else b""
            unparsable = unparsable and asks_for_json(body) and not holds_json(text)
        with self._lock:
            self._seen[digest] = fine and not unparsable
            self._errors.pop(digest, None)
            if fine:
                self._kinds_answered.add(embeds)
                self.has_answered |= not embeds
            else:
                self._errors[digest] = embeds, status, one_line(without_secrets(error_words(text), self._secrets), 200)
        reply = "" if embeds and fine else without_secrets(shown_text, self._secrets)
        about: dict[str, Any] = {"path": path, "status": status, "retry": retry, "unparsable": unparsable}
        about |= {"tokens_in": tokens_in, "tokens_out": tokens_out, "reply": reply}
        self._note(operation, **about, seconds=round(time.monotonic() - begin, 4))
        return (status, events, "text/event-stream") if events else (status, text.encode(), "application/json")

    def _note(self, operation: Operation, **about: Any) -> None:
        empty = {"retry": False, "unparsable": False, "tokens_in": 0, "tokens_out": 0, "reply": "", "seconds": 0.0}
        with self._lock:
            self._number += 1
            self._journal.add(f"{self._number}", **asdict(operation), **{**empty, **about})

    def _forward(self, path: str, body: Mapping[str, Any], embeds: bool) -> tuple[int, str]:
        import httpx2

        address = self._vectors if embeds else self._chat
        url = f"{address.url.rstrip('/')}/{path.removeprefix('/v1/')}"
        headers = {} if address.key == "none" else {"Authorization": f"Bearer {address.key}"}
        headers["Content-Type"] = "application/json"
        client, query = self._clients[embeds], dict(address.query) or None
        try:
            response = client.post(url, content=json.dumps(body).encode(), headers=headers, params=query)
        except httpx2.TimeoutException:
            return 504, _error(f"{shown(address.url)}: no answer within {self._endpoint.timeout:g} s")
        except (httpx2.HTTPError, ReplyTooLarge) as error:
            words = without_secrets(str(error), self._secrets)
            return 502, _error(f"{shown(address.url)}: {type(error).__name__}: {words}")
        return response.status_code, response.content.decode("utf-8", "replace")

    def _embed(self, embedder: Embedder, body: Mapping[str, Any]) -> tuple[int, str]:
        asked = body.get("input")
        texts = [asked] if isinstance(asked, str) else asked
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return 400, _error("input: expected a text or a list of texts; this embedder takes no token numbers")
        with self._lock:  # the model serves one request at a time
            vectors = embedder.embed(texts, query=False)
        data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(vectors.tolist())]
        usage = {"prompt_tokens": 0, "total_tokens": 0}  # nothing is paid for
        return 200, json.dumps({"object": "list", "data": data, "model": body["model"], "usage": usage})

    def _measure(self) -> int:
        """Return the length of the embedder's vectors, which must not change during a run."""
        status, text, _ = self.answer("/v1/embeddings", {"input": ["length"]})
        try:
            dimensions = len(json.loads(text)["data"][0]["embedding"])
        except (ValueError, LookupError, TypeError):
            words = without_secrets(text.decode()[:200], self._secrets)
            raise RunFailed(f"embedder {self._endpoint.embedder}: HTTP {status}: {words}") from None
        noted = {"embedder": self._endpoint.embedder, "dimensions": dimensions}
        path = self._folder / EMBEDDER
        before = read_json(path, fields({"embedder": str, "dimensions": Whole})) if path.exists() else noted
        if before["dimensions"] != dimensions:
            raise BadInput(
                f"embedder {self._endpoint.embedder}: expected vectors of {before['dimensions']} numbers, with which "
                f"{path} says the stores were begun, got {dimensions}; choose another folder for the run"
            )
        write_json(path, noted)
        return dimensions


def _error(words: str) -> str:
    return json.dumps({"error": {"message": words, "type": "relay"}})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: Any, relay: Relay) -> None:
        if isinstance(address, str):
            self.address_family = socket.AF_UNIX
        self.relay = relay
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # without a look-up of the host's name

    def handle_error(self, request: Any, client_address: Any) -> None:
        """One line, and none for a system that has gone away."""
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, ConnectionError):
            _log.warning("relay: %s", reason_of(error))


class _Handler(BaseHTTPRequestHandler):
    """Passes requests of the store's process for its models to the relay, and refuses all others."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        relay = self.server.relay
        length = self.headers.get("Content-Length") or ""
        path = _normal(self.path)
        if not relay.admits(self.headers.get("Authorization") or ""):
            return self._refuse(401, "expected the key that this memory system was given")
        if path not in _PATHS:
            relay.refuse(f"POST {self.path}")
            return self._refuse(404, "this address answers requests to models only")
        if not (length.isascii() and length.isdigit()):
            return self._refuse(411, "expected a Content-Length")
        if len(length) > 12 or int(length) > MOST_BYTES:
            relay.refuse(f"POST {path}: more than {MOST_BYTES / 1e6:g} MB")
            return self._refuse(413, f"expected at most {MOST_BYTES / 1e6:g} MB")
        try:
            body = json.loads(self.rfile.read(int(length)))
            json.dumps(body, allow_nan=False)  # as it can be sent on, neither too deep nor with what is no number
            if not isinstance(body, dict):
                raise ValueError
        except (ValueError, RecursionError):
            return self._refuse(400, "expected a JSON object")
        try:
            self._send(*relay.answer(path, body))
        except (EpbenchError, OSError) as error:
            self._refuse(500, str(error))

    def do_GET(self) -> None:
        relay = self.server.relay
        if relay.admits(self.headers.get("Authorization") or ""):
            relay.refuse(f"{self.command} {self.path}")
        self._refuse(404, "this address answers requests to models only")

    do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_CONNECT = do_GET

    def _refuse(self, status: int, words: str) -> None:
        self.close_connection = True  # its body is not read
        self._send(status, _error(words).encode(), "application/json")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the journal has it."""


def _normal(path: str) -> str:
    """The path that a server would see in the end: decoded, without query, and with `..` and `//` resolved."""
    plain = unquote(re.split(r"[?#]", path, maxsplit=1)[0])
    return re.sub("/+", "/", posixpath.normpath(plain))


def asks_for_json(body: Mapping[str, Any]) -> bool:
    """Whether a chat request demands JSON, by its response format or in the words of a message."""
    wanted = body.get("response_format")
    if isinstance(wanted, dict) and wanted.get("type") in ("json_object", "json_schema"):
        return True
    messages = body.get("messages")
    return isinstance(messages, list) and "json" in json.dumps(messages).lower()


def text_of(response: str) -> str:
    """The reply in a chat completion, with its calls of tools as JSON; the whole response if it has another form."""
    message = _message(response)
    if message is None:
        return response
    called = message.get("tool_calls")
    return _content(message) + (json.dumps(called) if called else "")


def holds_json(response: str) -> bool:
    """Whether the reply calls a tool or has JSON in it: alone, in a code fence, or an object or a list among words."""
    message = _message(response)
    if message is None:
        return False
    if message.get("tool_calls"):
        return True
    text = _content(message).strip()
    spans = [text, *(text[text.find(first) : text.rfind(last) + 1] for first, last in ("{}", "[]"))]
    return any(_parsed(span) is not _NO_JSON for span in spans)


def tokens_of(response: str) -> tuple[int, int]:
    """Tokens of the prompt and of the reply, as the response reports them; 0 where it does not."""
    usage = _object(response).get("usage")
    if not isinstance(usage, dict):
        return 0, 0

    def count(*names: str) -> int:
        counts = (usage.get(name) for name in names)
        return next((n for n in counts if type(n) is int and n >= 0), 0)

    return count("prompt_tokens", "input_tokens"), count("completion_tokens", "output_tokens")


def streamed(response: str) -> bytes:
    """Turn a chat completion into the events of a stream that says all of it at once."""
    body = _object(response)
    chunk = {**body, "object": "chat.completion.chunk", "choices": []}
    for choice in _objects(body.get("choices")):
        message = choice.get("message")
        delta = dict(message) if isinstance(message, dict) else {}
        calls = [{"index": i, **call} for i, call in enumerate(_objects(delta.get("tool_calls")))]
        delta |= {"tool_calls": calls} if calls else {}
        finish = choice.get("finish_reason")
        chunk["choices"].append({"index": choice.get("index", 0), "delta": delta, "finish_reason": finish})
    return f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()


def _objects(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _content(message: Mapping[str, Any]) -> str:
    """The text of a message, which may come in parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in _objects(content)]
    return "".join(part for part in parts if isinstance(part, str)) or (json.dumps(content) if content else "")


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_JSON


def _object(response: str) -> dict[str, Any]:
    """The JSON object of a response; an empty one if it is anything else."""
    body = _parsed(response)
    return body if isinstance(body, dict) else {}


def _message(response: str) -> dict[str, Any] | None:
    try:
        message = _object(response)["choices"][0]["message"]
    except (LookupError, TypeError):
        return None
    return message if isinstance(message, dict) else None
