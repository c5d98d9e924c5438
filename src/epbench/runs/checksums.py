"""The hashes of the files of a finished run, so that a later change of any of them shows.

A change that also replaces the hashes is not found by them; that the results follow from the journals, and the journals
from the dataset, is checked by computing them again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from epbench.files.json_files import read_json, write_json
from epbench.files.shapes import Each, Shape

CHECKSUMS = "checksums.json"
_SHAPE = Shape({"sha256": Each((str,)), "bytes": Each((int,))})


def write_checksums(folder: Path) -> None:
    """Write checksums.json of a run: the SHA-256 and the size of each file in its folder, without those in subfolders."""
    sizes = {path.name: path.stat().st_size for path in _files(folder)}
    hashes = {name: _hash(folder / name, size) for name, size in sizes.items()}
    write_json(folder / CHECKSUMS, {"sha256": hashes, "bytes": sizes})


def changed_since(folder: Path) -> dict[str, str] | None:
    """What has changed since the hashes were written.

    Returns:
        By the name of a file `changed`, `missing` or `new`, or `grown` for a journal of which the beginning is as it was,
        as after another judge; None if the run has no hashes.

    Raises:
        BadInput: The file of hashes is damaged.
    """
    if not (folder / CHECKSUMS).is_file():
        return None
    noted = read_json(folder / CHECKSUMS, _SHAPE)
    found = {path.name: path.stat().st_size for path in _files(folder)}
    changed = {name: "new" for name in found if name not in noted["sha256"]}
    for name, expected in noted["sha256"].items():
        size = noted["bytes"].get(name, 0)
        if name not in found:
            changed[name] = "missing"
        elif _hash(folder / name, size) != expected or (found[name] != size and not name.endswith(".jsonl")):
            changed[name] = "changed"
        elif found[name] != size:
            changed[name] = "grown"
    return changed


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir())
            if path.is_file() and not path.name.startswith(".") and path.name != CHECKSUMS]  # fmt: skip


def _hash(path: Path, size: int) -> str:
    """The SHA-256 of the first bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (block := file.read(min(size, _BLOCK))):
            digest.update(block)
            size -= len(block)
    return digest.hexdigest()


_BLOCK = 2**20
