"""Finds texts that are too alike, by MinHash over word trigrams (paper: Appendix B.1)."""

from __future__ import annotations

from collections.abc import Sequence

PERMUTATIONS = 128
ESSAY, QUESTION, PERSONA, FACT = 0.8, 0.7, 0.7, 0.7
"""The Jaccard index from which two texts are alike: conditional essays, coexisting questions, persona essays, chain facts."""


class Duplicates:
    """Keeps the first of several texts that are alike.

    As in the reference, a hit of the index counts as it is: it is not checked again with the exact Jaccard index.
    """

    def __init__(self, threshold: float) -> None:
        """
        Args:
            threshold: Jaccard index, from 0 to 1, from which texts are alike.
        """
        from datasketch import MinHashLSH

        self._index = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS)
        self._kept = 0

    def like(self, texts: Sequence[str], label: str) -> str | None:
        """Return the label of a kept text that one of these is like; if there is none, keep these and return None.

        Texts that are kept together are compared with one another, too.
        """
        from datasketch import MinHash

        added: list[tuple[int, str]] = []
        for text in texts:
            sketch = MinHash(num_perm=PERMUTATIONS)
            for shingle in shingles(text):
                sketch.update(shingle.encode())
            if found := self._index.query(sketch):
                for key in added:
                    self._index.remove(key)
                return str(sorted(found)[0][1])
            key = (self._kept, label)
            self._index.insert(key, sketch)
            added.append(key)
            self._kept += 1
        return None


def shingles(text: str) -> set[str]:
    """Return the word trigrams of a text in lower case; a text of fewer than three words is one shingle.

    >>> sorted(shingles("Tea at five, always"))
    ['at five, always', 'tea at five,']
    """
    words = text.lower().split()
    if len(words) < 3:
        return {" ".join(words)}
    return {" ".join(words[i : i + 3]) for i in range(len(words) - 2)}
