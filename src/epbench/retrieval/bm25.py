"""Exact lexical retrieval: every chunk is scored for every query (BM25, k1 = 1.5, b = 0.75)."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

_TERM = re.compile(r"[a-z0-9]+")


def terms(text: str) -> list[str]:
    """Lower-case runs of letters and digits."""
    return _TERM.findall(text.lower())


class Bm25:
    """An index over chunks."""

    def __init__(self, chunks: Sequence[str]) -> None:
        self._n = len(chunks)
        self._index = _bm25s().BM25(k1=1.5, b=0.75, method="lucene", backend="numpy")
        self._index.index([terms(chunk) for chunk in chunks], show_progress=False)

    def search(self, queries: Sequence[str], k: int) -> Iterator[list[int]]:
        """For each query the places of its k best chunks, best first; equal scores in the order of the chunks."""
        import numpy as np

        for query in queries:
            known = [term for term in dict.fromkeys(terms(query)) if term in self._index.vocab_dict]
            scores = self._index.get_scores(known) if known else np.zeros(self._n)
            yield np.argsort(-scores, kind="stable")[:k].tolist()


def _bm25s() -> ModuleType:
    """The library, without numba: compiling costs seconds that our sizes never win back, and an engine of vLLM's CPU
    build that is started in a process which has imported numba does not come up."""
    blocked = "numba" not in sys.modules
    if blocked:
        sys.modules["numba"] = None  # type: ignore[assignment]  # "not installed", for as long as bm25s looks
    try:
        return importlib.import_module("bm25s")
    finally:
        if blocked:
            del sys.modules["numba"]
