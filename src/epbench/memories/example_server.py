"""An example of a memory system behind an address, in forty lines: `KeywordMemory` as a server, with the standard library.

    python -m epbench.memories.example_server 8400
    epbench system-check http://127.0.0.1:8400

`data/memory_server.openapi.yaml` has the protocol. The stores are in memory and gone with the server: it is not durable.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from epbench.memories.example import KeywordMemory


class Handler(BaseHTTPRequestHandler):
    """Answers the calls of a run; each store is an instance of `KeywordMemory`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    stores: dict[str, KeywordMemory]

    def answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        _, *parts = self.path.split("/")
        match (self.command, *parts):
            case ["GET", "health"]:
                self.reply(200, {"name": "keyword", "version": "1", "durable": False})
            case ["PUT", "stores", name]:
                self.reply(200 if name in self.stores else 201, {})
                self.stores.setdefault(name, KeywordMemory())
            case ["DELETE", "stores", name]:
                self.stores.pop(name, None)
                self.reply(200, {})
            case ["POST", "stores", name, "conversations"] if name in self.stores:
                self.stores[name].store_conversation(body["conversation"])
                self.reply(200, {})
            case ["POST", "stores", name, "retrieve"] if name in self.stores:
                found = self.stores[name].retrieve_memories(body["query"], body["conversation"], body["k"])
                self.reply(200, {"memories": found})
            case ["GET", "stores", name, "memories"] if name in self.stores:
                self.reply(200, {"memories": self.stores[name].get_all_memories()})
            case _:
                self.reply(404, {"error": f"there is no {self.command} {self.path}"})

    do_GET = do_PUT = do_POST = do_DELETE = answer

    def reply(self, status: int, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def server(port: int = 0) -> ThreadingHTTPServer:
    """Return a server on loopback, with stores of its own; port 0 is any free one."""
    return ThreadingHTTPServer(("127.0.0.1", port), type("Stores", (Handler,), {"stores": {}}))


if __name__ == "__main__":
    server(int(sys.argv[1])).serve_forever()
