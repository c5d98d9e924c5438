"""What in an answer could name an item in other words: its clauses, a few clauses in a row, and their last parts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from epbench.tulving.judging.rules import MARKER, SENTENCE_GAP, SMALL_WORDS, normal

MOST_CLAUSES = 4  # in one phrase: a description may hold commas and `and`
MOST_WORDS = 20  # longer phrases tell a story rather than name an item
_NEAR_START = 8  # words within which what leads to an item may stand: `The text puts it at …`

_CLAUSE_GAP = re.compile(r"[,;:()]|\band\b|\s[–—-]\s", re.IGNORECASE)
_SENTENCES = re.compile(SENTENCE_GAP)
_LEADS = re.compile(
    r"\b(?:is|are|was|were|be|been|at|in|on|of|to|by|as|gives?|names?|says?|describes?|called|remember|recall|mentions?)\s",
    re.IGNORECASE,
)
_SOURCE = re.compile(r"\s+(?:in|from|according to) the (?:book|text|story|novel|chapters?|passages?)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)
_LINKS = SMALL_WORDS | {"from", "by", "into", "over", "under", "around", "near", "between", "that", "which", "who"}


@dataclass(frozen=True, slots=True)
class Phrase:
    """A part of an answer.

    Attributes:
        text: The part, as the answer words it.
        words: The same, normalised.
        line: Number of its line.
        start: Where in the line the clauses begin that it is taken from, in characters.
        end: Where they end.
    """

    text: str
    words: str
    line: int
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """Whether it is a name, such as `Dog Show` or `dog show`; `a show of dogs` describes something."""
        bare = _ARTICLE.sub("", self.text, count=1) if _ARTICLE.match(self.text) else self.text
        words = [word for word in bare.split() if word.casefold() not in _LINKS]
        if all(not word[:1].islower() for word in words):
            return True
        return bare == self.text and len(words) == len(bare.split())

    def overlaps(self, other: Phrase) -> bool:
        """Whether both are taken from one clause."""
        return self.line == other.line and self.start < other.end and other.start < self.end


def phrases_of(answer: str, question: str) -> list[Phrase]:
    """All phrases of an answer, each with what may lead to it (`It took place at …`) and without it.

    A phrase whose words all stand in the question is left out.
    """
    asked = set(normal(question).split()) | SMALL_WORDS
    found = []
    for number, line in enumerate(answer.splitlines()):
        marker = MARKER.match(line)
        for start, end in _sentences(line, marker.end() if marker else 0):
            clauses = _split(_CLAUSE_GAP, line, start, end)
            for first in range(len(clauses)):
                for last in range(first, min(first + MOST_CLAUSES, len(clauses))):
                    span = clauses[first][0], clauses[last][1]
                    for text in _without_leads(line[slice(*span)]):
                        words = normal(text)
                        if not set(words.split()) <= asked:
                            found.append(Phrase(text, words, number, *span))
    return found


def _sentences(line: str, start: int) -> list[tuple[int, int]]:
    return _split(_SENTENCES, line, start, len(line))


def _split(gap: re.Pattern[str], line: str, start: int, end: int) -> list[tuple[int, int]]:
    """Begin and end of the parts that are not blank."""
    gaps = [(match.start(), match.end()) for match in gap.finditer(line, start, end)]
    begins, ends = [start, *(after for _, after in gaps)], [*(before for before, _ in gaps), end]
    return [(begin, stop) for begin, stop in zip(begins, ends, strict=True) if line[begin:stop].strip(" .*_\"'“”")]


def _without_leads(text: str) -> list[str]:
    """The phrase, and what follows the words near its start that may lead to an item."""
    text = _SOURCE.sub("", text)
    head = " ".join(text.split()[:_NEAR_START])
    starts = [0, *(match.end() for match in _LEADS.finditer(" ".join(text.split()), 0, len(head)))]
    cut = [" ".join(text.split())[start:].strip(" .!?*_\"'“”") for start in starts]
    return [part for part in dict.fromkeys(cut) if part and len(part.split()) <= MOST_WORDS]
