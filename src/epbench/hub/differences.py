"""What publishing would change: the files of a folder against those that are there, without reading what is there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["new", "changed", "deleted", "unchanged"]


@dataclass(frozen=True)
class There:
    """A file that is already published."""

    size: int  # its size in bytes
    hash: str  # of a large file the SHA-256 of its content, in hexadecimal digits; of another its git object id
    large: bool  # whether it is a large file, which git only points to


@dataclass(frozen=True)
class Difference:
    """What becomes of one file."""

    path: str  # its path in the folder, with slashes
    state: State  # `new`, `changed`, `deleted` or `unchanged`
    size: int  # its size in bytes: of a deleted file as it was, of others as it will be


def differences(
    files: Mapping[str, Path], there: Mapping[str, There], deleted: Callable[[str], bool]
) -> list[Difference]:
    """Compare files by their path in the repository with those that are there; the deleted ones come last.

    `deleted` says for a path that is only there whether publishing deletes it; other such files stay unmentioned.
    """
    compared = [Difference(path, _state(file, there.get(path)), file.stat().st_size) for path, file in files.items()]
    gone = sorted(path for path in there.keys() - files.keys() if deleted(path))
    return [*compared, *(Difference(path, "deleted", there[path].size) for path in gone)]


def is_changed(found: Sequence[Difference]) -> bool:
    """Whether publishing changes anything."""
    return any(difference.state != "unchanged" for difference in found)


def _state(file: Path, there: There | None) -> State:
    if there is None:
        return "new"
    same = file.stat().st_size == there.size and hash_of(file, there.large) == there.hash
    return "unchanged" if same else "changed"


def hash_of(file: Path, large: bool = True) -> str:
    """Return the SHA-256 of a file, or its git object id if it is not large."""
    head = b"blob %d\0" % file.stat().st_size
    with file.open("rb") as content:
        kind = "sha256" if large else lambda: hashlib.sha1(head, usedforsecurity=False)
        return hashlib.file_digest(content, kind).hexdigest()
