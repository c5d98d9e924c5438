"""A memory system behind an address: a client of the protocol in `data/memory_server.openapi.yaml`.

A store is named by a random id, which its folder notes. The server of a system that is not durable is told to drop a store
when it is closed; that of a durable one keeps it, so that a run can be resumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from epbench.errors import CallFailed
from epbench.files.secrets import checked_key
from epbench.files.writing import write_text
from epbench.memories.guard import FINALIZE, LIST, OPEN, RETRIEVE, STORE
from epbench.memories.protocol import Conversation, Setting
from epbench.models.openai.address import MOST_BYTES, SizeLimit
from epbench.models.openai.wire import ReplyTooLarge

NOTE = "store.txt"
"""File in the folder of a store, with its name on the server."""
_LONGEST = 200  # characters of a refusal that are told


class Server:
    """The server at an address: makes requests to it and says in one line what went wrong."""

    def __init__(self, url: str, seconds: float, key: str = "") -> None:
        """`key` names the environment variable with the key of the server; it is empty if the server needs none."""
        import httpx2

        self._url, self._seconds = url.rstrip("/"), seconds
        limit = SizeLimit(4 * MOST_BYTES).options(asynchronous=False, key=checked_key(key) if key else "")
        self._client = httpx2.Client(timeout=seconds, **limit)

    def call(self, what: str, method: str, path: str, body: Any = None, *, optional: bool = False) -> dict[str, Any]:
        """Make a request, and return the JSON object of the reply with its `status`.

        `what` is the call, as messages name it. `optional` says that a server may lack it, which it tells by 404, 405 or 501.

        Raises:
            CallFailed: There was no answer in time, or it was not a success or no JSON object of a size within the limit.
        """
        import httpx2

        where = f"{self._url}: {what}"
        try:
            response = self._client.request(method, f"{self._url}{path}", json=body)
        except httpx2.TimeoutException:
            raise CallFailed(f"{where}: no answer within {self._seconds:g} s") from None
        except (httpx2.HTTPError, ReplyTooLarge) as error:
            raise CallFailed(f"{where}: {type(error).__name__}: {error}") from None
        status = response.status_code
        if optional and status in (404, 405, 501):
            return {"status": status}
        if not response.is_success:
            words = "redirects are not followed" if response.is_redirect else " ".join(response.text.split())
            raise CallFailed(f"{where}: HTTP {status}: {words[:_LONGEST]}".rstrip(": "))
        try:
            reply = response.json() if response.content.strip() else {}
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict):
            raise CallFailed(f"{where}: HTTP {status}: expected a JSON object, got {response.text[:60]!r}")
        return {**reply, "status": status}

    def close(self) -> None:
        self._client.close()


class HttpMemory:
    """A store on a server; see `epbench.memories.protocol` for its methods."""

    def __init__(self, folder: Path, settings: Mapping[str, Setting]) -> None:
        """
        The folder takes the note of the store's id. `settings` are `target` (the address), `durable`, `seconds` and `key`.

        Raises:
            CallFailed: The server does not answer, or no longer has a store that it was given before.
        """
        self._server = Server(str(settings["target"]), float(settings["seconds"] or 0), str(settings["key"] or ""))
        self._durable = bool(settings["durable"])
        before, name = store_names(folder, self._durable)
        if before not in ("", name):  # of a process that was killed
            self._server.call("close", "DELETE", f"/stores/{before}", optional=True)
        self._path = f"/stores/{name}"
        status = self._server.call(OPEN, "PUT", self._path)["status"]
        if before == name and status == 201:
            self._server.call("close", "DELETE", self._path, optional=True)
            raise CallFailed(f"{settings['target']}: {OPEN}: it no longer has store {name}; begin another run")

    def store_conversation(self, conversation: Conversation) -> None:
        self._server.call(STORE, "POST", f"{self._path}/conversations", {"conversation": conversation})

    def finalize(self) -> None:
        """Say that everything has been stored, if the server wants to know."""
        self._server.call(FINALIZE, "POST", f"{self._path}/finalize", {}, optional=True)

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        body = {"query": query, "conversation": conversation, "k": k}
        return self._memories(RETRIEVE, "POST", "/retrieve", body)

    def get_all_memories(self) -> list[str]:
        return self._memories(LIST, "GET", "/memories")

    def close(self) -> None:
        """Have the server drop a store that is not durable."""
        if not self._durable:
            with suppress(CallFailed):
                self._server.call("close", "DELETE", self._path, optional=True)
        self._server.close()

    def _memories(self, what: str, method: str, path: str, body: Any = None) -> list[str]:
        """The list in a reply; the guard checks that it holds texts."""
        memories: list[str] = self._server.call(what, method, self._path + path, body).get("memories")  # type: ignore[assignment]
        return memories


def store_names(folder: Path, durable: bool) -> tuple[str, str]:
    """Return the name that the store of a folder had, which may be empty, and its name from now on, which is noted.

    A durable store is still there under its name.
    """
    note = folder / NOTE
    before = note.read_text("utf-8") if note.exists() else ""
    name = before if durable and before else f"epbench-{uuid4().hex}"
    if name != before:
        write_text(note, name)
    return before, name
