"""Exact lexical search: every text is scored for every query (BM25, k1 = 1.5, b = 0.75)."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType

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
        """See `Searcher.search`."""
        import numpy as np

        for query in queries:
            known = [term for term in dict.fromkeys(terms(query)) if term in self._index.vocab_dict]
            scores = self._index.get_scores(known) if known else np.zeros(self._n)
            yield np.argsort(-scores, kind="stable")[:k].tolist()


def _bm25s() -> ModuleType:
    """Import bm25s without numba.

    Compiling takes seconds that texts of our size never win back, and the engine of vLLM's CPU build does not start in a
    process that has imported numba.
    """
    blocked = "numba" not in sys.modules
    if blocked:
        sys.modules["numba"] = None  # type: ignore[assignment]  # says "not installed" while bm25s looks for it
    try:
        return importlib.import_module("bm25s")
    finally:
        if blocked:
            del sys.modules["numba"]
