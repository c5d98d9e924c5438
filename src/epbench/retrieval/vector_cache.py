"""Vectors on disk, by content and model: no text is embedded twice, whatever happens to the process.

One file per embedder: a header, then records of one size, each a key, a vector and a checksum. Records are only ever
appended, so that a kill can tear the last one alone.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import struct
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.errors import BadInput, RunFailed

if TYPE_CHECKING:
    from epbench.retrieval.dense import Matrix

_HEADER = struct.Struct("<8s32sII")  # magic, sha256 of the embedder's name, numbers per vector, checksum of these
_MAGIC = b"epbvec1\n"
_KEY = 32  # bytes of a sha256
_PATIENCE = 120  # seconds to wait for another process; it holds the lock for one read or one batch

_log = logging.getLogger(__name__)


def default_folder() -> Path:
    """`$EPBENCH_CACHE`, or `~/.cache/epbench/vectors`."""
    chosen = os.environ.get("EPBENCH_CACHE")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "epbench" / "vectors"


def text_key(embedder: str, text: str, *, query: bool) -> bytes:
    """sha256 of the embedder's name, the text, and whether it is a query."""
    digest = hashlib.sha256(f"{len(embedder)}:{embedder}:{'query' if query else 'chunk'}:".encode())
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()


class VectorCache:
    """The vectors of one embedder. Several processes may share it."""

    def __init__(self, folder: Path, embedder: str) -> None:
        """
        Args:
            folder: made when it is first written to.
            embedder: name of the embedder.
        """
        self._name = hashlib.sha256(embedder.encode()).digest()
        readable = re.sub(r"[^A-Za-z0-9.]+", "-", embedder).strip("-.")[:60]
        self.path = folder / f"{readable}-{self._name.hex()[:12]}.vectors"

    def read(self, keys: Iterable[bytes]) -> dict[bytes, Matrix]:
        """The vectors that are there, by key. What is damaged is dropped with a warning, never returned.

        Raises:
            BadInput: the folder cannot be used.
            RunFailed: another process holds the file for minutes.
        """
        import numpy as np

        wanted, found, damaged = set(keys), {}, 0
        with self._alone():
            for record in self._records():
                if record is None:
                    damaged += 1
                elif record[:_KEY] in wanted:
                    found[record[:_KEY]] = np.frombuffer(
                        record, "<f4", offset=_KEY, count=(len(record) - _KEY) // 4 - 1
                    )
            if damaged:
                _log.warning("%s: %d damaged vectors dropped; they are embedded again", self.path, damaged)
                self._rewrite()
        return found

    def add(self, vectors: Mapping[bytes, Matrix]) -> None:
        """Append vectors of one size; they are in the file when this returns. Raises as `read`.

        Vectors of another size than those in the file mean another model: the file begins anew, with a warning.
        """
        if not vectors:
            return
        size = len(next(iter(vectors.values())))
        new = b"".join(_packed(key, vector) for key, vector in vectors.items())
        with self._alone():
            there = self._size()
            if there not in (None, size):
                _log.warning("%s: vectors of %s numbers dropped, those of now have %d", self.path, there, size)
            if there != size:
                head = _HEADER.pack(_MAGIC, self._name, size, 0)[:-4]
                self._replace([head + struct.pack("<I", zlib.crc32(head))])
            with self.path.open("r+b") as file:
                whole = self.path.stat().st_size - _HEADER.size
                file.seek(_HEADER.size + whole - whole % _record_bytes(size))
                file.truncate()  # what a killed process left half written
                file.write(new)

    def _size(self) -> int | None:
        """Numbers per vector; None if there is no file yet, or none that can be used."""
        if not self.path.exists():
            return None
        with self.path.open("rb") as file:
            head = file.read(_HEADER.size)
        if len(head) == _HEADER.size:
            magic, name, size, checksum = _HEADER.unpack(head)
            if (magic, name, checksum) == (_MAGIC, self._name, zlib.crc32(head[:-4])):
                return int(size)
        _log.warning("%s: a damaged file is put away; its vectors are made again", self.path)
        self.path.unlink()
        return None

    def _records(self) -> Iterator[bytes | None]:
        """Each whole record, None for a damaged one."""
        size = self._size()
        if size is None:
            return
        with self.path.open("rb") as file:
            file.seek(_HEADER.size)
            while len(record := file.read(_record_bytes(size))) == _record_bytes(size):
                yield record if _checksum(record[:-4]) == record[-4:] else None

    def _rewrite(self) -> None:
        with self.path.open("rb") as file:
            head = file.read(_HEADER.size)
        self._replace([head, *filter(None, self._records())])

    def _replace(self, content: Iterable[bytes]) -> None:
        """The file appears whole or not at all."""
        with tempfile.TemporaryDirectory(prefix=f".{self.path.name}-", dir=self.path.parent) as scratch:
            draft = Path(scratch) / self.path.name
            with draft.open("wb") as file:
                file.writelines(content)
            draft.replace(self.path)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        from filelock import FileLock, Timeout

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self.path}.lock", timeout=_PATIENCE):
                yield
        except Timeout:
            raise RunFailed(
                f"{self.path}: another process has held it for {_PATIENCE} s; end it and try again"
            ) from None
        except OSError as error:
            raise BadInput(
                f"{self.path}: vectors cannot be kept there ({error}); set EPBENCH_CACHE to a folder"
            ) from None


def _record_bytes(size: int) -> int:
    return _KEY + 4 * size + 4


def _packed(key: bytes, vector: Matrix) -> bytes:
    content = key + vector.astype("<f4").tobytes()
    return content + _checksum(content)


def _checksum(content: bytes) -> bytes:
    return struct.pack("<I", zlib.crc32(content))
