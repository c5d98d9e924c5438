"""Vectors on disk, by text and model, so that no text is embedded twice, even if the process is killed.

There is one file per embedder: a header, then records of one size, each with a key, a vector and a checksum. Records
are only ever appended, so a kill can damage no record but the last.
"""

from __future__ import annotations

import hashlib
import logging
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
    from epbench.retrieval.protocol import Matrix

_HEADER = struct.Struct("<8s32sII")  # magic, sha256 of the embedder's name, numbers per vector, checksum of these
_MAGIC = b"epbvec1\n"
_KEY_BYTES = 32  # of a SHA-256
_LOCK_TIMEOUT_S = 120  # another process holds the lock for one read or one batch

_log = logging.getLogger(__name__)


def text_key(embedder: str, text: str, *, query: bool) -> bytes:
    """Return the SHA-256 of the embedder's name, the text, and whether the text is a query."""
    digest = hashlib.sha256(f"{len(embedder)}:{embedder}:{'query' if query else 'chunk'}:".encode())
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()


class VectorCache:
    """The vectors of one embedder. Several processes may share it."""

    def __init__(self, folder: Path, embedder: str) -> None:
        """The file is created in its folder with the first read or write."""
        self._name = hashlib.sha256(embedder.encode()).digest()
        readable = re.sub(r"[^A-Za-z0-9.]+", "-", embedder).strip("-.")[:60]
        self.path = folder / f"{readable}-{self._name.hex()[:12]}.vectors"

    def read(self, keys: Iterable[bytes]) -> dict[bytes, Matrix]:
        """Return the vectors of those keys that the file has. Damaged records are dropped with a warning.

        Raises:
            BadInput: the folder cannot be used.
            RunFailed: another process has held the file for two minutes.
        """
        import numpy as np

        wanted, vectors, damaged = set(keys), {}, 0
        with self._alone():
            for record in self._records():
                if record is None:
                    damaged += 1
                elif record[:_KEY_BYTES] in wanted:
                    count = (len(record) - _KEY_BYTES) // 4 - 1
                    vectors[record[:_KEY_BYTES]] = np.frombuffer(record, "<f4", offset=_KEY_BYTES, count=count)
            if damaged:
                _log.warning("%s: dropped %d damaged vectors; their texts are embedded again", self.path, damaged)
                with self.path.open("rb") as file:
                    head = file.read(_HEADER.size)
                self._replace([head, *filter(None, self._records())])
        return vectors

    def add(self, vectors: Mapping[bytes, Matrix]) -> None:
        """Append vectors of one size; they are in the file when this returns. It raises what `read` raises.

        Vectors of a different size than those in the file come from a different model: the file is started again, with
        a warning.
        """
        if not vectors:
            return
        size = len(next(iter(vectors.values())))
        new = b"".join(_packed(key, vector) for key, vector in vectors.items())
        with self._alone():
            current = self._size()
            if current not in (None, size):
                _log.warning("%s: dropped vectors of %s numbers; the new ones have %d", self.path, current, size)
            if current != size:
                head = _HEADER.pack(_MAGIC, self._name, size, 0)[:-4]
                self._replace([head + struct.pack("<I", zlib.crc32(head))])
            with self.path.open("r+b") as file:
                whole = self.path.stat().st_size - _HEADER.size
                file.seek(_HEADER.size + whole - whole % _record_bytes(size))
                file.truncate()  # drops what a killed process left half written
                file.write(new)

    def _size(self) -> int | None:
        """Return how many numbers a vector has; None if there is no usable file yet."""
        if not self.path.exists():
            return None
        with self.path.open("rb") as file:
            head = file.read(_HEADER.size)
        if len(head) == _HEADER.size:
            magic, name, size, checksum = _HEADER.unpack(head)
            if (magic, name, checksum) == (_MAGIC, self._name, zlib.crc32(head[:-4])):
                return int(size)
        _log.warning("%s: deleted, because the file is damaged; its texts are embedded again", self.path)
        self.path.unlink()
        return None

    def _records(self) -> Iterator[bytes | None]:
        """Yield every complete record, and None for a damaged one."""
        size = self._size()
        if size is None:
            return
        with self.path.open("rb") as file:
            file.seek(_HEADER.size)
            while len(record := file.read(_record_bytes(size))) == _record_bytes(size):
                yield record if _checksum(record[:-4]) == record[-4:] else None

    def _replace(self, content: Iterable[bytes]) -> None:
        """Replace the file at once, so that no half-written file is ever seen."""
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
            with FileLock(f"{self.path}.lock", timeout=_LOCK_TIMEOUT_S):
                yield
        except Timeout:
            raise RunFailed(
                f"{self.path}: another process has held this file for {_LOCK_TIMEOUT_S} s; end it and try again"
            ) from None
        except OSError as error:
            raise BadInput(
                f"{self.path}: cannot store vectors there ({error}); set EPBENCH_CACHE to a folder that can be written to"
            ) from None


def _record_bytes(size: int) -> int:
    return _KEY_BYTES + 4 * size + 4


def _packed(key: bytes, vector: Matrix) -> bytes:
    content = key + vector.astype("<f4").tobytes()
    return content + _checksum(content)


def _checksum(content: bytes) -> bytes:
    return struct.pack("<I", zlib.crc32(content))
