"""What the loopback Hub keeps: repositories with commits and tags, and the objects of large files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

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
    """A repository: what it was created with, all its files after each commit, and the commits of its tags.

    Like on the Hub, the first commit of a new one holds only `.gitattributes`.
    """

    created_with: dict[str, Any]
    commits: list[dict[str, bytes]] = field(default_factory=lambda: [{".gitattributes": LARGE}])
    tags: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.created_with['organization']}/{self.created_with['name']}"

    @property
    def private(self) -> bool:
        return self.created_with.get("visibility") == "private" or bool(self.created_with.get("private"))

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


def git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content)).hexdigest()


def pointer(content: bytes) -> bytes:
    """What git itself stores for a large file."""
    oid = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n".encode()


def object_id(path: str, content: bytes) -> str:
    """By which the client sees that a file has not changed."""
    return hashlib.sha256(content).hexdigest() if is_large(path) else git_oid(content)


def tree_entry(path: str, content: bytes) -> dict[str, Any]:
    """A file as the listing of a folder describes it."""
    if not is_large(path):
        return {"type": "file", "path": path, "size": len(content), "oid": git_oid(content)}
    large = {"oid": object_id(path, content), "size": len(content), "pointerSize": len(pointer(content))}
    return {"type": "file", "path": path, "size": len(content), "oid": git_oid(pointer(content)), "lfs": large}
