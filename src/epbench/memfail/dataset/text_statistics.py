"""What the validation report counts in texts: sentences, explicit connectives, overlap and tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence

NEAR_DUPLICATE = 0.7  # the Jaccard index of word trigrams that makes two texts duplicates (Appendix B.1)

# The judge's rule (`sentences_of`) also ends sentences at semicolons and line breaks, and before lower case: it compares
# facts. Here sentences are counted as a reader sees them, so a new one must begin with a capital letter or a digit.
_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]*[A-ZÀ-Þ0-9])")
# Appendix B.3. Longer ones come first, so that "only if" is not counted as "if".
_CONNECTIVES = re.compile(
    r"\b(but only if|only if|only when|only after|except when|whenever|unless|(?<!as )if)\b", re.IGNORECASE
)


def sentences(text: str) -> list[str]:
    """Split an essay into sentences, at punctuation followed by a capital letter or a digit."""
    return [sentence for sentence in _END.split(text.strip()) if sentence]


def connectives(text: str) -> list[str]:
    """Return the explicit conditional connectives, which a Hard essay must not have; `as if` does not count."""
    return [found.lower() for found in _CONNECTIVES.findall(text)]


def normalised(text: str) -> str:
    """Return the words in lower case, without punctuation."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def stands_in(part: str, text: str) -> bool:
    """Return whether the words of `part` appear in `text`, in this order and without a gap."""
    return f" {normalised(part)} " in f" {normalised(text)} "


def overlaps(texts: Sequence[str]) -> tuple[float, int]:
    """Compare all pairs of texts by the Jaccard index of their word trigrams.

    Returns:
        The largest index, from 0 to 1, and the number of pairs that reach `NEAR_DUPLICATE`.
    """
    import numpy as np
    from scipy.sparse import csr_array

    trigrams = [
        set(zip(words, words[1:], words[2:], strict=False)) for words in (text.lower().split() for text in texts)
    ]
    numbers: dict[tuple[str, ...], int] = {}
    columns = [numbers.setdefault(trigram, len(numbers)) for of in trigrams for trigram in of]
    sizes = np.array([len(of) for of in trigrams])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    found = csr_array((np.ones(len(columns), np.int32), columns, starts), shape=(len(texts), len(numbers)))
    largest, near = 0.0, 0
    for start in range(0, len(texts), 500):  # block by block, to limit the memory
        shared = (found[start : start + 500] @ found.T).toarray()
        joined = sizes[start : start + 500, None] + sizes[None, :] - shared
        later = np.arange(len(texts))[None, :] > np.arange(start, start + len(shared))[:, None]
        index = np.where(later, shared / np.maximum(joined, 1), 0.0)
        largest, near = max(largest, float(index.max())), near + int((index >= NEAR_DUPLICATE).sum())
    return largest, near
