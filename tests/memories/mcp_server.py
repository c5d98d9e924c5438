"""An MCP server for tests: over standard input and output, or at the port that is given."""

import json
import os
import sys
import urllib.request
from pathlib import Path

from mcp.server import MCPServer

server = MCPServer("notes", version="7")
held: dict[str, list[str]] = {}


def _file() -> Path:
    return Path(os.environ["HOME"]) / "notes.txt"


@server.tool()
def add(note: str, user: str = "") -> str:
    """Keep a note."""
    if "raise" in note:
        raise ValueError("not this one")
    if "exit" in note:
        os._exit(3)
    held.setdefault(user, []).append(note)
    return "kept"


@server.tool()
def find(query: str, limit: int, user: str = "") -> list[dict[str, str]]:
    """Find notes."""
    words = set(query.split())
    return [{"memory": note} for note in sorted(held.get(user, []), key=lambda note: -len(words & set(note.split())))][
        :limit
    ]


@server.tool()
def page_of(page: int, user: str = "") -> dict[str, list[dict[str, str]]]:
    """Two notes to a page."""
    return {"notes": [{"content": note} for note in held.get(user, [])[2 * page - 2 : 2 * page]]}


@server.tool()
def notes(user: str = "") -> str:
    """All notes."""
    return '{"notes": ' + str([{"content": note} for note in held.get(user, [])]).replace("'", '"') + "}"


@server.tool()
def distil(note: str) -> str:
    """Ask the model that the environment names, and keep its words in a file."""
    key = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"}
    body = json.dumps({"model": "any", "messages": [{"role": "user", "content": note}]}).encode()
    request = urllib.request.Request(f"{os.environ['OPENAI_BASE_URL']}/chat/completions", body, key)
    with urllib.request.urlopen(request) as reply:
        said = json.loads(reply.read())["choices"][0]["message"]["content"]
    with _file().open("a") as file:
        file.write(f"{note}: {said}\n")
    return said


@server.tool()
def distilled() -> list[str]:
    """What is in the file."""
    return _file().read_text().splitlines() if _file().exists() else []


@server.tool()
def two(first: str, second: str) -> str:
    """Needs two texts."""
    return first + second


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run()
