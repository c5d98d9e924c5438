"""The hashes of the files of a finished run, so that a later change of any of them shows.

A change that also replaces the hashes is not found by them; that the results follow from the journals, and the journals
from the dataset, is checked by computing them again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.json_files import read_json, write_json
from epbench.files.typed import Whole, fields
from epbench.journals.journal import JOURNALS, LinesHash, lines_of
from epbench.metric_folders import metrics_root

CHECKSUMS = "checksums.json"
LIBRARIES = ("epbench", "datasets", "numpy", "pyarrow", "scipy", "torch", "transformers", "vllm", "openai")
"""Those of which a run notes the version."""
_NOTED = fields({"sha256": dict[str, str], "bytes": dict[str, Whole]}, {"lines": dict[str, str], "code": str})
_PACKAGE = Path(__file__).parents[1]
_BLOCK = 2**20


def write_checksums(folder: Path, edited: Mapping[str, str] | None = None) -> None:
    """Write checksums.json of a run: the SHA-256 and the size of each file in its folder, without those in subfolders.

    It also says which code has scored the run; see `is_by_this_code`. `edited` has the present hashes of files that were
    found changed when the run was opened: one that still has this hash was not computed anew, and keeps the hash that was
    noted before, so that its change still shows.
    """
    before = read_json(folder / CHECKSUMS, _NOTED) if edited else {}
    noted: dict[str, dict[str, Any]] = {"sha256": {}, "bytes": {}, "lines": {}}
    for path in _files(folder):
        name = path.name
        if name.endswith(".jsonl"):
            lines = lines_of(path) if name in JOURNALS else _lines_hash(path)  # a journal was read already
            noted["sha256"][name], noted["bytes"][name], noted["lines"][name] = lines.sha256, lines.size, lines.lines
        else:
            noted["sha256"][name], noted["bytes"][name] = _hash(path), path.stat().st_size
        if edited and edited.get(name) == noted["sha256"][name]:
            noted["sha256"][name], noted["bytes"][name] = before["sha256"][name], before["bytes"].get(name, 0)
    write_json(folder / CHECKSUMS, noted | {"code": _code()})


def is_by_this_code(folder: Path) -> bool:
    """Whether a run was scored by the same package, byte for byte, with the same versions of `LIBRARIES`."""
    path = folder / CHECKSUMS
    return path.is_file() and read_json(path, _NOTED).get("code") == _code()


def versions() -> dict[str, str]:
    """The versions of those of `LIBRARIES` that are installed."""
    return {library: found for library in LIBRARIES if (found := version_of(library))}


def version_of(library: str) -> str | None:
    """The version of a library; None if it is not installed."""
    try:
        return version(library)
    except PackageNotFoundError:
        return None


@cache
def _code() -> str:
    digest = hashlib.sha256(repr(versions()).encode())
    for path in sorted({*_PACKAGE.rglob("*"), *metrics_root().rglob("*")}):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.name} {path.stat().st_size} ".encode() + path.read_bytes())
    return digest.hexdigest()


def changed_since(folder: Path) -> dict[str, str] | None:
    """By the name of a file `changed`, `missing` or `new` since the hashes were written; None if the run has no hashes.

    A journal of which the beginning is as it was has `grown`, as after another judge. BadInput if the file of hashes is
    damaged.
    """
    if not (folder / CHECKSUMS).is_file():
        return None
    noted = read_json(folder / CHECKSUMS, _NOTED)
    sizes = {path.name: path.stat().st_size for path in _files(folder)}
    changed = {name: "new" for name in sizes if name not in noted["sha256"]}
    for name, expected in noted["sha256"].items():
        size = noted["bytes"].get(name, 0)
        if name not in sizes:
            changed[name] = "missing"
        elif _hash(folder / name, size) != expected or (sizes[name] != size and not name.endswith(".jsonl")):
            changed[name] = "changed"
        elif sizes[name] != size:
            changed[name] = "grown"
    return changed


def change_note(folder: Path) -> str | None:
    """What must be said beside the scores of a run, such as `changed since it was scored: scores.json`; None for nothing."""
    changed = [name for name, how in (changed_since(folder) or {}).items() if how in ("changed", "missing")]
    return f"changed since it was scored: {', '.join(changed)}" if changed else None


def edited_files(folder: Path) -> dict[str, str]:
    """Check the journals of a run before work goes on in it; return the present hashes of other files that have changed.

    BadInput if a line of a journal was changed since the run was scored; the message names it.
    """
    if not (folder / CHECKSUMS).is_file():
        return {}
    noted = read_json(folder / CHECKSUMS, _NOTED)
    edited: dict[str, str] = {}
    for path in _files(folder):
        name, size = path.name, noted["bytes"].get(path.name, 0)
        expected = noted["sha256"].get(name)
        if expected is None:
            continue
        if name not in JOURNALS:
            actual = _lines_hash(path).sha256 if name.endswith(".jsonl") else _hash(path)
            edited |= {name: actual} if actual != expected else {}
            continue
        lines = lines_of(path, size)
        if size and expected not in (lines.noted, _hash(path, size) if lines.noted is None else None):
            marks = noted.get("lines", {}).get(name)
            line = f", line {lines.first_change(marks)}" if marks else ""
            raise BadInput(
                f"{path}{line}: changed since the run was scored; put back what was there, or begin a run in another folder"
            )
    return edited


def _files(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.name.startswith(".") and path.name != CHECKSUMS
    ]


def _lines_hash(path: Path) -> LinesHash:
    """The hash of the whole lines of a file; what follows them is being written, or its writer was killed."""
    digest = LinesHash()
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                digest.add(line)
    return digest


def _hash(path: Path, size: int | None = None) -> str:
    """The SHA-256 of a file, or of its first bytes."""
    digest, left = hashlib.sha256(), path.stat().st_size if size is None else size
    with path.open("rb") as file:
        while left > 0 and (block := file.read(min(left, _BLOCK))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()
