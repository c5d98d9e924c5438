"""How alike an item and a phrase are, by their sentence embeddings. Every different text is embedded once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from epbench.retrieval.dense import batches
from epbench.retrieval.protocol import Embedder
from epbench.tulving.judging.rules import SMALL_WORDS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]


class Similarities:
    """Similarities of normalised texts; their vectors are kept as long as this object."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: dict[str, Vector] = {}

    def prepare(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Embed what these pairs need and what has no vector yet.

        Args:
            pairs: An item and a phrase each, normalised.
        """
        import numpy as np

        texts = dict.fromkeys(text for pair in pairs for text in (*pair, *_without_shared(*pair)) if text)
        fresh = [text for text in texts if text not in self._vectors]
        for batch in batches(fresh, self._embedder.batch_bytes):
            vectors = np.asarray(self._embedder.embed(batch, query=False), dtype=np.float32)
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            self._vectors |= zip(batch, vectors / np.maximum(lengths, np.finfo(np.float32).tiny), strict=True)

    def between(self, item: str, phrase: str) -> float:
        """Return the similarity of a pair that was prepared, in [-1, 1].

        It is the mean of two cosines: that of the whole texts, and that of what is left of them without the words they
        share. Whole texts that share `Park` or `Workshop` are alike, whatever else they say.
        """
        whole, rests = self._cosine(item, phrase), _without_shared(item, phrase)
        if not rests[0]:  # every word of the item stands in the phrase
            return (whole + 1) / 2
        return (whole + (self._cosine(*rests) if rests[1] else 0.0)) / 2

    def _cosine(self, one: str, other: str) -> float:
        return float(self._vectors[one] @ self._vectors[other])


def _without_shared(one: str, other: str) -> tuple[str, str]:
    """Both texts without the words they share, small words aside; empty where only small words are left."""
    shared = (set(one.split()) & set(other.split())) - SMALL_WORDS
    if not shared:
        return one, other
    rests = [[word for word in text.split() if word not in shared] for text in (one, other)]
    first, second = ("" if set(rest) <= SMALL_WORDS else " ".join(rest) for rest in rests)
    return first, second
