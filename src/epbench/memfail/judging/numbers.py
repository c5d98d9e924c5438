"""Numbers in what was stored and in memories, written in digits or in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from epbench.memfail.judging.word_rules import content_of, sentences_of, words_of

_NUMBERS = {
    word: number
    for number, word in [
        ("2", "two"), ("3", "three"), ("4", "four"), ("5", "five"), ("6", "six"), ("7", "seven"), ("8", "eight"),
        ("9", "nine"), ("10", "ten"), ("11", "eleven"), ("12", "twelve"), ("20", "twenty"), ("30", "thirty"),
        ("40", "forty"), ("50", "fifty"), ("60", "sixty"), ("70", "seventy"), ("80", "eighty"), ("90", "ninety"),
    ]
}  # fmt: skip
_SPELLED = {number: words_of(word) for word, number in _NUMBERS.items()}


def lost_numbers(detail: str, text: str, memories: Sequence[str], words: frozenset[str]) -> list[str]:
    """The numbers of a detail that stand in what was stored, but in no sentence of the memories about the same words."""
    told = [sentence for memory in memories for sentence in sentences_of(memory)]
    near = [sentence for sentence in told if words & content_of(sentence)] or told
    kept = frozenset(number for sentence in near for number in numbers_of(sentence))
    return sorted((numbers_of(detail) & numbers_of(text)) - kept)


@lru_cache(maxsize=1 << 14)
def numbers_of(text: str) -> frozenset[str]:
    """The numbers of a text, written in digits or in words; `one` is rarely a number.

    >>> sorted(numbers_of("Two cups at 8:00am, one of 70%"))
    ['2', '70', '8']
    """
    digits = [number.lstrip("0") for number in re.findall(r"[0-9]+", text)]
    words = [_NUMBERS[word] for word in re.findall(r"[^\W_]+", text.casefold()) if word in _NUMBERS]
    return frozenset(filter(None, [*digits, *words]))


def numbers_as_words(text: str) -> frozenset[str]:
    """The numbers of a text as words without endings, in digits and spelled out: so `four` has the word `4`, too."""
    return frozenset(form for number in numbers_of(text) for form in (number, *_SPELLED.get(number, ())))
