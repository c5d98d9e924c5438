"""Which of two things leads to the other: `A makes me B` and `I B because of A` say the same, `B makes me A` does not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from epbench.memfail.judging.word_rules import content_of, words_of

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Between two ends of a link, these say that the second leads to the first; `after that` and `because it makes me` do not.
_BACKWARD = re.compile(
    r"\b(?:(?:because|since)(?!\s+(?:it|they|these|those)\b)|due to|thanks to|"
    r"when|whenever|if|once|after|as soon as|the moment|(?:each|every) time|"
    r"in response to|as a result of|results? from|(?:comes?|stems?|follows?) from|follows|"
    r"(?:caused|triggered|prompted|inspired|sparked|provoked|brought on|set off|induced|preceded|driven) by)\b"
    r"(?!\s+(?:that|this|which)\b)"
)
_BEFORE = re.compile(r"\bbefore\b[^,;.]*$")


@lru_cache(maxsize=1 << 14)
def leads_on(first: str, last: str, text: str) -> bool | None:
    """Whether a text says that the first thing leads to the last, rather than the last to the first.

    What is named first leads to what is named next, unless the words between say otherwise, such as `because` or
    `is caused by`, or a `before` stands in front of both.

    Returns:
        None if one of both is not in the text, or has no word of its own.

    >>> leads_on("tea", "sleep", "Tea makes me sleep."), leads_on("tea", "sleep", "I sleep because I had tea.")
    (True, True)
    >>> leads_on("tea", "sleep", "Sleep is followed by tea.")
    False
    """
    folded = text.casefold()
    ends = (content_of(first) - content_of(last), content_of(last) - content_of(first))
    tokens = [(frozenset(words_of(match[0])), match.span()) for match in _WORD.finditer(folded)]
    one, two = (_span_of(own, tokens) for own in ends)
    if one is None or two is None:
        return None
    earlier, later = sorted((one, two))
    between, front = folded[earlier[1] : later[0]], folded[: earlier[0]]
    backward = (_BACKWARD.search(between) is not None) != (_BEFORE.search(front) is not None)
    return (one < two) != backward


def _span_of(words: frozenset[str], tokens: Sequence[tuple[frozenset[str], tuple[int, int]]]) -> tuple[int, int] | None:
    """Where most of some words stand together, from the first to the last of them; None if none is there."""
    best, most = None, 0
    for i, (stems, (start, _)) in enumerate(tokens):
        if words & stems:
            near = tokens[i : i + 2 * len(words) + 1]
            held = {word for stems, _ in near for word in words & stems}
            if len(held) > most:
                ends = [end for stems, (_, end) in near if words & stems]
                best, most = (start, ends[-1]), len(held)
    return best
