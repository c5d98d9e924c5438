"""A small Hugging Face Hub on 127.0.0.1: repositories, commits, tags, large files and downloads.

    with HubDouble("lab") as hub:  # TOKEN may write to lab/…, and to nothing else
        subprocess.run([...], env=os.environ | hub.environment(home))
        hub.repos["datasets", "lab/diary"].files  # what is there now

It answers the calls that `huggingface_hub`, `datasets` and `evaluate` make, checks token and permission, the hash of large
files and the parent of a commit as the Hub does, and answers everything else with 404. Xet has no counterpart here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from tests.loopback import Handler, Loopback

TOKEN = "hf_notARealTokenButOneThatMustNotBePrinted"
SIGNATURE = "X-Amz-Signature=notARealSignatureButOneThatMustNotBePrinted"  # of the addresses for large files
LARGE = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n"


@dataclass(eq=False)
class Refusal(Exception):
    """An error that the Hub answers with; by its code the client picks the exception."""

    status: int
    message: str
    code: str = ""


class Cut(Exception):
    """Raised in `HubDouble.before`: the connection is closed in the middle of the request, without an answer."""


@dataclass
class Repo:
    """A repository: what it was created with, all its files after each commit, and the commits of its tags."""

    created_with: dict[str, Any]
    commits: list[dict[str, bytes]] = field(default_factory=lambda: [{".gitattributes": LARGE}])
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.created_with['organization']}/{self.created_with['name']}"

    @property
    def files(self) -> dict[str, bytes]:
        """The files of `main`, without those that the Hub itself has made."""
        return {path: content for path, content in self.commits[-1].items() if path != ".gitattributes"}

    @property
    def head(self) -> str:
        return self.sha(len(self.commits) - 1)

    def sha(self, commit: int) -> str:
        return hashlib.sha1(f"{self.created_with['type']} {self.name} {commit}".encode()).hexdigest()

    def at(self, revision: str) -> tuple[str, dict[str, bytes]]:
        """Full hash and files of a branch, tag or commit."""
        wanted = self.tags.get(revision, revision)
        for number in reversed(range(len(self.commits))):
            if wanted in ("main", self.sha(number)):
                return self.sha(number), self.commits[number]
        raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")

    def add(self, path: str, content: bytes) -> None:
        """Commit a file as somebody else would."""
        self.commits.append(self.commits[-1] | {path: content})

    def tag(self, name: str, revision: str) -> None:
        if name in self.tags:
            raise Refusal(409, f"Tag reference exists already: {name}")
        self.tags[name], _ = self.at(revision)


def is_large(path: str) -> bool:
    return path.endswith(".parquet")


def object_id(path: str, content: bytes) -> str:
    """By which the client sees that a file has not changed."""
    git = hashlib.sha1(b"blob %d\0%b" % (len(content), content))
    return (hashlib.sha256(content) if is_large(path) else git).hexdigest()


def tree_entry(path: str, content: bytes) -> dict[str, Any]:
    """A file as the listing of a folder describes it; of a large one, git has a pointer."""
    entry, oid = {"type": "file", "path": path, "size": len(content)}, object_id(path, content)
    large = {"lfs": {"oid": oid, "size": len(content), "pointerSize": 130}} if is_large(path) else {}
    return entry | {"oid": "0" * 40 if large else oid} | large


@dataclass
class Call:
    """What a client asks: its headers, the named parts of the path, the query, the body."""

    headers: Mapping[str, str]
    parts: dict[str, str]
    query: dict[str, str]
    body: bytes


@dataclass
class Answer:
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 200

    @classmethod
    def of(cls, value: Any, status: int = 200) -> Answer:
        return cls(json.dumps(value).encode(), {"Content-Type": "application/json"}, status)


class HubDouble(Loopback):
    """The double, serving between `with` and its end at `url`; the owner of `TOKEN` may write to these namespaces."""

    def __init__(self, *writable: str) -> None:
        self.writable = set(writable)
        self.repos: dict[tuple[str, str], Repo] = {}  # by kind and name, such as `("datasets", "lab/diary")`
        self.requests: list[str] = []  # such as `POST /api/repos/create`
        self.uploads: list[str] = []  # the SHA-256 of each large file that arrived completely, repeats included
        self.cut_uploads = 0  # large files in whose middle the connection breaks
        # Called with each request before its body is read; it may raise a `Refusal` or `Cut`, change the Hub, kill a client.
        self.before: Callable[[str], object] = lambda request: None
        self.page = 1000  # entries on a page of a listing
        self._large_files: dict[str, bytes] = {}
        self._lock = threading.RLock()
        super().__init__(ThreadingHTTPServer(("127.0.0.1", 0), type("BoundHandler", (_Handler,), {"hub": self})))

    def environment(self, home: Path) -> dict[str, str]:
        """Variables for a process whose Hub this is, with the caches of Hugging Face's libraries in `home`."""
        variables = {"HF_ENDPOINT": self.url, "HF_HOME": str(home), "HF_TOKEN": TOKEN, "HF_HUB_DISABLE_XET": "1"}
        offline = {"HF_HUB_OFFLINE": "0", "HF_EVALUATE_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0"}
        return variables | offline | {"NO_PROXY": "127.0.0.1"}

    def publish(self, kind: str, name: str, files: Mapping[str, bytes]) -> Repo:
        """Put a commit with these files on `main`, in a new repository if there is none."""
        organization, _, short = name.partition("/")
        new = Repo({"organization": organization, "name": short, "type": kind[:-1]})
        repo = self.repos.setdefault((kind, name), new)
        repo.commits.append({**repo.commits[-1], **files})
        return repo

    def check_arrival(self, request: str) -> None:
        with self._lock:
            self.requests.append(request)
            cut = request.startswith("PUT ") and self.cut_uploads > 0
            self.cut_uploads -= cut
        if cut:
            raise Cut
        self.before(request)

    def answer(self, request: str, query: dict[str, str], headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer to `METHOD /path`."""
        with self._lock:
            for pattern, route in self._ROUTES:
                if match := re.fullmatch(pattern, request):
                    parts = {name: unquote(value or "") for name, value in match.groupdict().items()}
                    call = Call(headers, parts, query, body)
                    if call.headers.get("Authorization") not in (None, f"Bearer {TOKEN}"):
                        raise Refusal(401, "Invalid username or password.")
                    return route(self, call)
        raise Refusal(404, "Sorry, we can't find the page you are looking for.")

    def _repo(self, call: Call) -> Repo:
        repo = self.repos.get((call.parts["kind"], call.parts["repo"]))
        if repo is None:
            raise Refusal(404, "Repository not found", "RepoNotFound")
        return repo

    def _written(self, call: Call) -> Repo:
        """The repository of a call that changes it."""
        repo = self._repo(call)
        self._check_may_write(repo, call)
        return repo

    def _check_may_write(self, repo: Repo, call: Call) -> None:
        if not call.headers.get("Authorization"):
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
        _, present = self._written(call).at(call.parts["revision"])
        files = []
        for path in (file["path"] for file in json.loads(call.body)["files"]):
            mode = "lfs" if is_large(path) else "regular"
            oid = object_id(path, present[path]) if path in present else None
            files.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        return Answer.of({"files": files})

    def _large_file_batch(self, call: Call) -> Answer:
        self._written(call)
        objects = json.loads(call.body)["objects"]
        for large in objects:
            if large["oid"] not in self._large_files:
                upload = f"{self.url}/large-files/{large['oid']}?{SIGNATURE}"
                large["actions"] = {"upload": {"href": upload}}
        return Answer.of({"transfer": "basic", "objects": objects})

    def _large_file(self, call: Call) -> Answer:
        """Its address is signed, so no token is needed."""
        if "&".join(f"{name}={value}" for name, value in call.query.items()) != SIGNATURE:
            raise Refusal(403, "SignatureDoesNotMatch")
        if hashlib.sha256(call.body).hexdigest() != call.parts["oid"]:
            raise Refusal(400, "The content is not the announced one")
        self._large_files[call.parts["oid"]] = call.body
        self.uploads.append(call.parts["oid"])
        return Answer()

    def _commit(self, call: Call) -> Answer:
        repo = self._written(call)
        files = dict(repo.commits[-1])
        for operation in map(json.loads, call.body.splitlines()):
            value = operation["value"]
            if operation["key"] == "header" and value.get("parentCommit") not in (None, repo.head):
                raise Refusal(412, "A commit has happened since. Please refresh and try again.")
            if operation["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif operation["key"] == "lfsFile":
                if value["oid"] not in self._large_files:
                    raise Refusal(400, f"{value['path']}: the LFS object does not exist")
                files[value["path"]] = self._large_files[value["oid"]]
            elif operation["key"] == "deletedFile" and files.pop(value["path"], None) is None:
                raise Refusal(404, "A file with this name doesn't exist", "EntryNotFound")
        repo.commits.append(files)
        url = f"{self.url}/{call.parts['kind']}/{repo.name}/commit/{repo.head}"
        return Answer.of({"commitOid": repo.head, "commitUrl": url})

    def _info(self, call: Call) -> Answer:
        repo = self._repo(call)
        sha, files = repo.at(call.parts["revision"] or "main")
        siblings = [{"rfilename": path} for path in files]
        return Answer.of({"id": repo.name, "sha": sha, "siblings": siblings})

    def _refs(self, call: Call) -> Answer:
        repo = self._repo(call)
        tags = [{"name": name, "ref": f"refs/tags/{name}", "targetCommit": sha} for name, sha in repo.tags.items()]
        main = {"name": "main", "ref": "refs/heads/main", "targetCommit": repo.head}
        return Answer.of({"branches": [main], "converts": [], "tags": tags})

    def _tag(self, call: Call) -> Answer:
        self._written(call).tag(json.loads(call.body)["tag"], call.parts["revision"])
        return Answer.of({})

    def _delete_tag(self, call: Call) -> Answer:
        if self._written(call).tags.pop(call.parts["revision"], None) is None:
            raise Refusal(404, "Tag not found", "RevisionNotFound")
        return Answer.of({})

    def _tree(self, call: Call) -> Answer:
        _, files = self._repo(call).at(call.parts["revision"])
        folder = call.parts["path"] and call.parts["path"] + "/"
        whole = call.query.get("recursive", "").lower() in ("true", "1")
        entries = {}
        for path in (path for path in files if path.startswith(folder)):
            name, *deeper = path.removeprefix(folder).split("/", 0 if whole else -1)
            directory = {"type": "directory", "path": folder + name, "size": 0, "oid": "0" * 40}
            entries[name] = directory if deeper else tree_entry(path, files[path])
        if folder and not entries:
            raise Refusal(404, f"{folder} does not exist", "EntryNotFound")
        first = int(call.query.get("cursor", 0))
        answer = Answer.of(list(entries.values())[first : first + self.page])
        if len(entries) > first + self.page:
            path = f"{call.parts['kind']}/{call.parts['repo']}/tree/{call.parts['revision']}/{folder}".rstrip("/")
            rest = "&".join(f"{name}={value}" for name, value in {**call.query, "cursor": first + self.page}.items())
            answer.headers["Link"] = f'<{self.url}/api/{path}?{rest}>; rel="next"'
        return answer

    def _download(self, call: Call) -> Answer:
        sha, files = self._repo(call).at(call.parts["revision"])
        path = call.parts["path"]
        if path not in files:
            raise Refusal(404, "Entry not found", "EntryNotFound")
        content, etag = files[path], f'"{object_id(path, files[path])}"'
        headers = {"X-Repo-Commit": sha, "ETag": etag, "Accept-Ranges": "bytes"}
        if is_large(path):
            headers |= {"X-Linked-Etag": etag, "X-Linked-Size": str(len(content))}
        wanted = re.fullmatch(r"bytes=(\d*)-(\d*)", call.headers.get("Range") or "")
        if not wanted:
            return Answer(content, headers)
        first = int(wanted[1]) if wanted[1] else max(0, len(content) - int(wanted[2]))
        last = min(int(wanted[2]) if wanted[1] and wanted[2] else len(content), len(content) - 1)
        if first >= len(content):
            raise Refusal(416, "Range not satisfiable")
        headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
        return Answer(content[first : last + 1], headers, 206)

    _REPO = r"(?P<kind>datasets|spaces)/(?P<repo>[^/]+/[^/]+)"
    _REVISION = r"(?P<revision>[^/?]+)"
    _ROUTES: ClassVar[list[tuple[str, Callable[[HubDouble, Call], Answer]]]] = [
        (r"POST /api/repos/create", _create),
        (r"POST /api/validate-yaml", lambda hub, call: Answer.of({"errors": [], "warnings": []})),
        (rf"POST /api/{_REPO}/preupload/{_REVISION}", _preupload),
        (rf"POST /{_REPO}\.git/info/lfs/objects/batch", _large_file_batch),
        (r"PUT /large-files/(?P<oid>\w+)", _large_file),
        (rf"POST /api/{_REPO}/commit/{_REVISION}", _commit),
        (rf"POST /api/{_REPO}/tag/{_REVISION}", _tag),
        (rf"DELETE /api/{_REPO}/tag/{_REVISION}", _delete_tag),
        (rf"GET /api/{_REPO}/refs", _refs),
        (rf"GET /api/{_REPO}(/revision/{_REVISION})?", _info),
        (rf"GET /api/{_REPO}/tree/{_REVISION}(/(?P<path>.+))?", _tree),
        (rf"(GET|HEAD) /{_REPO}/resolve/{_REVISION}/(?P<path>.+)", _download),
    ]


class _Handler(Handler):
    hub: ClassVar[HubDouble]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or headers and body arrive 40 ms apart

    def _serve(self) -> None:
        size, asked = int(self.headers.get("Content-Length", 0)), urlsplit(self.path)
        request = f"{self.command} {asked.path}"
        try:
            self.hub.check_arrival(request)
            query = {name: values[0] for name, values in parse_qs(asked.query).items()}
            answer = self.hub.answer(request, query, self.headers, self.rfile.read(size))
        except Cut:
            self.rfile.read(size // 2)
            self.close_connection = True
            return
        except Refusal as refusal:
            answer = Answer.of({"error": refusal.message}, refusal.status)
            answer.headers |= {"X-Error-Code": refusal.code, "X-Error-Message": refusal.message, "Connection": "close"}
            self.close_connection = True  # the body may not have been read
        self.reply(answer.status, answer.body, answer.headers)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve
