"""An embedder that notes what it embeds; its vectors are a hash of the text."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence

import numpy as np


class CountingEmbedder:
    def __init__(self, name: str = "counting", size: int = 8, batch_bytes: int = 1 << 16, seconds: float = 0) -> None:
        self.name, self.size, self.batch_bytes, self.seconds = name, size, batch_bytes, seconds
        self.embedded: list[tuple[str, bool]] = []
        self.checked: list[list[str]] = []

    def check(self, chunks: Sequence[str]) -> None:
        self.checked.append(list(chunks))

    def embed(self, texts: Sequence[str], *, query: bool) -> np.ndarray:
        time.sleep(self.seconds)
        self.embedded += [(text, query) for text in texts]
        return np.stack([vector(text, self.size) for text in texts])


def vector(text: str, size: int = 8) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)
