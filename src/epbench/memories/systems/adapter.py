"""What adapters share: counts of what goes wrong inside a system, and embeddings from the endpoint of the run.

Several memory systems embed texts by `sentence_transformers`, which brings PyTorch (over a gigabyte) and loads a model
from the Hub. A stand-in for that package takes its place: the same model embeds for all systems, its calls are counted
with the others, and nothing else is reached. Of the package there is only what these systems call.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, ClassVar

BATCH = 100
"""The most texts that are embedded by one request."""
TRIES = 3
"""How often a request is made if the endpoint is busy, has an error or cannot be reached."""
_SECONDS = 300.0  # that a request may take
_no_proxy = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Watch(logging.StreamHandler[Any]):
    """Counts what goes wrong inside a system, from its log and from what its adapter sees.

    Attributes:
        unparsable: replies of the model that the system could not read.
        swallowed: errors that the system kept to itself.
        errors: requests that failed, whether or not the system raised an exception.
    """

    def __init__(self, logger: str | None = None, level: int = logging.WARNING) -> None:
        """
        Args:
            logger: name of the logger whose records are printed and counted as swallowed errors; "" for all, None for none.
            level: of the records that count.
        """
        super().__init__()
        self.setLevel(level)
        self.unparsable = self.swallowed = self.errors = 0
        if logger is not None:
            logging.getLogger(logger).addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.count(record.getMessage())
        super().emit(record)

    def count(self, words: str) -> None:
        """Count a message of the log."""
        self.swallowed += 1

    def usage(self) -> dict[str, int]:
        """Return the counts as `epbench.memories.protocol` names them."""
        return {"swallowed": self.swallowed, "unparsable": self.unparsable}

    def counting_errors_of(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap what asks the model."""

        def asked(*args: Any, **options: Any) -> Any:
            try:
                return ask(*args, **options)
            except Exception:
                self.errors += 1
                raise

        return asked

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count failed requests to the model and the embedder as swallowed, unless an exception leaves the block."""
        swallowed, errors = self.swallowed, self.errors + Embedder.failures
        try:
            yield
        except BaseException:
            self.swallowed = swallowed  # what was logged is raised, and not swallowed
            raise
        self.swallowed += self.errors + Embedder.failures - errors


class EmbeddingsFailed(RuntimeError):
    """The endpoint gave no embeddings, or others than expected."""


class Embedder:
    """Embeds texts at the endpoint that the settings of a system name."""

    failures: ClassVar[int] = 0
    """How often embedding failed in this process. A system may catch the exception; its adapter sees this number."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.model: str = settings["embedding_model"]
        self.dimensions: int = settings["dimensions"]
        self._url = settings["base_url"].rstrip("/") + "/embeddings"
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {settings['api_key']}"}

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed texts, in batches.

        Raises:
            EmbeddingsFailed: the endpoint refused, cannot be reached, or its vectors have another length than expected.
        """
        try:
            return [vector for i in range(0, len(texts), BATCH) for vector in self._request(texts[i : i + BATCH])]
        except EmbeddingsFailed:
            Embedder.failures += 1
            raise

    def _request(self, texts: Sequence[str]) -> list[list[float]]:
        body = json.dumps({"model": self.model, "input": list(texts), "encoding_format": "float"}).encode()
        request = urllib.request.Request(self._url, body, self._headers)
        for tried in range(1, TRIES + 1):
            try:
                with _no_proxy.open(request, timeout=_SECONDS) as reply:
                    return self._vectors(reply.read(), len(texts))
            except OSError as error:  # what urllib raises is one, too
                status = error.code if isinstance(error, urllib.error.HTTPError) else None
                passing = status is None or status == 429 or status >= 500
                if tried == TRIES or not passing:
                    raise EmbeddingsFailed(f"embedding model {self.model!r}: {error}") from None
            time.sleep(0.5 * tried)
        raise AssertionError("the last try returns or raises")

    def _vectors(self, reply: bytes, n: int) -> list[list[float]]:
        try:
            rows = sorted(json.loads(reply)["data"], key=lambda row: int(row["index"]))
            vectors = [[float(x) for x in row["embedding"]] for row in rows]
        except (ValueError, KeyError, TypeError):
            raise EmbeddingsFailed(f"embedding model {self.model!r}: the reply holds no embeddings") from None
        if len(vectors) != n:
            raise EmbeddingsFailed(f"embedding model {self.model!r}: expected {n} vectors, got {len(vectors)}")
        for vector in vectors:
            if len(vector) != self.dimensions:
                raise EmbeddingsFailed(
                    f"embedding model {self.model!r}: expected vectors of {self.dimensions} numbers, got {len(vector)}"
                )
        return vectors


class SentenceTransformer:
    """Has the methods of the class of this name that memory systems call. The name of the model is not used."""

    embedder: Embedder
    """Belongs to the class, because Chroma keeps instances for as long as the process lives."""

    def __init__(self, model_name_or_path: str | None = None, **options: Any) -> None:
        pass

    def encode(self, sentences: str | Sequence[str], *, normalize_embeddings: bool = False, **options: Any) -> Any:
        """Embed one text as an array of one dimension, or several as one of two dimensions."""
        import numpy as np

        texts = [sentences] if isinstance(sentences, str) else list(sentences)
        vectors = np.array(self.embedder.embed(texts), dtype=np.float32).reshape(len(texts), self.embedder.dimensions)
        if normalize_embeddings:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        return vectors[0] if isinstance(sentences, str) else vectors

    def get_sentence_embedding_dimension(self) -> int:
        """Return how many numbers a vector has."""
        return self.embedder.dimensions


def stand_in(settings: Mapping[str, Any]) -> Embedder:
    """Have `import sentence_transformers` find this stand-in, and return what embeds for it.

    It has to be called before the system is imported. All instances of a process embed by what the last call returned,
    so the settings must be those of the run.
    """
    SentenceTransformer.embedder = Embedder(settings)
    module = ModuleType("sentence_transformers", "A stand-in; see epbench.memories.systems.adapter.")
    module.SentenceTransformer = SentenceTransformer  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    return SentenceTransformer.embedder
