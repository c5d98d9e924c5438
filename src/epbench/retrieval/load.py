"""From the name on the command line to a search over chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from epbench.errors import BadInput

if TYPE_CHECKING:
    from epbench.retrieval.dense import Embedder

SEARCHERS = ("bm25", "st", "st:PATH_OR_ID", "openai:NAME")


class Searcher(Protocol):
    """An index over chunks."""

    def search(self, queries: Sequence[str], k: int) -> Iterator[list[int]]:
        """For each query the places of its k best chunks, best first; equal scores in the order of the chunks."""
        ...


def load_retriever(
    name: str,
    chunks: Sequence[str],
    *,
    base_url: str | None = None,
    cache: Path | None = None,
    request_timeout: float = 300.0,
) -> Searcher:
    """The search of that name over the chunks; a dense one embeds them now, or finds their vectors in the cache.

    Args:
        name: `bm25`; `st:` and a folder or a name on the Hub of a sentence-transformers model, `st` alone is
            BAAI/bge-large-en-v1.5; `openai:` and the name of a model behind an embeddings endpoint.
        chunks: what is searched.
        base_url: of the endpoint; see `EndpointEmbedder`.
        cache: folder of the vectors; `$EPBENCH_CACHE` or `~/.cache/epbench/vectors` if None.
        request_timeout: seconds that the endpoint may be silent in one try of one request.

    Raises:
        BadInput: unknown name, missing model, key or package, a request that the endpoint refuses.
        RunFailed: the endpoint does not answer, or with what are no vectors.
    """
    kind, colon, model = name.partition(":")
    if name == "bm25":
        from epbench.retrieval.bm25 import Bm25

        return Bm25(chunks)
    from epbench.retrieval.dense import Dense
    from epbench.retrieval.embedders import DEFAULT_MODEL, SentenceTransformerEmbedder
    from epbench.retrieval.openai_embedder import EndpointEmbedder
    from epbench.retrieval.vector_cache import VectorCache, default_folder

    embedder: Embedder
    if kind == "st" and bool(model) == bool(colon):
        embedder = SentenceTransformerEmbedder(model or DEFAULT_MODEL)
    elif kind == "openai" and model:
        embedder = EndpointEmbedder(model, base_url, request_timeout)
    else:
        raise BadInput(f"unknown search {name!r}; there are: {', '.join(SEARCHERS)}")
    return Dense(chunks, embedder, VectorCache(cache or default_folder(), embedder.name))
