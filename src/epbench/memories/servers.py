"""Clients of memory systems that are servers: one behind an address, or one that speaks MCP, which needs the package `mcp`.

`data/memory_server.openapi.yaml` has the protocol of a server behind an address. A store is named by a random id, which its
folder notes. The server of a system that is not durable is told to drop a store when it is closed; that of a durable one keeps
it, so that a run can be resumed.

The tools of an MCP server are mapped to the three calls. A mapping is the name of a tool, or that and a JSON object of its
arguments. In the texts of the object these words are replaced:

- `{text}`: what the user says in a conversation; `{conversation}`: all its turns, each after its speaker
- `{time}`: the time of its first turn, which no other conversation of a run has
- `{query}` and `{k}`: of a retrieval. `{word}` makes a call for each word of the query that has more than three letters,
  for servers that compare whole texts; what more words find comes first
- `{page}`: from 1, until a page of a listing has nothing new
- `{store}`: the name of the store, for a server that holds several
- `{folder}`: in a command, the folder of the store

Without arguments, a text goes to the only text that the tool requires, and k to a whole number called `limit` or the like.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from epbench.errors import BadInput, CallFailed
from epbench.files.secrets import checked_key
from epbench.files.writing import write_text
from epbench.memories.guard import CLOSE, FINALIZE, LIST, OPEN, RETRIEVE, STORE
from epbench.memories.protocol import Conversation, Setting
from epbench.models.openai.address import MOST_BYTES, SizeLimit
from epbench.models.openai.wire import ReplyTooLarge

NOTE = "store.txt"  # file in the folder of a store, with its name on the server
_LONGEST = 200  # characters of a refusal that are told


def store_names(folder: Path, durable: bool) -> tuple[str, str]:
    """Return the name that a folder's store had, if any, and the one that it has now, which is noted; a durable one keeps it."""
    note = folder / NOTE
    before = note.read_text("utf-8") if note.exists() else ""
    name = before if durable and before else f"epbench-{uuid4().hex}"
    if name != before:
        write_text(note, name)
    return before, name


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
        `CallFailed` if there was no answer in time, or it was not a success or no JSON object of a size within the limit.
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
        `CallFailed` if the server does not answer, or no longer has a store that it was given before.
        """
        self._server = Server(str(settings["target"]), float(settings["seconds"] or 0), str(settings["key"] or ""))
        self._durable = bool(settings["durable"])
        before, name = store_names(folder, self._durable)
        if before not in ("", name):  # of a process that was killed
            self._server.call(CLOSE, "DELETE", f"/stores/{before}", optional=True)
        self._path = f"/stores/{name}"
        status = self._server.call(OPEN, "PUT", self._path)["status"]
        if before == name and status == 201:
            self._server.call(CLOSE, "DELETE", self._path, optional=True)
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
                self._server.call(CLOSE, "DELETE", self._path, optional=True)
        self._server.close()

    def _memories(self, what: str, method: str, path: str, body: Any = None) -> list[str]:
        """The list in a reply; the guard checks that it holds texts."""
        memories: list[str] = self._server.call(what, method, self._path + path, body).get("memories")  # type: ignore[assignment]
        return memories


CALLS = ("store", "retrieve", "list")  # what tools are mapped to


@dataclass(frozen=True)
class Preset:
    """A public server: how its tools are mapped, and where it keeps its memories."""

    tools: Mapping[str, str]
    variables: Mapping[str, str]  # of its environment; with `{folder}`


PRESETS: Mapping[str, Preset] = {
    "server-memory": Preset(  # npm @modelcontextprotocol/server-memory 2026.8.31
        {
            "store": 'create_entities {"entities": [{"name": "{time}", "entityType": "note", "observations": ["{text}"]}]}',
            "retrieve": 'search_nodes {"query": "{word}"}',
            "list": "read_graph",
        },
        {"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
    ),
    "agent-logbook": Preset(  # PyPI agent-logbook 0.1.1, with mcp<2. It lists only what is open, and only tasks are.
        {
            "store": 'remember {"type": "task", "content": "{text}", "force": true}',
            "retrieve": 'recall {"query": "{query}", "budget_tokens": 1000000}',
            "list": "list_open",
        },
        {"MEM_DB_PATH": "{folder}/logbook.db"},
    ),
}
"""By a word that the command of a server has in it."""

_LIMITS = ("k", "limit", "top_k", "topK", "n_results", "max_results", "num_results", "page_size")
_TEXTS = ("content", "text", "memory", "observations", "observation", "fact", "document", "summary", "value")
_MOST_PAGES = 10_000
_NEW_SESSION = (
    "import ctypes, os, sys; sys.platform == 'linux' and ctypes.CDLL(None).prctl(1, 9); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
"""Starts the server so that it is killed with this process, of whose group it is no member."""


@dataclass(frozen=True)
class Tool:
    """A tool and its arguments, in which words in braces are replaced."""

    name: str
    arguments: Mapping[str, Any] | None  # None: to be found out from its schema

    @classmethod
    def read(cls, call: str, text: str) -> Tool:
        """Read a mapping; `BadInput` if what follows the name is no JSON object."""
        name, _, rest = text.strip().partition(" ")
        try:
            arguments = json.loads(rest) if rest.strip() else None
        except ValueError:
            arguments = False
        if not name or not (arguments is None or isinstance(arguments, dict)):
            raise BadInput(f"setting {call}: expected TOOL, or TOOL and a JSON object of arguments, got {text!r}")
        return cls(name, arguments)

    def fitted(self, call: str, schema: Mapping[str, Any]) -> Tool:
        """Fill in the arguments from the tool's schema, if they are not given; `CallFailed` if it leaves open which."""
        if self.arguments is not None:
            return self
        properties = schema.get("properties") or {}
        required = [name for name in schema.get("required") or () if properties.get(name, {}).get("type") == "string"]
        if call == "list":
            return Tool(self.name, {})
        if len(required) != 1:
            raise CallFailed(
                f"tool {self.name}: expected one text that it requires, found {', '.join(required) or 'none'} of "
                f"{', '.join(properties) or 'no arguments'}; give its arguments, as in the setting {call}={self.name} {{…}}"
            )
        found: dict[str, Any] = {required[0]: "{text}" if call == "store" else "{query}"}
        if call == "retrieve" and (limit := next((name for name in _LIMITS if name in properties), None)):
            found[limit] = "{k}"
        return Tool(self.name, found)

    def has(self, word: str) -> bool:
        """Whether a word in braces occurs in the arguments."""
        return word in json.dumps(self.arguments)


