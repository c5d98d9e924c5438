"""What rules can find in a text: its words without endings, whether it decides yes or no, and whether it abstains.

At the end stands what the validation report counts in texts: sentences, explicit connectives, and overlap.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

# Words that carry no detail. `not`, `without`, `before` and `after` are left out, since they reverse a condition.
_SMALL_WORDS = """
a an the and or but of in on at to for from by with as is are was were be been being am do does did has have had will
would can could shall should may might must i me my mine we us our you your he him his she her hers it its they them their
theirs this that these those there here when whenever while if only just so than then very too also what which who whom
whose how s t d ll m re ve"""
_ENDINGS = ("ingly", "edly", "ings", "ing", "ies", "ied", "ier", "ed", "es", "er", "ie", "ly", "s", "y", "e")

# A memory may note facts in clauses and lines without capitals, so semicolons, line breaks and any punctuation before a
# blank end a sentence. The statistics of essays have a stricter rule; to change this one would change verdicts.
_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"')\]’”]*\s+|\n+")
_QUESTION_END = re.compile(r"\?[\"')\]’”*_\s]*$")

_AFTER_DECISION = r"(?=\s*(?:[.,;:!*–—\-)\"'’”]|$|\n|\s(?:because|since|as|he|she|it|they|i|you|we|that)\b))"
_DECISION = re.compile(rf"(?:^|[\s*_(\"'“‘:–—\-])(yes|no){_AFTER_DECISION}", re.IGNORECASE)
_ANSWER_MARK = re.compile(r"\banswer\b\W*(?:is\b)?", re.IGNORECASE)

_UNKNOWN = "know|aware|sure|mention(?:ed)?|sa(?:y|id)|tell|told|find|found|recall|remember|contain|include|provide|familiar|given"
_ABSTAINS = re.compile(
    r"\b(?:no (?:\w+ )?(?:information|info|mention|records?|knowledge|details?|data|memor(?:y|ies)|idea)|"
    r"nothing (?:about|known|(?:is|was) (?:known|said|mentioned|stored))|know nothing|unable to|unknown|unsure|"
    r"(?:cannot|can not|can['’]?t|could not|couldn['’]t) (?:say|tell|answer|determine|know|find|help|confirm|recall|be)|"
    rf"not (?:{_UNKNOWN}|stated|specified|recorded|stored|available|enough|have)|"
    rf"(?:do|does|did|is|are|was|were|have|has)n['’]t (?:{_UNKNOWN}|stated|have|any))\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=1 << 16)
def words_of(text: str) -> tuple[str, ...]:
    """The words without case, punctuation and endings: those of `Riding my bikes` and `ride my bike` are the same.

    >>> words_of("Beanies — when it's RAINING!")
    ('bean', 'when', 'it', 'rain')
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    folded = re.sub(r"['’]s\b", "", folded)
    return tuple(_stem(word) for word in re.findall(r"[^\W_]+", folded))


def _stem(word: str) -> str:
    """Cut off an English ending, so that the forms of most regular words become the same; nothing more is needed."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


@lru_cache(maxsize=1 << 16)
def content_of(text: str) -> frozenset[str]:
    """The words that carry meaning, without endings; all words if a text has none that do."""
    words = frozenset(words_of(text)) - _SMALL_STEMS
    return words or frozenset(words_of(text))


_SMALL_STEMS = frozenset(map(_stem, _SMALL_WORDS.split()))


def has_small(words: frozenset[str]) -> bool:
    """Whether words without endings contain one that carries no meaning."""
    return not words.isdisjoint(_SMALL_STEMS)


@lru_cache(maxsize=1 << 14)
def sentences_of(text: str) -> tuple[str, ...]:
    """The sentences and lines of a text."""
    return tuple(piece for piece in _SENTENCE_END.split(text) if piece.strip())


def without_questions(text: str, stored: str) -> str:
    """A text without its questions, which state nothing; those that stand in what was stored are kept.

    >>> without_questions("Ada sings. Would she sing now?", "Ada sings.")
    'Ada sings.'
    """
    if "?" not in text:
        return text
    return " ".join(part for part in sentences_of(text) if not _QUESTION_END.search(part) or part in stored)


def stands_in(text: str, longer: str) -> bool:
    """Whether the words of a text occur in a longer one, one after another.

    >>> stands_in("tote bag", "He carries tote bags."), stands_in("tote bag", "a bag and a tote")
    (True, False)
    """
    return f" {' '.join(words_of(text))} " in f" {' '.join(words_of(longer))} "


def decision_of(answer: str) -> Literal["yes", "no"] | None:
    """The first yes or no that is a decision, after the last `Answer:` if there is one; None if there is no decision.

    The `no` of `no memory says so` is not a decision.

    >>> decision_of("No — she only sings at dawn."), decision_of("There is no hint. Answer: **Yes**"), decision_of("No idea")
    ('no', 'yes', None)
    """
    marks = list(_ANSWER_MARK.finditer(answer))
    for part in ([answer[marks[-1].end() :]] if marks else []) + [answer]:
        if match := _DECISION.search(part):
            return "yes" if match[1].lower() == "yes" else "no"
    return None


def abstains(answer: str) -> bool:
    """Whether an answer says somewhere that it does not know; an empty one does."""
    return not answer.strip() or _ABSTAINS.search(answer) is not None


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
    return [connective.lower() for connective in _CONNECTIVES.findall(text)]


def normalised(text: str) -> str:
    """Return the words in lower case, without punctuation."""
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def stands_literally_in(part: str, text: str) -> bool:
    """Return whether the words of `part` appear in `text` with their endings, in this order and without a gap."""
    return f" {normalised(part)} " in f" {normalised(text)} "


def overlaps(texts: Sequence[str]) -> tuple[float, int]:
    """Return the largest Jaccard index, 0 to 1, of the word trigrams of two texts, and how many pairs are near duplicates."""
    import numpy as np
    from scipy.sparse import csr_array

    words_by_text = [text.lower().split() for text in texts]
    trigrams = [set(zip(words, words[1:], words[2:], strict=False)) for words in words_by_text]
    numbers: dict[tuple[str, ...], int] = {}
    columns = [numbers.setdefault(trigram, len(numbers)) for of_text in trigrams for trigram in of_text]
    sizes = np.array([len(of_text) for of_text in trigrams])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    counts = csr_array((np.ones(len(columns), np.int32), columns, starts), shape=(len(texts), len(numbers)))
    largest, near = 0.0, 0
    for start in range(0, len(texts), 500):  # block by block, to limit the memory
        shared = (counts[start : start + 500] @ counts.T).toarray()
        joined = sizes[start : start + 500, None] + sizes[None, :] - shared
        later = np.arange(len(texts))[None, :] > np.arange(start, start + len(shared))[:, None]
        index = np.where(later, shared / np.maximum(joined, 1), 0.0)
        largest, near = max(largest, float(index.max())), near + int((index >= NEAR_DUPLICATE).sum())
    return largest, near
