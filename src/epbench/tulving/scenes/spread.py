"""How widely the words of a book are spread: no run of eight words shall occur in more than a few of its chapters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from epbench.draws import RandomStream
from epbench.tulving.scenes.patterns import Sentence

RUN = 8  # words
_WORD = re.compile(r"[\w'’\x02-\x05]+")  # with the marks that stand for the main character
TRIES = 4
"""How often the words of a pattern are drawn before another pattern takes its place."""
MOST_CHAPTERS = 0.03
"""The largest share of chapters that may have the same run of words."""


class Spread:
    """Counts the runs of words in the sentences of a book."""

    def __init__(self, n_chapters: int) -> None:
        """Start to count.

        Args:
            n_chapters: The number of chapters of the book.
        """
        self._most = max(1, int(MOST_CHAPTERS * n_chapters))
        self._seen: Counter[str] = Counter()

    def allows(self, sentence: str) -> bool:
        """Whether the book can have a sentence without any of its runs becoming too frequent."""
        return all(self._seen[run] < self._most for run in _runs(sentence))

    def add(self, sentence: str) -> None:
        """Count a sentence that the book has."""
        self._seen.update(_runs(sentence))


def write_freshly(patterns: Sequence[Sentence], known: Mapping[str, str], spread: Spread, draws: RandomStream) -> str:
    """Return a sentence of one of the patterns whose words are not too frequent yet, if there is one, and count it.

    Args:
        patterns: The patterns, in any order.
        known: What stands in their slots.
        spread: What the book has told so far.
        draws: The draws of this sentence.
    """
    for pattern in draws.sample(patterns, len(patterns)):
        for _ in range(TRIES):
            sentence = pattern.write(draws, known.__getitem__)
            if spread.allows(sentence):
                spread.add(sentence)
                return sentence
    spread.add(sentence)
    return sentence


def _runs(sentence: str) -> list[str]:
    words = _WORD.findall(sentence.lower())
    return [" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1)]
