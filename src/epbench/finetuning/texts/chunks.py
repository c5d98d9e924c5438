"""A book in chunks of about the same size that begin and end with whole sentences (Appendix F)."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path

from epbench.errors import BadInput
from epbench.files.text import read_text

_log = logging.getLogger(__name__)


def chunks_of(words: Sequence[str], starts: Sequence[int], n_words: int = 5000) -> list[range]:
    """Divide a text into consecutive chunks that end where a sentence ends; no word is lost or comes twice.

    The text is divided evenly. A rest of at most a tenth of a chunk does not become a chunk of its own: 5,300 words are
    one chunk of 5,300, and 10,400 are two of about 5,200. So a chunk has at most a tenth more than `n_words`, and of two
    or more chunks each has more than half of `n_words`, as far as sentences allow it: each cut is moved to the nearest of
    `starts`, the words that begin a sentence. If there is none within half a chunk, the text is cut inside a sentence,
    and the log says so. BadInput if `n_words` is less than 1.
    """
    if n_words < 1:
        raise BadInput(f"words in a chunk: expected at least 1, found {n_words}")
    n = len(words)
    n_chunks = max(1, -(-(10 * n - n_words) // (10 * n_words)))
    cuts = [_cut(starts, i, n_chunks, n) for i in range(1, n_chunks)]
    return [range(first, end) for first, end in pairwise([0, *cuts, n])] if n else []


def _cut(starts: Sequence[int], i: int, n_chunks: int, n: int) -> int:
    """Return the index of the word at which chunk i begins: the sentence nearest to i equal parts of n words."""
    even = (2 * i * n + n_chunks) // (2 * n_chunks)
    # What is within reach of one cut is not within reach of the next, so that no chunk is empty.
    low = bisect_right(starts, (2 * i - 1) * n // (2 * n_chunks))
    high = bisect_left(starts, -(-(2 * i + 1) * n // (2 * n_chunks)))
    if low < high:
        return min(starts[low:high], key=lambda start: abs(start * n_chunks - i * n))
    _log.warning("no sentence begins within %d words of word %d, so the text is cut there", n // n_chunks // 2, even)
    return even


def chunk_texts(paragraphs: Sequence[str], starts: Sequence[int], n_words: int = 5000) -> list[str]:
    """Return the text of each chunk, with a blank line between paragraphs, so that a heading stays one.

    Words of a paragraph have single blanks between them. A paragraph that is cut goes on in the next chunk. `starts` are
    counted through the whole text. BadInput if `n_words` is less than 1.
    """
    lists = [paragraph.split() for paragraph in paragraphs]
    ends = [0, *accumulate(map(len, lists))]
    words = [word for paragraph_words in lists for word in paragraph_words]
    texts = []
    for chunk in chunks_of(words, starts, n_words):
        inner = ends[bisect_right(ends, chunk.start) : bisect_left(ends, chunk.stop)]
        parts = pairwise([chunk.start, *inner, chunk.stop])
        texts.append("\n\n".join(" ".join(words[first:end]) for first, end in parts if first < end))
    return texts


def paragraphs_of(path: Path) -> list[str]:
    """Return the paragraphs of a text that is never trained, with single blanks between words; BadInput without words."""
    paragraphs = [" ".join(part.split()) for part in read_text(path).split("\n\n") if part.strip()]
    if not paragraphs:
        raise BadInput(f"{path}: expected a text, found no words")
    return paragraphs