def filled(value: Any, words: Mapping[str, str | int]) -> Any:
    """Arguments of a tool with words in braces replaced."""
    if isinstance(value, dict):
        return {name: filled(item, words) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, words) for item in value]
    if not isinstance(value, str):
        return value
    if value in words:  # a number stays a number
        return words[value]
    # In one pass, as a text may have a word in braces itself.
    return re.sub(r"\{[a-z]+\}", lambda match: str(words.get(match[0], match[0])), value)


class McpMemory:
    """A store of an MCP server; see `epbench.memories.protocol` for its methods."""

    def __init__(self, folder: Path, settings: Mapping[str, Setting]) -> None:
        """
        The folder of the store is the home folder of a server that is started. `settings` are `target` (an address, or a
        command), a mapping for each of `CALLS`, `preset`, `durable`, `seconds` that a call may take, and `key`, the variable with
        the key for an address. `CallFailed` if the server cannot be started or reached, or has no such tool.
        """
        from anyio.from_thread import start_blocking_portal

        self._target, self._seconds = str(settings["target"]), float(settings["seconds"] or 0)
        name = store_names(folder, bool(settings["durable"]))[1]
        self._words: dict[str, str | int] = {"{store}": name, "{folder}": str(folder)}
        try:
            with ExitStack() as stack:
                self._portal = stack.enter_context(start_blocking_portal())
                client = self._client(folder, settings)
                self._session: Any = stack.enter_context(self._portal.wrap_async_context_manager(client))
                schemas = {tool.name: tool.input_schema for tool in self._portal.call(self._session.list_tools).tools}
                tools = {call: Tool.read(call, str(settings[call])) for call in CALLS}
                for tool in tools.values():
                    if tool.name not in schemas:
                        names = ", ".join(schemas) or "none"
                        raise CallFailed(f"{self._target}: found no tool {tool.name!r}, only: {names}")
                self._tools = {call: tool.fitted(call, schemas[tool.name]) for call, tool in tools.items()}
                self._open = stack.pop_all()
        except Exception as error:
            raise CallFailed(_told(self._target, OPEN, error)) from None
        about = self._session.server_info
        print(f"MCP server {about.name} {about.version}, protocol {self._session.protocol_version}", file=sys.stderr)

    def _client(self, folder: Path, settings: Mapping[str, Setting]) -> Any:
        """The client of an address, or of a command that it starts."""
        from mcp import Client, StdioServerParameters
        from mcp.client.stdio import stdio_client
        from mcp.client.streamable_http import streamable_http_client

        if not self._target.startswith(("http://", "https://")):
            preset = PRESETS.get(str(settings["preset"] or ""))
            own = {"HOME": str(folder), **(preset.variables if preset else {})}
            environment = os.environ | {name: str(filled(value, self._words)) for name, value in own.items()}
            command = [str(filled(word, self._words)) for word in shlex.split(self._target)]
            start = ["-c", _NEW_SESSION, *command]
            how = StdioServerParameters(command=sys.executable, args=start, env=environment, cwd=folder)
            return Client(stdio_client(how, errlog=sys.stderr), read_timeout_seconds=self._seconds)
        import httpx2

        key = checked_key(str(settings["key"])) if settings["key"] else ""
        limit = SizeLimit(4 * MOST_BYTES).options(asynchronous=True, key=key)
        http = httpx2.AsyncClient(timeout=self._seconds, **limit)
        return Client(streamable_http_client(self._target, http_client=http), read_timeout_seconds=self._seconds)

    def store_conversation(self, conversation: Conversation) -> None:
        """Call the tool that stores, once."""
        turns = [f"{turn['role'].capitalize()}: {turn['content']}" for turn in conversation]
        said = [turn["content"] for turn in conversation if turn["role"] == "user"]
        time = conversation[0].get("timestamp", "") if conversation else ""
        self._call(STORE, "store", {"{text}": "\n".join(said), "{conversation}": "\n".join(turns), "{time}": time})

    def retrieve_memories(self, query: str, conversation: Conversation, k: int) -> list[str]:
        """Return the first k memories that the tool finds, or the k that the most words find."""
        words: dict[str, str | int] = {"{query}": query, "{k}": k}
        if not self._tools["retrieve"].has("{word}"):
            return self._call(RETRIEVE, "retrieve", words)[:k]
        found: Counter[str] = Counter()  # ties stay in the order of the first find
        for word in dict.fromkeys(word for word in re.findall(r"\w+", query) if len(word) > 3):
            found.update(list(dict.fromkeys(self._call(RETRIEVE, "retrieve", {**words, "{word}": word}))))
        return [memory for memory, _ in found.most_common(k)]

    def get_all_memories(self) -> list[str]:
        """Return what the tool lists, all pages of it."""
        if not self._tools["list"].has("{page}"):
            return self._call(LIST, "list", {})
        listed: dict[str, None] = {}
        for page in range(1, _MOST_PAGES + 1):
            before = len(listed)
            listed |= dict.fromkeys(self._call(LIST, "list", {"{page}": page}))
            if len(listed) == before:
                break
        return list(listed)

    def close(self) -> None:
        """End the session, and the server if it was started for it."""
        self._open.close()

    def _call(self, what: str, call: str, words: Mapping[str, str | int]) -> list[str]:
        """Call a tool and return the texts of its result."""
        tool = self._tools[call]
        where = f"{what}, tool {tool.name}"
        try:
            arguments = filled(tool.arguments or {}, {**self._words, **words})
            result = self._portal.call(self._session.call_tool, tool.name, arguments)
        except Exception as error:
            if "onnection closed" in str(error):  # there is no server any more: another process starts another one
                print(_told(self._target, where, error), file=sys.stderr, flush=True)
                os._exit(1)
            raise CallFailed(_told(self._target, where, error)) from None
        blocks = [block.text for block in result.content if getattr(block, "text", None)]
        if result.is_error:
            raise CallFailed(f"{self._target}: {where}: {' '.join(blocks)[:200] or 'an error without words'}")
        values = blocks if result.structured_content is None else [result.structured_content]
        return [text for value in values for text in _memories(value)]


def _memories(value: Any) -> Iterator[str]:
    """The memories in the result of a tool: the items of a list, of the first list in an object, or the text alone."""
    value = _parsed(value)
    if isinstance(value, dict):
        if list(value) == ["result"]:  # how servers wrap what is no object
            yield from _memories(value["result"])
            return
        lists = [item for item in value.values() if isinstance(item, list)]
        value = lists[0] if lists else [value] if any(name in value for name in _TEXTS) else []
    for item in value if isinstance(value, list) else [value]:
        if item is not None and (text := _text(item)):
            yield text


def _text(item: Any) -> str:
    """The text of a memory, which an object has in one of its fields."""
    if isinstance(item, str):
        return item
    if isinstance(item, list):
        return "\n".join(map(_text, item))
    if isinstance(item, dict):
        for name in _TEXTS:
            if item.get(name):
                return _text(item[name])
    return json.dumps(item, ensure_ascii=False)


def _parsed(value: Any) -> Any:
    """JSON that is written as a text; any other value as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _told(target: str, what: str, error: BaseException) -> str:
    """What went wrong in a call, in one line: of several errors the first, and our own words as they are."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, CallFailed):
        return str(error)
    return " ".join(f"{target}: {what}: {type(error).__name__}: {error}".split())[:500]
