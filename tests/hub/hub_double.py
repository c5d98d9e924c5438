"""A small Hugging Face Hub on 127.0.0.1: repositories, commits, large files and downloads.

It answers the calls that `huggingface_hub`, `datasets` and `evaluate` make with HF_ENDPOINT set to its address and
HF_HUB_DISABLE_XET=1, checks token and write permission as the Hub does, and answers everything else with 404.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

TOKEN = "hf_notARealTokenButOneThatMustNotBePrinted"


@dataclass(eq=False)
class Refusal(Exception):
    """An error that the Hub answers with; by its code the client picks the exception."""

    status: int
    message: str
    code: str = ""


@dataclass
class Call:
    """What a client asks: its Authorization header, the named parts of the path, the body."""

    authorization: str | None
    parts: dict[str, str]
    body: bytes


@dataclass
class Answer:
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200

    @classmethod
    def of(cls, value: Any, status: int = 200) -> Answer:
        return cls(json.dumps(value).encode(), {"Content-Type": "application/json"}, status)


@dataclass
class Repo:
    """A repository: what it was created with, and all its files after each commit; a new one is empty."""

    created_with: dict[str, Any]
    commits: list[dict[str, bytes]] = field(default_factory=lambda: [{}])

    @property
    def name(self) -> str:
        return f"{self.created_with['organization']}/{self.created_with['name']}"

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[-1]

    def sha(self, commit: int) -> str:
        return hashlib.sha1(f"{self.created_with['type']} {self.name} {commit}".encode()).hexdigest()

    def at(self, revision: str) -> tuple[str, dict[str, bytes]]:
        """Full hash and files of a branch or commit."""
        for number in reversed(range(len(self.commits))):
            if revision in ("main", self.sha(number)):
                return self.sha(number), self.commits[number]
        raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")


def is_large(path: str) -> bool:
    return path.endswith(".parquet")


def object_id(path: str, content: bytes) -> str:
    """By which the client sees that a file has not changed."""
    if is_large(path):
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content)).hexdigest()


class HubDouble:
    """The double, serving between `with` and its end.

    Attributes:
        writable: namespaces that the owner of `TOKEN` may write to.
        repos: by kind and name, such as `("datasets", "lab/diary")`.
        requests: all so far, such as `POST /api/repos/create`.
    """

    def __init__(self, *writable: str) -> None:
        self.writable = set(writable)
        self.repos: dict[tuple[str, str], Repo] = {}
        self.requests: list[str] = []
        self._large_files: dict[str, bytes] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("BoundHandler", (_Handler,), {"hub": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> HubDouble:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: str, authorization: str | None, body: bytes) -> Answer:
        """The answer to `METHOD /path`."""
        self.requests.append(request)
        for pattern, route in self._ROUTES:
            if match := re.fullmatch(pattern, request):
                parts = {name: unquote(value or "") for name, value in match.groupdict().items()}
                return route(self, Call(authorization, parts, body))
        raise Refusal(404, "Sorry, we can't find the page you are looking for.")

    def _repo(self, call: Call) -> Repo:
        key = call.parts["kind"], call.parts["repo"]
        if key not in self.repos:
            raise Refusal(404, "Repository not found", "RepoNotFound")
        return self.repos[key]

    def _check_may_write(self, repo: Repo, call: Call) -> None:
        if call.authorization != f"Bearer {TOKEN}":
            raise Refusal(401, "Invalid username or password.")
        if repo.created_with["organization"] not in self.writable:
            raise Refusal(403, f"You don't have the rights to write to {repo.name}")

    def _create(self, call: Call) -> Answer:
        repo = Repo(json.loads(call.body))
        self._check_may_write(repo, call)
        key = (f"{repo.created_with['type']}s", repo.name)
        status = 409 if key in self.repos else 200
        self.repos.setdefault(key, repo)
        return Answer.of({"url": "/".join((self.url, *key))}, status)

    def _preupload(self, call: Call) -> Answer:
        """How to upload each file, and which object its path holds now."""
        repo = self._repo(call)
        self._check_may_write(repo, call)
        _, present = repo.at(call.parts["revision"])
        files = []
        for path in (file["path"] for file in json.loads(call.body)["files"]):
            mode = "lfs" if is_large(path) else "regular"
            oid = object_id(path, present[path]) if path in present else None
            files.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        return Answer.of({"files": files})

    def _large_file_batch(self, call: Call) -> Answer:
        self._check_may_write(self._repo(call), call)
        objects = json.loads(call.body)["objects"]
        for large in objects:
            if large["oid"] not in self._large_files:
                large["actions"] = {"upload": {"href": f"{self.url}/large-files/{large['oid']}"}}
        return Answer.of({"transfer": "basic", "objects": objects})

    def _large_file(self, call: Call) -> Answer:
        if hashlib.sha256(call.body).hexdigest() != call.parts["oid"]:
            raise Refusal(400, "The content is not the announced one")
        self._large_files[call.parts["oid"]] = call.body
        return Answer()

    def _commit(self, call: Call) -> Answer:
        repo = self._repo(call)
        self._check_may_write(repo, call)
        files = dict(repo.files)
        for operation in map(json.loads, call.body.splitlines()):
            value = operation["value"]
            if operation["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif operation["key"] == "lfsFile":
                files[value["path"]] = self._large_files[value["oid"]]
            elif operation["key"] == "deletedFile":
                del files[value["path"]]
        repo.commits.append(files)
        sha, _ = repo.at("main")
        return Answer.of({"commitOid": sha, "commitUrl": f"{self.url}/{call.parts['kind']}/{repo.name}/commit/{sha}"})

    def _info(self, call: Call) -> Answer:
        repo = self._repo(call)
        sha, files = repo.at(call.parts["revision"] or "main")
        return Answer.of({"id": repo.name, "sha": sha, "siblings": [{"rfilename": path} for path in files]})

    def _tree(self, call: Call) -> Answer:
        _, files = self._repo(call).at(call.parts["revision"])
        folder = call.parts["path"] and call.parts["path"] + "/"
        entries = {}
        for path in (path for path in files if path.startswith(folder)):
            name, *deeper = path.removeprefix(folder).split("/", 0 if call.parts["recursive"] else -1)
            entry = {"type": "directory" if deeper else "file", "path": folder + name}
            entries[name] = entry | {"size": len(files[path]), "oid": object_id(path, files[path])}
        if folder and not entries:
            raise Refusal(404, f"{folder} does not exist", "EntryNotFound")
        return Answer.of(list(entries.values()))

    def _download(self, call: Call) -> Answer:
        sha, files = self._repo(call).at(call.parts["revision"])
        path = call.parts["path"]
        if path not in files:
            raise Refusal(404, "Entry not found", "EntryNotFound")
        return Answer(files[path], {"X-Repo-Commit": sha, "ETag": f'"{object_id(path, files[path])}"'})

    _REPO = r"(?P<kind>datasets|spaces)/(?P<repo>[^/]+/[^/]+)"
    _REVISION = r"(?P<revision>[^/?]+)"
    _ROUTES: ClassVar[list[tuple[str, Callable[[HubDouble, Call], Answer]]]] = [
        (r"POST /api/repos/create", _create),
        (r"POST /api/validate-yaml", lambda hub, call: Answer.of({"errors": [], "warnings": []})),
        (rf"POST /api/{_REPO}/preupload/{_REVISION}", _preupload),
        (rf"POST /{_REPO}\.git/info/lfs/objects/batch", _large_file_batch),
        (r"PUT /large-files/(?P<oid>\w+)", _large_file),
        (rf"POST /api/{_REPO}/commit/{_REVISION}", _commit),
        (rf"GET /api/{_REPO}(/revision/{_REVISION})?", _info),
        (rf"GET /api/{_REPO}/tree/{_REVISION}(/(?P<path>[^?]+))?(?P<recursive>\?recursive)?", _tree),
        (rf"(GET|HEAD) /{_REPO}/resolve/{_REVISION}/(?P<path>.+)", _download),
    ]


class _Handler(BaseHTTPRequestHandler):
    hub: ClassVar[HubDouble]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or headers and body arrive 40 ms apart

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = urlsplit(self.path)
        recursive = "?recursive" if "recursive=true" in asked.query.lower() else ""  # of a tree, with all its folders
        request = f"{self.command} {asked.path}{recursive}"
        try:
            answer = self.hub.answer(request, self.headers.get("Authorization"), body)
        except Refusal as refusal:
            answer = Answer.of({"error": refusal.message}, refusal.status)
            answer.headers |= {"X-Error-Code": refusal.code, "X-Error-Message": refusal.message}
        self.send_response(answer.status)
        for name, value in (answer.headers | {"Content-Length": str(len(answer.body))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    do_GET = do_HEAD = do_POST = do_PUT = _serve

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: stderr belongs to pytest."""
