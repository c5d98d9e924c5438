"""What in an answer could name an item in other words: its clauses, a few clauses in a row, and their last parts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from epbench.tulving.judging.lexical import MARKER, SENTENCE_GAP, SMALL_WORDS, normal

MOST_CLAUSES = 4  # in one phrase: a description may hold commas and `and`
MOST_WORDS = 20  # longer phrases tell a story rather than name an item
_NEAR_START = 8  # words within which what leads to an item may stand: `The text puts it at …`

_CLAUSE_GAP = re.compile(r"[,;:()]|\band\b|\s[–—-]\s", re.IGNORECASE)
_SENTENCES = re.compile(SENTENCE_GAP)
_LEADS = frozenset(
    """
    is are was were be been at in on of to by as give gives name names say says describe describes called
    remember recall mention mentions
""".split()
)
_FILLERS = _LEADS | frozenset(
    """
    it this that these those there they he she i we one what which all some the a an and but so then also here
    would could might may must did has had have been took take takes taken place happened happens occurred held
    went believe think guess know answer answers text book story novel chapter chapters narrator tells told puts
    dates definitely probably clearly certainly location locations event events following
""".split()
)
_ARTICLES = frozenset(["the", "a", "an"])
_EDGES = " .!?*_\"'“”"
_SOURCE = re.compile(r"\s(?:in|from|according to) the (?:book|text|story|novel|chapters?|passages?)\b", re.IGNORECASE)
_LINKS = SMALL_WORDS | {"from", "by", "into", "over", "under", "around", "near", "between", "that", "which", "who"}


@dataclass(frozen=True, slots=True)
class Phrase:
    """A part of an answer."""

    text: str  # the part, as the answer words it
    words: str  # the same, normalised
    line: int  # number of its line
    start: int  # where in the line the clauses begin that it is taken from, in characters
    end: int  # where they end

    @property
    def is_name(self) -> bool:
        """Whether it is a name, such as `Dog Show` or `dog show`; `a show of dogs` describes something."""
        words = self.text.split()
        return _is_titled(words) or not any(word.casefold() in _LINKS for word in words)

    def overlaps(self, other: Phrase) -> bool:
        """Whether both are taken from one clause."""
        return self.line == other.line and self.start < other.end and other.start < self.end


def phrases_of(answer: str, question: str) -> list[Phrase]:
    """All phrases of an answer, each with what may lead to it (`It took place at …`) and without it.

    Of an answer that is a list only the lines of the list are taken, as in `lexical.entries_of`. A phrase whose words all
    stand in the question is left out.
    """
    lines = answer.splitlines()
    listed = any(MARKER.match(line) for line in lines)
    asked = set(normal(question).split()) | SMALL_WORDS
    phrases = []
    for number, line in enumerate(lines):
        marker = MARKER.match(line)
        if listed and not marker:
            continue
        for start, end in _split(_SENTENCES, line, marker.end() if marker else 0, len(line)):
            clauses = _split(_CLAUSE_GAP, line, start, end)
            named = [any(map(_is_titled, map(str.split, _without_leads(line[slice(*clause)])))) for clause in clauses]
            for first in range(len(clauses)):
                for last in range(first, min(first + MOST_CLAUSES, len(clauses))):
                    if last > first and any(named[first : last + 1]):
                        break  # a list of names rather than one description
                    span = clauses[first][0], clauses[last][1]
                    for text in _without_leads(line[slice(*span)]):
                        words = normal(text)
                        if not set(words.split()) <= asked:
                            phrases.append(Phrase(text, words, number, *span))
    return phrases


def _split(gap: re.Pattern[str], line: str, start: int, end: int) -> list[tuple[int, int]]:
    """Begin and end of the parts that are not blank."""
    gaps = [(match.start(), match.end()) for match in gap.finditer(line, start, end)]
    begins, ends = [start, *(after for _, after in gaps)], [*(before for before, _ in gaps), end]
    return [(begin, stop) for begin, stop in zip(begins, ends, strict=True) if line[begin:stop].strip(" .*_\"'“”")]


def _without_leads(text: str) -> list[str]:
    """The phrase without what says nothing about an item, and what follows the words near its start that may lead to one.

    Where that is a name, the words before it describe the item only if they have an article: `the zoo on Staten Island`
    does, and `we met at High Line` names `High Line` alone.
    """
    words = [bare for word in _SOURCE.sub("", text).split() if (bare := word.strip(_EDGES))]
    words = words[_n_fillers(words) :]
    head = [word.casefold() for word in words[:_NEAR_START]]
    rests = [words[i + 1 :] for i, word in enumerate(head) if word in _LEADS]
    named = [rest for rest in rests if _is_titled(rest)]
    only_named = named and not _ARTICLES & set(head[: len(words) - len(named[0])])
    candidates = named if only_named else [words, *rests]
    return list(dict.fromkeys(" ".join(phrase) for phrase in candidates if 0 < len(phrase) <= MOST_WORDS))


def _is_titled(words: list[str]) -> bool:
    """Whether all words, links aside, have a capital: `Museum of Modern Art`."""
    main = [word for word in words if word.casefold() not in _LINKS]
    return bool(main) and not any(word[0].islower() for word in main)


def _n_fillers(words: list[str]) -> int:
    """How many words at the start say nothing; the article of what follows is none of them."""
    fillers = [word.casefold() in _FILLERS for word in words]
    n = fillers.index(False) if False in fillers else len(words)
    return n - 1 if 0 < n < len(words) and words[n - 1].casefold() in _ARTICLES else n
