"""Answers the requests of a memory system on this machine, by the user's endpoint or by an embedder that runs here."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput, EpbenchError, RunFailed
from epbench.files.json_files import read_json, write_json
from epbench.files.secrets import without_secrets
from epbench.files.shapes import Shape
from epbench.memories.addresses import note_address
from epbench.memories.relay.calls import CALLS, Operation
from epbench.memories.relay.replies import asks_for_json, holds_json, streamed, text_of, tokens_of
from epbench.memories.spec import Endpoint
from epbench.models.openai.address import endpoint_address, shown
from epbench.runs.journal import Journal

if TYPE_CHECKING:
    from epbench.retrieval.protocol import Embedder

PLACEHOLDER = "no-key-needed"
"""What a memory system is given as its key."""
EMBEDDER = "embedder.json"
"""File with the embedder of a run and the length of its vectors."""

_HOST = "127.0.0.1"
_OPENAI = "openai:"
_POLL = 0.05  # seconds that closing waits at most; Python's default is half a second for each run


class Relay:
    """A server on loopback; it serves from its construction until `close`."""

    def __init__(self, endpoint: Endpoint, folder: Path, refused: Path) -> None:
        """Start to serve, and find out how long the embedder's vectors are.

        Args:
            endpoint: who answers.
            folder: of the run, for the journal of the requests.
            refused: file to which the addresses that were asked for and refused are appended.

        Raises:
            BadInput: a URL or the key cannot be used, the embedder cannot be loaded, or its vectors are not as long as
                when the run was begun.
            RunFailed: the embeddings endpoint does not answer with a vector.
        """
        import httpx

        self._endpoint, self._folder, self._refused = endpoint, folder, refused
        self._chat = endpoint_address(endpoint.url, f"{_OPENAI}{endpoint.model}")
        self._vectors = endpoint_address(endpoint.embedder_url or endpoint.url, endpoint.embedder)
        self._secrets = (*self._chat.secrets, *self._vectors.secrets)
        self._embedder = _local_embedder(endpoint.embedder)
        self._client = httpx.Client(timeout=endpoint.timeout, follow_redirects=False)
        self._journal = Journal(folder / CALLS)
        self._lock = threading.Lock()
        self._number = len(self._journal.records)
        self._seen: dict[str, bool] = {}  # requests of the present operation: whether the last answer could be used
        self.operation = Operation()
        self._server = ThreadingHTTPServer((_HOST, 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(_POLL,), name="relay", daemon=True)
        self._thread.start()
        try:
            self.dimensions = self._measure()
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return _HOST, self._server.server_port

    @property
    def base_url(self) -> str:
        """URL up to `/v1`."""
        return f"http://{_HOST}:{self._server.server_port}/v1"

    def begin(self, operation: Operation) -> None:
        """Say what the system does from now on; requests are noted under it."""
        with self._lock:
            self.operation, self._seen = operation, {}

    def refuse(self, address: str) -> None:
        """Note an address that the system asked for as if this were its proxy."""
        note_address(address, self._refused)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._client.close()
        self._journal.close()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, bytes, str]:
        """Answer one request of the system and journal it.

        Args:
            path: of the request, such as `/v1/chat/completions`.
            body: its JSON.

        Returns:
            Status, body and content type of the answer.
        """
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
        tokens_in, tokens_out = tokens_of(text)
        reply = (
            "" if embeds and status < 400 else without_secrets(text_of(text) if status < 400 else text, self._secrets)
        )
        unparsable = status < 400 and not embeds and asks_for_json(body) and not holds_json(text)
        with self._lock:
            self._seen[digest] = status < 400 and not unparsable
            self._number += 1
            self._journal.add(
                f"{self._number}", method=operation.method, store=operation.store, item=operation.item, path=path,
                status=status, retry=retry, unparsable=unparsable, tokens_in=tokens_in, tokens_out=tokens_out,
                reply=reply, seconds=round(time.monotonic() - begin, 4),
            )  # fmt: skip
        if wants_stream and status < 400:
            return status, streamed(text), "text/event-stream"
        return status, text.encode(), "application/json"

    def _forward(self, path: str, body: Mapping[str, Any], embeds: bool) -> tuple[int, str]:
        import httpx

        address = self._vectors if embeds else self._chat
        url = f"{address.url.rstrip('/')}/{path.removeprefix('/v1').lstrip('/')}"
        headers = {} if address.key == "none" else {"Authorization": f"Bearer {address.key}"}
        try:
            response = self._client.post(url, json=body, headers=headers, params=dict(address.query) or None)
        except httpx.TimeoutException:
            return 504, _error(f"{shown(address.url)}: no answer within {self._endpoint.timeout:g} s")
        except httpx.HTTPError as error:
            words = without_secrets(str(error), self._secrets)
            return 502, _error(f"{shown(address.url)}: {type(error).__name__}: {words}")
        return response.status_code, response.text

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
            found = len(json.loads(text)["data"][0]["embedding"])
        except (ValueError, LookupError, TypeError):
            words = without_secrets(text.decode()[:200], self._secrets)
            raise RunFailed(f"embedder {self._endpoint.embedder}: HTTP {status}: {words}") from None
        noted = {"embedder": self._endpoint.embedder, "dimensions": found}
        path = self._folder / EMBEDDER
        before = read_json(path, Shape({"embedder": (str,), "dimensions": (int,)})) if path.exists() else noted
        if before["dimensions"] != found:
            raise BadInput(
                f"embedder {self._endpoint.embedder}: expected vectors of {before['dimensions']} numbers, with which "
                f"{path} says the stores were begun, got {found}; choose another folder for the run"
            )
        write_json(path, noted)
        return found


def _local_embedder(name: str) -> Embedder | None:
    if name.startswith(_OPENAI):
        return None
    from epbench.retrieval.embedders import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(name.removeprefix("st:"))


def _error(words: str) -> str:
    return json.dumps({"error": {"message": words, "type": "relay"}})


def _handler(relay: Relay) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Passes requests to the relay; those for other hosts, which arrive as at a proxy, are refused."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if not self.path.startswith("/"):
                return self._refuse()
            try:
                body = json.loads(data)
                if not isinstance(body, dict):
                    raise ValueError
            except ValueError:
                return self._send(400, _error("expected a JSON object").encode(), "application/json")
            try:
                self._send(*relay.answer(self.path, body))
            except EpbenchError as error:
                self._send(500, _error(str(error)).encode(), "application/json")

        def do_GET(self) -> None:
            if not self.path.startswith("/"):
                return self._refuse()
            self._send(404, _error("this address answers requests to models only").encode(), "application/json")

        def do_CONNECT(self) -> None:
            self._refuse()

        def _refuse(self) -> None:
            relay.refuse(shown(self.path))
            self.close_connection = True
            self._send(403, _error("this memory system may talk only to its model").encode(), "application/json")

        def _send(self, status: int, data: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Print nothing: the journal has it."""

    return Handler
