"""From the name of a retriever to what builds its indexes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
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
        cache: folder of the vectors; by default the one of the user's cache (see `epbench.cache`).
        request_timeout: seconds that the endpoint may stay silent in one attempt at one request.

    Raises:
        BadInput: the name is unknown, a model, key or package is missing, or the endpoint refuses a request.
        RunFailed: the endpoint does not answer, or answers with something other than vectors.
    """
    if name == "bm25":
        from epbench.retrieval.bm25 import Bm25

        return Bm25
    from epbench.cache import cache_folder
    from epbench.retrieval.dense import Dense
    from epbench.retrieval.vector_cache import VectorCache

    embedder = _load_embedder(name, base_url, request_timeout)

    def index(texts: Sequence[str]) -> Searcher:
        return Dense(texts, embedder, VectorCache(cache or cache_folder("vectors"), embedder.name))

    return index


def _load_embedder(name: str, base_url: str | None, request_timeout: float) -> Embedder:
    from epbench.retrieval.embedders import DEFAULT_MODEL, SentenceTransformerEmbedder
    from epbench.retrieval.openai_embedder import EndpointEmbedder

    kind, colon, model = name.partition(":")
    if kind == "st" and bool(model) == bool(colon):
        return SentenceTransformerEmbedder(model or DEFAULT_MODEL)
    if kind == "openai" and model:
        return EndpointEmbedder(model, base_url, request_timeout)
    raise BadInput(f"unknown retriever {name!r}; expected one of: {', '.join(RETRIEVERS)}")
