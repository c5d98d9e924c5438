"""An embedder that knows a few synonyms; what it does not know is like nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

SIZE, KNOWN = 256, 8
_SYNONYMS = (
    {"bonsai", "miniature", "trees"},
    {"exhibition", "show", "display"},
    {"chess", "bishop", "rook"},
    {"tournament", "competition"},
    {"cyclone", "hurricane"},
    {"church", "steeple"},
    {"concert", "gig"},
)
_CONCEPTS = {word: number for number, words in enumerate(_SYNONYMS) for word in words}
_SMALL = {"a", "an", "the", "of", "in", "on", "at", "and", "with", "to"}


class ConceptEmbedder:
    """Each word is a direction, which it shares with its synonyms; a text is the sum of its words."""

    batch_bytes = 1 << 15

    def __init__(self, version: str = "v1") -> None:
        self.name = f"concepts@{version}"
        self.embedded: list[str] = []

    def check(self, chunks: Sequence[str]) -> None:
        """Texts of any length are read."""

    def embed(self, texts: Sequence[str], *, query: bool) -> np.ndarray:
        assert not query
        self.embedded += texts
        vectors = np.zeros((len(texts), SIZE), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in set(text.split()) - _SMALL:
                row[_place(word)] += 1
        return vectors


def _place(word: str) -> int:
    if word in _CONCEPTS:
        return _CONCEPTS[word]
    return KNOWN + int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % (SIZE - KNOWN)
