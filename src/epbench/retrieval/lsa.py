"""Latent semantic analysis (Deerwester et al., 1990): dense search without a model.

Words are weighted by rarity (TF-IDF) and folded into a few latent topics of the searched texts themselves. The search
finds texts that share no word with a query, but words that occur together elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.retrieval.dense import Dense

if TYPE_CHECKING:
    from epbench.retrieval.protocol import Matrix

TOPICS = 100
"""The most topics, and so the most numbers in a vector."""


class LatentEmbedder:
    """Turns texts into vectors by the topics of a store."""

    name = "tf-idf, svd"
    batch_bytes = 1 << 30

    def __init__(self, store: Sequence[str]) -> None:
        """Find the topics of a store: at most `TOPICS`, and fewer than it has texts or words."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._words = TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True)
        weights = self._words.fit_transform(store)
        size = min(TOPICS, weights.shape[0] - 1, weights.shape[1] - 1)
        # The exact algorithm gives the same vectors on any number of threads. A tiny store is described by its words.
        self._topics = TruncatedSVD(size, algorithm="arpack", random_state=0).fit(weights) if size >= 2 else None

    def check(self, chunks: Sequence[str]) -> None:
        """Do nothing: texts of any length are read."""

    def embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """See `Embedder.embed`."""
        weights = self._words.transform(texts)
        found: Matrix = weights.toarray() if self._topics is None else self._topics.transform(weights)
        return found


def latent_search(store: Sequence[str]) -> Dense:
    """Build an index over the texts of a store."""
    return Dense(store, LatentEmbedder(store))
