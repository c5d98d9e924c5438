"""Exact lexical search (BM25, k1 = 1.5, b = 0.75), and from the name of a retriever to what builds its indexes."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from epbench.errors import BadInput

if TYPE_CHECKING:
    from epbench.retrieval.protocol import Embedder, MakeSearcher, Searcher


RETRIEVERS = ("bm25", "st", "st:PATH_OR_ID", "openai:NAME")


def load_retriever(
    name: str, *, base_url: str | None = None, cache: Path | None = None, request_timeout: float = 300.0
) -> MakeSearcher:
    """Load the retriever of this name: a function that builds an index over texts.

    A model is loaded once and serves all indexes. A dense index embeds its texts when it is built, or finds their
    vectors in the cache.

    Args:
        name: `bm25`; `st:` followed by the folder or the Hub name of a sentence-transformers model, or by `minilm` for
            that of an installed package, or `st` alone for BAAI/bge-large-en-v1.5; `openai:` followed by the name of a
            model behind an embeddings endpoint.
        base_url: URL of the endpoint; see `EndpointEmbedder`.
        cache: folder of the vectors; by default the one of the user's cache (see `epbench.files.cache`).
        request_timeout: seconds that the endpoint may stay silent in one attempt at one request.

    Raises:
        BadInput: the name is unknown, a model, key or package is missing, or the endpoint refuses a request.
        RunFailed: the endpoint does not answer, or answers with something other than vectors.
    """
    if name == "bm25":
        return Bm25
    from epbench.files.cache import cache_folder
    from epbench.retrieval.dense import Dense, VectorCache
    from epbench.retrieval.embedders import DEFAULT_MODEL, EndpointEmbedder, SentenceTransformerEmbedder

    kind, colon, model = name.partition(":")
    embedder: Embedder
    if kind == "st" and bool(model) == bool(colon):
        embedder = SentenceTransformerEmbedder(model or DEFAULT_MODEL)
    elif kind == "openai" and model:
        embedder = EndpointEmbedder(model, base_url, request_timeout)
    else:
        raise BadInput(f"unknown retriever {name!r}; expected one of: {', '.join(RETRIEVERS)}")

    def index(texts: Sequence[str]) -> Searcher:
        return Dense(texts, embedder, VectorCache(cache or cache_folder("vectors"), embedder.name))

    return index


_TERM = re.compile(r"[a-z0-9]+")


def terms(text: str) -> list[str]:
    """Return the runs of letters and digits in a text, in lower case."""
    return _TERM.findall(text.lower())


class Bm25:
    """An index over chunks of text."""

    def __init__(self, chunks: Sequence[str]) -> None:
        self._n = len(chunks)
        self._index = _bm25s().BM25(k1=1.5, b=0.75, method="lucene", backend="numpy")
        self._index.index([terms(chunk) for chunk in chunks], show_progress=False)

    def search(self, queries: Sequence[str], k: int) -> Iterator[list[int]]:
        import numpy as np

        for query in queries:
            known = [term for term in dict.fromkeys(terms(query)) if term in self._index.vocab_dict]
            scores = self._index.get_scores(known) if known else np.zeros(self._n)
            yield np.argsort(-scores, kind="stable")[:k].tolist()


def _bm25s() -> ModuleType:
    """Import bm25s without numba, which takes seconds, and with which the engine of vLLM's CPU build does not start."""
    blocked = "numba" not in sys.modules
    if blocked:
        sys.modules["numba"] = None  # type: ignore[assignment]  # says "not installed" while bm25s looks for it
    try:
        return importlib.import_module("bm25s")
    finally:
        if blocked:
            del sys.modules["numba"]
