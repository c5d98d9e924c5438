"""Fingerprints of weights, so that answers belong to a checkpoint and not to the path where it lies.

A big checkpoint is read once: the digest of each file is kept in `$EPBENCH_CACHE/weights.json` (or
`~/.cache/epbench/weights.json`) and holds as long as the file's size, times and inode stay the same.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from epbench.cache import cache_folder
from epbench.errors import BadInput
from epbench.runs.folder import read_json, write_json

log = logging.getLogger(__name__)

# What decides answers: weights and what says where each lies, configurations, tokenizers, chat templates.
_DECIDING = (
    "*.safetensors", "*.bin", "*.pt", "*.pth", "*.gguf", "*.index.json",
    "config.json", "generation_config.json", "adapter_config.json",
    "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab.*", "merges.txt", "*.model", "*.tiktoken",
    "tekken.json", "chat_template*",
)  # fmt: skip
_OF_TRAINING = ("optimizer*", "scheduler*", "scaler*", "rng_state*", "training_args*")
_LONG_TO_READ = 1 << 30  # bytes; from there on it is said that hashing takes a while
_SETTLED_NS = 2 * 10**9  # a file that changed later than that may change again without other times
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SNAPSHOT = re.compile(r"[/\\]snapshots[/\\]([0-9a-f]{40})[/\\]")


def identity_of(name: str, path_or_id: str) -> str:
    """A model's name with the fingerprint of its weights, as `hf:PATH@1f0c3a…`; the name alone where none is known."""
    fingerprint = weights_fingerprint(path_or_id)
    return f"{name}@{fingerprint}" if fingerprint else name


def weights_fingerprint(path_or_id: str) -> str | None:
    """What tells these weights from others under the same name.

    Args:
        path_or_id: folder of a model, or its name on the Hub.

    Returns:
        Of a folder, 12 hex digits of a hash over the names and contents of all files that decide answers, and over the
        base model of an adapter. Of a name on the Hub, the commit that is in the cache, or None if that is unknown.
    """
    folder = Path(path_or_id)
    if not folder.is_dir():
        return _commit(path_or_id)
    paths = sorted(path for path in folder.iterdir() if path.is_file() and _decides(path.name))
    digest = hashlib.sha256()
    for path, content in zip(paths, digests_of(paths), strict=True):
        digest.update(f"{path.name} {content}\n".encode())
    if base := _base_of(folder):
        digest.update(f"{weights_fingerprint(base)}\n".encode())
    return digest.hexdigest()[:12]


def digests_of(paths: Sequence[Path]) -> list[str]:
    """SHA-256 of each file's content; only files that are new or have changed are read."""
    store = cache_folder() / "weights.json"
    known = _read_store(store)
    found: dict[Path, str] = {}
    states = {path: _state(path) for path in paths}
    for path in paths:
        if digest := _blob_digest(path) or known.get(_key(path, states[path])):
            found[path] = digest
    unread = [path for path in paths if path not in found]
    size = sum(states[path][0] for path in unread)
    if size > _LONG_TO_READ:
        log.info("reading %.1f GB in %s once, to know these weights again", size / 1e9, unread[0].parent)
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as threads:  # hashing releases the interpreter's lock
        found |= zip(unread, threads.map(_read, unread), strict=True)
    settled = [path for path in unread if _state(path) == states[path] and _is_settled(states[path])]
    _remember(store, {_key(path, states[path]): found[path] for path in settled})
    return [found[path] for path in paths]


def _decides(name: str) -> bool:
    def fits(patterns: Iterable[str]) -> bool:
        return any(fnmatch(name, pattern) for pattern in patterns)

    return fits(_DECIDING) and not fits(_OF_TRAINING)


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _blob_digest(path: Path) -> str | None:
    """The Hub's cache names large files by their digest, and a snapshot links to them."""
    target = path.resolve()
    named = target.parent.name == "blobs" and _DIGEST.fullmatch(target.name)
    return target.name if named else None


def _state(path: Path) -> tuple[int, int, int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _is_settled(state: tuple[int, int, int, int]) -> bool:
    return time.time_ns() - max(state[1], state[2]) > _SETTLED_NS


def _key(path: Path, state: tuple[int, int, int, int]) -> str:
    return " ".join([*map(str, state), str(path.resolve())])


def _read_store(store: Path) -> dict[str, str]:
    """What is known of files; nothing where the store is missing or damaged."""
    try:
        content = read_json(store)
    except (OSError, BadInput):
        return {}
    return {key: digest for key, digest in content.items() if isinstance(digest, str) and _DIGEST.fullmatch(digest)}


def _remember(store: Path, digests: dict[str, str]) -> None:
    """Add to the store. Of two processes the last one wins, which costs the other's files another reading."""
    if not digests:
        return
    places = {_place(key) for key in digests}
    others = {key: digest for key, digest in _read_store(store).items() if _place(key) not in places}
    try:
        write_json(store, others | digests)
    except OSError as error:
        log.info("%s cannot be written (%s); weights are read again by the next start", store, error)


def _place(key: str) -> str:
    return key.split(" ", 4)[4]


def _base_of(folder: Path) -> str | None:
    """The model that an adapter adapts, as its configuration names it."""
    path = folder / "adapter_config.json"
    try:
        base = json.loads(path.read_text("utf-8")).get("base_model_name_or_path") if path.is_file() else None
    except (ValueError, AttributeError):
        return None
    return base if isinstance(base, str) and base and Path(base).resolve() != folder.resolve() else None


@cache
def _commit(name: str) -> str | None:
    """The commit of a model of the Hub that loading it would take."""
    from transformers.utils.hub import cached_file

    try:
        found = _SNAPSHOT.search(cached_file(name, "config.json") or "")
    except (OSError, ValueError):
        return None
    return found[1] if found else None
