"""Exact dense retrieval: every chunk is scored for every question by the cosine of their vectors."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from epbench.errors import RunFailed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from epbench.retrieval.vector_cache import VectorCache

    Matrix = npt.NDArray[np.float32]

MOST_TEXTS = 2048
"""In one call of an embedder: what an embeddings endpoint takes in one request."""
_BLOCK_BYTES = 64 << 20  # of scores that exist at a time

_log = logging.getLogger(__name__)


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """Of the model and its version: two embedders of one name give the same vectors."""
        ...

    @property
    def batch_bytes(self) -> int:
        """How much text (UTF-8) one call should get; what a call made is lost if the process is killed in it."""
        ...

    def check(self, chunks: Sequence[str]) -> None:
        """Told all the chunks before any is embedded; warns, once, if some will be cut."""
        ...

    def embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """One vector for each text: float32, (number of texts, d), of any length. Some models tell queries apart."""
        ...


class Dense:
    """An index over chunks. Memory: the vectors, and 64 MB of scores whatever the number of questions."""

    def __init__(self, chunks: Sequence[str], embedder: Embedder, cache: VectorCache | None = None) -> None:
        """Embed the chunks.

        Args:
            chunks: what is searched.
            embedder: of the chunks and the questions.
            cache: where vectors are looked up and kept; None embeds everything anew.

        Raises:
            RunFailed: the embedder gave something else than one finite vector of one size for each text.
        """
        self.embedder, self._cache, self._n = embedder, cache, len(chunks)
        embedder.check(chunks)
        self._chunks = self._vectors(chunks, query=False) if chunks else None

    def search(self, queries: Sequence[str], k: int) -> Iterator[list[int]]:
        """For each query the places of its k best chunks, best first; equal scores in the order of the chunks.

        Raises:
            RunFailed: as when the chunks were embedded.
        """
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
        """The float32 product finds all that can be among the best; float64 orders them.

        A product's last bits depend on where in the matrices a vector lies: equal chunks would not tie.
        """
        import numpy as np

        assert self._chunks is not None
        # A float32 sum of d products is off by at most d 2^-24 for unit vectors, the k-th best score as well.
        slack = self._chunks.shape[1] * 2.0**-22
        near = np.flatnonzero(scores >= np.partition(scores, -k)[-k] - slack)
        exact = (self._chunks[near] * query.astype(np.float64)).sum(axis=1)
        best: list[int] = near[np.argsort(-exact, kind="stable")[:k]].tolist()
        return best

    def _vectors(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """Unit vectors of the texts; what the cache does not know is embedded, each text once, and kept at once."""
        from epbench.retrieval.vector_cache import text_key

        keys = [text_key(self.embedder.name, text, query=query) for text in texts]
        known = self._cache.read(keys) if self._cache else {}
        missing = {text: key for text, key in zip(texts, keys, strict=True) if key not in known}
        if missing:
            _log.info("%s: embedding %d of %d texts", self.embedder.name, len(missing), len(texts))
        for batch in batches(list(missing), self.embedder.batch_bytes):
            fresh = _checked(self.embedder, self.embedder.embed(batch, query=query), len(batch))
            found = {missing[text]: vector for text, vector in zip(batch, fresh, strict=True)}
            if self._cache:
                self._cache.add(found)
            known |= found
        sizes = {len(vector) for vector in known.values()}
        if len(sizes) > 1:
            raise _changed(self.embedder, sizes)
        return _unit([known[key] for key in keys])


def batches(texts: Sequence[str], most_bytes: int, most_texts: int = MOST_TEXTS) -> Iterator[list[str]]:
    """The texts in order, in runs of at most so many and so long together; a longer text is alone."""
    batch: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode("utf-8", "surrogatepass"))
        if batch and (len(batch) == most_texts or size + length > most_bytes):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def _checked(embedder: Embedder, vectors: Matrix, n: int) -> Matrix:
    import numpy as np

    vectors = np.asarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != n or not vectors.shape[1]:
        raise RunFailed(f"{embedder.name}: vectors of shape {vectors.shape}, ({n}, d) expected")
    if not np.isfinite(vectors).all():
        raise RunFailed(f"{embedder.name}: a vector with NaN or infinity came back")
    return vectors


def _unit(vectors: Sequence[Matrix]) -> Matrix:
    import numpy as np

    matrix = np.stack(vectors)
    lengths = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1, keepdims=True))
    unit: Matrix = (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)  # nothing is like a zero vector
    return unit


def _changed(embedder: Embedder, sizes: set[int]) -> RunFailed:
    return RunFailed(
        f"{embedder.name}: vectors of {' and '.join(map(str, sorted(sizes)))} numbers: the model behind this name "
        "has changed; start again, and all is embedded anew"
    )
