"""Fingerprints of weights, so that answers belong to a checkpoint and not to its path.

The digest of each file is kept in `weights.json` in the user's cache, and is valid as long as the size, times and inode of the
file stay the same. Beside a checkpoint that was made from a GGUF file, in any dtype, the digest of that file is noted.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.cache import cache_folder
from epbench.files.json_files import read_json, write_json

log = logging.getLogger(__name__)

# The files that determine answers: weights and their indexes, configurations, tokenizers, chat templates.
_RELEVANT = """
    *.safetensors *.bin *.pt *.pth *.gguf *.index.json config.json generation_config.json adapter_config.json
    tokenizer* special_tokens_map.json added_tokens.json vocab.* merges.txt *.model *.tiktoken tekken.json
    chat_template*
""".split()
_FROM_TRAINING = ("optimizer*", "scheduler*", "scaler*", "rng_state*", "training_args*")
_LONG_TO_READ = 1 << 30  # bytes; for more, the log says that hashing takes a while
_SETTLED_NS = 2 * 10**9  # a file that changed more recently could change again without a change of its times
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NOTE = "made_from.json"
_SNAPSHOT = re.compile(r"[/\\]snapshots[/\\]([0-9a-f]{40})[/\\]")


def weights_fingerprint(path_or_id: str) -> str | None:
    """Return what tells these weights from others under the same name: for a name on the Hub its commit, if that is known.

    For a folder it is 12 hex digits of a hash over the names and contents of all files that determine answers, and over
    the base model of an adapter, or the fingerprint of the file that it was made from.
    """
    folder = Path(path_or_id)
    if not folder.is_dir():
        return commit_of(path_or_id)
    note = _read_if_sound(folder / _NOTE)
    noted = str(note.get("sha256"))
    if _DIGEST.fullmatch(noted) and note.get("files") == _sizes_and_times(folder):
        return noted[:12]
    digest = digest_over(folder, _relevant_in(folder))
    base = _read_if_sound(folder / "adapter_config.json").get("base_model_name_or_path")  # of an adapter
    if isinstance(base, str) and base and Path(base).resolve() != folder.resolve():
        digest.update(f"{weights_fingerprint(base)}\n".encode())
    return digest.hexdigest()[:12]


def content_fingerprint(folder: Path) -> str:
    """Return 12 hex digits of a hash over the files in a folder that determine answers, and over nothing outside it."""
    return digest_over(folder, _relevant_in(folder)).hexdigest()[:12]


def note_fingerprint(folder: Path, digest: str) -> None:
    """Note beside a checkpoint that it was made from a file with this SHA-256; the note holds until one of its files changes."""
    write_json(folder / _NOTE, {"sha256": digest, "files": _sizes_and_times(folder)})


def _sizes_and_times(folder: Path) -> dict[str, list[int]]:
    states = {path.name: path.stat() for path in sorted(folder.iterdir()) if _is_relevant(path.name)}
    return {name: [state.st_size, state.st_mtime_ns] for name, state in states.items()}


def digest_over(folder: Path, paths: Sequence[Path]) -> hashlib._Hash:
    """Hash the names, below a folder, and contents of some files."""
    digest = hashlib.sha256()
    for path, content in zip(paths, digests_of(paths), strict=True):
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest


def _relevant_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_file() and _is_relevant(path.name))


def digests_of(paths: Sequence[Path]) -> list[str]:
    """Return the SHA-256 of each file's content. Only files that are new or have changed are read."""
    store = cache_folder() / "weights.json"
    known = _read_store(store)
    states = {path: _state(path) for path in paths}
    found = {path: _blob_digest(path) or known.get(_key(path, states[path])) for path in paths}
    digests = {path: digest for path, digest in found.items() if digest}
    unread = [path for path in paths if path not in digests]
    size = sum(states[path][0] for path in unread)
    if size > _LONG_TO_READ:
        log.info("reading %.1f GB in %s once, to identify these weights", size / 1e9, unread[0].parent)
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as threads:  # hashing releases the global lock
        digests |= zip(unread, threads.map(_read, unread), strict=True)
    recent = time.time_ns() - _SETTLED_NS
    settled = [path for path in unread if _state(path) == states[path] and max(states[path][1:3]) < recent]
    _remember(store, {_key(path, states[path]): digests[path] for path in settled})
    return [digests[path] for path in paths]


def note_digest(path: Path, digest: str) -> None:
    """Keep the SHA-256 of a file that was hashed while it was written, so that it is not read for `digests_of`."""
    _remember(cache_folder() / "weights.json", {_key(path, _state(path)): digest})


def _is_relevant(name: str) -> bool:
    relevant, training = (any(fnmatch(name, pattern) for pattern in ps) for ps in (_RELEVANT, _FROM_TRAINING))
    return relevant and not training


def _read(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _blob_digest(path: Path) -> str | None:
    """Return the digest of a large file in the Hub's cache, which is the name of the file that a snapshot links to."""
    target = path.resolve()
    return target.name if target.parent.name == "blobs" and _DIGEST.fullmatch(target.name) else None


def _state(path: Path) -> tuple[int, int, int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _key(path: Path, state: tuple[int, int, int, int]) -> str:
    return " ".join([*map(str, state), str(path.resolve())])


def _read_store(store: Path) -> dict[str, str]:
    """Read the digests that are known; there are none if the store is missing or damaged."""
    content = _read_if_sound(store)
    return {key: digest for key, digest in content.items() if isinstance(digest, str) and _DIGEST.fullmatch(digest)}


def _read_if_sound(path: Path) -> dict[str, Any]:
    try:
        return read_json(path)
    except BadInput:
        return {}


def _remember(store: Path, digests: dict[str, str]) -> None:
    """Add digests to the store. If two processes write at once, the files of the first are read again next time."""
    if not digests:
        return
    paths = {key.split(" ", 4)[4] for key in digests}
    others = {key: digest for key, digest in _read_store(store).items() if key.split(" ", 4)[4] not in paths}
    try:
        write_json(store, others | digests)
    except OSError as error:
        log.info("%s: cannot be written (%s); the next start reads the weights again", store, error)


@cache
def commit_of(name: str, revision: str | None = None) -> str | None:
    """Return the commit that loading a model of the Hub would use; None if there is no such model or revision."""
    from transformers.utils.hub import cached_file

    try:
        match = _SNAPSHOT.search(cached_file(name, "config.json", revision=revision) or "")
    except (OSError, ValueError):
        return None
    return match[1] if match else None
