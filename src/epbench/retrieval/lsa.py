"""Dense search without a model: words weighted by rarity (TF-IDF), folded into some latent topics of the store itself.

Deerwester et al. (1990). It finds texts that share no word with a query but words that stand together elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.retrieval.dense import Dense

if TYPE_CHECKING:
    from epbench.retrieval.dense import Matrix

TOPICS = 100


class LatentEmbedder:
    """Vectors of texts by the topics of a store."""

    name = "tf-idf, svd"
    batch_bytes = 1 << 30

    def __init__(self, store: Sequence[str]) -> None:
        """Find the topics; at most `TOPICS`, and fewer than there are texts or words."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._words = TfidfVectorizer(token_pattern=r"\w+", sublinear_tf=True)
        weights = self._words.fit_transform(store)
        size = min(TOPICS, weights.shape[0] - 1, weights.shape[1] - 1)
        # Exact, not randomised: the same vectors whatever the threads. Too small a store has no topics but its words.
        self._topics = TruncatedSVD(size, algorithm="arpack", random_state=0).fit(weights) if size >= 2 else None

    def check(self, chunks: Sequence[str]) -> None:
        """Texts of any length are read."""

    def embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """One vector for each text."""
        weights = self._words.transform(texts)
        found: Matrix = weights.toarray() if self._topics is None else self._topics.transform(weights)
        return found


def latent_search(store: Sequence[str]) -> Dense:
    """A search over a store."""
    return Dense(store, LatentEmbedder(store))
