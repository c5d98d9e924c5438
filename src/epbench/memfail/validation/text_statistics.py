"""What the validation report counts in texts: sentences, words, explicit connectives, overlap."""

from __future__ import annotations

import re
from collections.abc import Sequence

NEAR_DUPLICATE = 0.7  # Jaccard index of word trigrams from which the paper takes texts for duplicates (Appendix B.1)

# The judge's rule (`sentences_of`) also ends sentences at semicolons and line breaks, and before lower case: it compares
# facts. Here sentences are counted as a reader sees them, so a new one must begin with a capital letter or a digit.
_END = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[\"'“‘(]*[A-ZÀ-Þ0-9])")
# Appendix B.3; longer ones first, so that "only if" is not counted as "if".
_CONNECTIVES = re.compile(
    r"\b(but only if|only if|only when|only after|except when|whenever|unless|(?<!as )if)\b", re.IGNORECASE
)


def sentences(text: str) -> list[str]:
    """The sentences of an essay, by punctuation that a capital letter or a digit follows."""
    return [sentence for sentence in _END.split(text.strip()) if sentence]


def connectives(text: str) -> list[str]:
    """Explicit conditional connectives that an essay of the Hard variant must not have; `as if` is none."""
    return [found.lower() for found in _CONNECTIVES.findall(text)]


def normalised(text: str) -> str:
    """Lower case, words alone."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def stands_in(part: str, text: str) -> bool:
    """Whether the words of a text stand in another one, in this order and without a gap."""
    return f" {normalised(part)} " in f" {normalised(text)} "


def overlaps(texts: Sequence[str]) -> tuple[float, int]:
    """Largest Jaccard index of word trigrams between two texts, and how many pairs reach `NEAR_DUPLICATE`."""
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer

    if max((len(text.split()) for text in texts), default=0) < 3:
        return 0.0, 0
    counter = CountVectorizer(binary=True, token_pattern=r"\S+", ngram_range=(3, 3), dtype=np.int32)
    found = counter.fit_transform(texts)
    sizes = np.asarray(found.sum(axis=1)).ravel()
    largest, near = 0.0, 0
    for start in range(0, len(texts), 500):  # by blocks of rows, which bounds the memory
        shared = (found[start : start + 500] @ found.T).toarray()
        joined = sizes[start : start + 500, None] + sizes[None, :] - shared
        later = np.arange(len(texts))[None, :] > np.arange(start, start + len(shared))[:, None]
        index = np.where(later, shared / np.maximum(joined, 1), 0.0)
        largest, near = max(largest, float(index.max())), near + int((index >= NEAR_DUPLICATE).sum())
    return largest, near
