"""Exact dense retrieval: every text is scored for every query by the cosine of their vectors.

Vectors are kept on disk, by text and model, so that no text is embedded twice, even if the process is killed.

Latent semantic analysis (Deerwester et al., 1990) is dense search without a model: words are weighted by rarity (TF-IDF) and
folded into a few latent topics of the searched texts themselves.
"""

from __future__ import annotations

import hashlib
import logging
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from epbench.errors import BadInput, RunFailed
from epbench.files.writing import filling
from epbench.models.protocol import packed

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from epbench.retrieval.protocol import Embedder, Matrix


MOST_TEXTS = 2048
"""The most texts in one call of an embedder: as many as an embeddings endpoint takes in one request."""
_BLOCK_BYTES = 64 << 20  # of the scores that exist at one time
_HEADER = struct.Struct("<8s32sII")  # magic, sha256 of the embedder's name, numbers per vector, checksum of these
_MAGIC = b"epbvec1\n"
_KEY_BYTES = 32  # of a SHA-256
_LOCK_TIMEOUT_S = 120  # another process holds the lock for one read or one batch

_log = logging.getLogger(__name__)


class Dense:
    """An index over chunks. It holds their vectors and at most 64 MiB of scores, however many the queries."""

    def __init__(self, chunks: Sequence[str], embedder: Embedder, cache: VectorCache | None = None) -> None:
        """Embed the chunks that are searched; without a cache of vectors, all of them.

        `RunFailed` if the embedder does not return one finite vector for each text, all of one size.
        """
        self.embedder, self._cache, self._n = embedder, cache, len(chunks)
        embedder.check(chunks)
        self._chunks = self._vectors(chunks, query=False) if chunks else None

    def search(self, queries: Sequence[str], k: int) -> Iterator[list[int]]:
        """See `Searcher.search`; what the constructor raises may be raised for the queries, too."""
        if self._chunks is None or not queries or k < 1:
            yield from ([] for _ in queries)
            return
        asked = self._vectors(queries, query=True)
        if asked.shape[1] != self._chunks.shape[1]:
            raise _changed(self.embedder, {asked.shape[1], self._chunks.shape[1]})
        block = max(1, _BLOCK_BYTES // (4 * self._n))
        for start in range(0, len(asked), block):
            rows = asked[start : start + block]
            for query, scores in zip(rows, rows @ self._chunks.T, strict=True):
                yield self._best(query, scores, min(k, self._n))

    def _best(self, query: Matrix, scores: Matrix, k: int) -> list[int]:
        """Order the best chunks in float64, as equal ones would not tie in float32; that narrows down which these may be."""
        import numpy as np

        assert self._chunks is not None
        # A float32 sum of d products of unit vectors is off by at most d 2^-24, and so is the k-th best score.
        slack = self._chunks.shape[1] * 2.0**-22
        near = np.flatnonzero(scores >= np.partition(scores, -k)[-k] - slack)
        exact = (self._chunks[near] * query.astype(np.float64)).sum(axis=1)
        best: list[int] = near[np.argsort(-exact, kind="stable")[:k]].tolist()
        return best

    def _vectors(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """Return unit vectors of the texts. Texts that the cache lacks are embedded once each and stored batch by batch."""
        keys = [text_key(self.embedder.name, text, query=query) for text in texts]
        known = self._cache.read(keys) if self._cache else {}
        missing = {text: key for text, key in zip(texts, keys, strict=True) if key not in known}
        if missing:
            _log.info("%s: embedding %d of %d texts", self.embedder.name, len(missing), len(texts))
        for batch in batches(list(missing), self.embedder.batch_bytes):
            fresh = _checked(self.embedder, self.embedder.embed(batch, query=query), len(batch))
            embedded = {missing[text]: vector for text, vector in zip(batch, fresh, strict=True)}
            if self._cache:
                self._cache.add(embedded)
            known |= embedded
        sizes = {len(vector) for vector in known.values()}
        if len(sizes) > 1:
            raise _changed(self.embedder, sizes)
        return _unit([known[key] for key in keys])


def batches(texts: Sequence[str], most_bytes: int, most_texts: int = MOST_TEXTS) -> Iterator[list[str]]:
    """Split texts into runs, in order, of at most so many texts and bytes of UTF-8; a longer text is a batch of its own."""
    return packed(texts, lambda text: len(text.encode("utf-8", "surrogatepass")), most_bytes, most_texts)


def _checked(embedder: Embedder, vectors: Matrix, n: int) -> Matrix:
    import numpy as np

    vectors = np.asarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != n or not vectors.shape[1]:
        raise RunFailed(f"{embedder.name}: expected vectors of shape ({n}, d), got {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise RunFailed(f"{embedder.name}: expected finite vectors, got NaN or infinity")
    return vectors


def _unit(vectors: Sequence[Matrix]) -> Matrix:
    import numpy as np

    matrix = np.stack(vectors)
    lengths = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1, keepdims=True))
    unit: Matrix = (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)  # zero is similar to nothing
    return unit


def _changed(embedder: Embedder, sizes: set[int]) -> RunFailed:
    return RunFailed(
        f"{embedder.name}: got vectors of {' and '.join(map(str, sorted(sizes)))} numbers, expected one size: the model "
        "behind this name has changed; start again, and everything is embedded again"
    )


def text_key(embedder: str, text: str, *, query: bool) -> bytes:
    """Return the SHA-256 of the embedder's name, the text, and whether the text is a query."""
    digest = hashlib.sha256(f"{len(embedder)}:{embedder}:{'query' if query else 'chunk'}:".encode())
    digest.update(text.encode("utf-8", "surrogatepass"))
    return digest.digest()


class VectorCache:
    """The vectors of one embedder in a file, which several processes may share: a header, and records of one size.

    Records have a key, a vector and a checksum. They are only ever appended, so a kill can damage no record but the last.
    """

    def __init__(self, folder: Path, embedder: str) -> None:
        """The file is created in its folder with the first read or write."""
        self._name = hashlib.sha256(embedder.encode()).digest()
        readable = re.sub(r"[^A-Za-z0-9.]+", "-", embedder).strip("-.")[:60]
        self.path = folder / f"{readable}-{self._name.hex()[:12]}.vectors"

    def read(self, keys: Iterable[bytes]) -> dict[bytes, Matrix]:
        """Return the vectors of those keys that the file has. Damaged records are dropped with a warning.

        `BadInput` if the folder cannot be used, `RunFailed` if another process has held the file for two minutes.
        """
        import numpy as np

        wanted, vectors, damaged = set(keys), {}, 0
        with self._alone():
            if (size := self._size()) is None:
                return {}
            for record in self._records(size):
                if record is None:
                    damaged += 1
                elif record[:_KEY_BYTES] in wanted:
                    vectors[record[:_KEY_BYTES]] = np.frombuffer(record, "<f4", offset=_KEY_BYTES, count=size)
            if damaged:
                _log.warning("%s: dropped %d damaged vectors; their texts are embedded again", self.path, damaged)
                self._replace(size, filter(None, self._records(size)))
        return vectors

    def add(self, vectors: Mapping[bytes, Matrix]) -> None:
        """Append vectors of one size; they are in the file when this returns. It raises what `read` raises.

        If those in the file have another size, they come from another model, and it is started again with a warning.
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
                self._replace(size, ())
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
            magic, name, size, _ = _HEADER.unpack(head)
            if (magic, name, head[-4:]) == (_MAGIC, self._name, _checksum(head[:-4])):
                return int(size)
        _log.warning("%s: deleted, because the file is damaged; its texts are embedded again", self.path)
        self.path.unlink()
        return None

    def _records(self, size: int) -> Iterator[bytes | None]:
        """Yield every complete record, and None for a damaged one."""
        with self.path.open("rb") as file:
            file.seek(_HEADER.size)
            while len(record := file.read(_record_bytes(size))) == _record_bytes(size):
                yield record if _checksum(record[:-4]) == record[-4:] else None

    def _replace(self, size: int, records: Iterable[bytes]) -> None:
        """Replace the file at once, so that no half-written file is ever seen."""
        head = _HEADER.pack(_MAGIC, self._name, size, 0)[:-4]
        with filling(self.path.parent) as draft, (draft / self.path.name).open("wb") as file:
            file.writelines([head, _checksum(head), *records])

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


TOPICS = 100
"""The most topics, and so the most numbers in a vector."""


class LatentEmbedder:
    """Turns texts into vectors by the topics of a store."""

    name = "tf-idf, svd"
    batch_bytes = 1 << 30

    def __init__(self, store: Sequence[str]) -> None:
        """Find the topics of a store: at most `TOPICS`, and fewer than it has texts or words."""
        import numpy as np
        from scipy.sparse.linalg import svds

        texts_with = Counter(word for text in store for word in set(_words(text)))
        self._columns = {word: n for n, word in enumerate(sorted(texts_with) or [""])}
        self._rarity = 1 + np.log((1 + len(store)) / (1 + np.array([texts_with[word] for word in self._columns])))
        weights = self._weights(store)
        size = min(TOPICS, min(weights.shape) - 1)
        # It begins with the same numbers each time, so that it finds the same topics on any number of threads. A tiny store
        # is described by its words.
        begin = np.random.RandomState(0).uniform(-1, 1, min(weights.shape))
        self._topics = svds(weights, size, v0=begin)[2].T if size >= 2 else None

    def check(self, chunks: Sequence[str]) -> None:
        """Do nothing: texts of any length are read."""

    def embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        weights = self._weights(texts)
        vectors: Matrix = weights.toarray() if self._topics is None else weights @ self._topics
        return vectors

    def _weights(self, texts: Sequence[str]) -> csr_array:
        """The words of each text by the logarithm of their number and by rarity, as rows of length 1."""
        import numpy as np
        from scipy.sparse import csr_array, diags_array

        counts = [Counter(filter(self._columns.__contains__, _words(text))) for text in texts]
        starts = np.cumsum([0, *map(len, counts)])
        columns = [self._columns[word] for counter in counts for word in counter]
        values = 1 + np.log([n for counter in counts for n in counter.values()])
        rows = csr_array((values, columns, starts), shape=(len(texts), len(self._columns)))
        rows = csr_array(rows.multiply(self._rarity))
        lengths = np.sqrt(rows.power(2).sum(axis=1))
        return csr_array(diags_array(1 / np.where(lengths > 0, lengths, 1)) @ rows)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def latent_search(store: Sequence[str]) -> Dense:
    """Build an index over the texts of a store."""
    return Dense(store, LatentEmbedder(store))
