"""Whether a memory says the opposite of what was stored: a turned negation, limit or order.

The sentence that states a fact is compared with the sentence of the memories that is most like it. Negations around the
words in question are counted: where one side has an odd number and the other an even one, the statement was turned. So
`not more than 4` agrees with `at most 4`, and `not unless` with `only if`. What rules cannot compare they leave open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from epbench.memfail.judging.word_rules import content_of, sentences_of, words_of

_CLAUSE_END = re.compile(r"[,;:()—–]|\s-\s|\b(?:because|which|although|though|whereas)\b")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_DENIED = re.compile(r"\b(?:(?:not|isn['’]t|never) (?:true|so|the case)|untrue|false|wrong) that\b")
_NEUTRAL = re.compile(r"\b(?:not only|not until|no matter|no doubt|without fail|why not|whether or not)\b")
_ANY_NOT = r"(?:no|not|never|none|nobody|nothing|cannot|rarely|seldom|\w+n['’]t)"
# `Nothing but tea` and `never unless it rains` are as good as `only`: the exception takes the negation back.
_TAKEN_BACK = (
    re.compile(rf"\b{_ANY_NOT}\b(.*?)\b(?:except|unless|other than|save for)\b"),
    re.compile(rf"\b{_ANY_NOT}\b([^,;]*?)\bbut\b"),
)
_NEGATIVE = """
no not never none nobody nothing nowhere neither nor cannot hardly rarely seldom scarcely without unless except refuse refuses
refused refusing avoid avoids avoided avoiding decline declines declined fail fails failed lack lacks lacked dislike dislikes
disliked hate hates hated"""
_NEGATIONS = frozenset(_NEGATIVE.split())
_AFTERWARDS = 3  # most words by which a negation may follow the words that it negates, as in `tea is not my thing`
_SIDES = {
    "before": re.compile(r"\b(?:before|prior to|ahead of)\b"),
    "after": re.compile(r"\b(?:after|following)\b"),
    "above": re.compile(r"\b(?:above|exceed\w*|(?:more|greater|higher|longer) than|at least|minimum|over(?=\s+\d))\b"),
    "below": re.compile(r"\b(?:below|(?:less|fewer|lower|shorter) than|at most|maximum|under(?=\s+\d))\b"),
}
_OPPOSITES = (("before", "after"), ("above", "below"))


@dataclass(frozen=True, slots=True)
class Sense:
    """In what sense a sentence speaks of some words.

    Attributes:
        negated: Whether it negates them, an odd number of times.
        sides: Which of before, after, above and below stand beside them.
    """

    negated: bool
    sides: frozenset[str]

    def opposes(self, other: Sense) -> bool:
        """Whether two sentences say the opposite of one another; two turns in one sentence cancel out."""
        turns = [self.negated != other.negated]
        for pair in _OPPOSITES:
            one, two = ([side for side in pair if side in sense.sides] for sense in (self, other))
            turns.append(len(one) == len(two) == 1 and one != two)
        return sum(turns) % 2 == 1


@lru_cache(maxsize=1 << 14)
def sense_of(sentence: str, words: frozenset[str], others: frozenset[str] = frozenset()) -> Sense:
    """In what sense a sentence speaks of some words; all words have lost their endings.

    A negation is about the next of the words in its clause, or else about the last one before it: in `she sings in drizzle,
    and nobody minds`, nothing negates the drizzle.

    Args:
        sentence: The sentence.
        words: The words in question.
        others: Other words of the same fact, which have negations of their own.
    """
    text = sentence.casefold()
    negations = len(_DENIED.findall(text))
    text = _NEUTRAL.sub(" ", _DENIED.sub(" ", text))
    for pattern in _TAKEN_BACK:
        text = pattern.sub(r" \1 ", text)
    sides: set[str] = set()
    for clause in _CLAUSE_END.split(text):
        tokens = [(match.start(), match[0]) for match in _WORD.finditer(clause)]
        stems = [frozenset(words_of(token)) for _, token in tokens]
        about = [i for i, stem in enumerate(stems) if stem & (words | others)]
        own = {i for i in about if stems[i] & words}
        negations += sum(_negates(token) and _target(i, about) in own for i, (_, token) in enumerate(tokens))
        for side, pattern in _SIDES.items():
            places = [sum(start < found.start() for start, _ in tokens) for found in pattern.finditer(clause)]
            sides |= {side for place in places if _target(place, about) in own}
    return Sense(negations % 2 == 1, frozenset(sides))


def _negates(token: str) -> bool:
    return token in _NEGATIONS or token.endswith(("n't", "n’t"))


def _target(negation: int, about: Sequence[int]) -> int | None:
    """The place of the word that a negation, or a `before`, is about."""
    following = [place for place in about if place > negation]
    before = [place for place in about if negation - _AFTERWARDS <= place <= negation]
    return following[0] if following else before[-1] if before else None


def turned(text: str, memories: Sequence[str], groups: Sequence[frozenset[str]]) -> bool | None:
    """Whether the memories turn around what a text says.

    Args:
        text: What was stored.
        memories: The memories of it.
        groups: The content words of each part of the fact, without endings; each part is compared by itself.

    Returns:
        None if no sentence of the memories is like the one of the text that has most of the words of a part.
    """
    told = [sentence for memory in memories for sentence in sentences_of(memory)]
    every = frozenset(word for group in groups for word in group)
    verdicts = [
        _is_turned(sentence, told, group & content_of(sentence), every - group)
        for group in groups
        for sentence in _most(sentences_of(text), group)
    ]
    return True if True in verdicts else None if None in verdicts else False


def _is_turned(sentence: str, told: Sequence[str], words: frozenset[str], others: frozenset[str]) -> bool | None:
    alike = [one for one in _most(told, words) if 2 * len(words & content_of(one)) >= len(words)]
    nearest = _most(alike, content_of(sentence))
    if not nearest:
        return None
    return all(
        sense_of(one, words & content_of(one), others).opposes(sense_of(sentence, words & content_of(one), others))
        for one in nearest
    )


def _most(sentences: Sequence[str], words: frozenset[str]) -> list[str]:
    """The sentences with most of some words; none if no sentence has any."""
    most = max((len(words & content_of(sentence)) for sentence in sentences), default=0)
    return [sentence for sentence in sentences if most and len(words & content_of(sentence)) == most]
