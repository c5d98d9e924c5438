"""The memories of a store as rules compare them with what was stored: found by their words, and read for what they alter.

A store of n memories is judged about some n facts. Reading every memory for every fact takes n² steps; the index makes it
about n, because the rarest word of a fact is in few memories.

A memory may say something else than what was stored: a turned negation, limit, order or link, or a lost number. The sentence
that states a fact is compared with the sentence of the memories that is most like it. Negations around the words in question are
counted: where one side has an odd number and the other an even one, the statement was turned. So `not more than 4` agrees with
`at most 4`, and `not unless` with `only if`. The ends of a link have a direction: `A makes me B` and `I B because of A` say the
same, `B makes me A` does not. What rules cannot compare they leave open.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from epbench.memfail.dataset.word_rules import SMALL_STEMS, WORD, content_of, sentences_of, words_of


class Memories(tuple[str, ...]):
    """All memories of a store, with what many checks share: a hash, and an index by word. Equal to a plain tuple of them."""

    _whole: Memories | None = None
    _out = frozenset[int]()

    def without(self, *places: int) -> Memories:
        """The same memories but some, by their places from 0; the index is that of the whole store."""
        out = frozenset(places)
        rest = Memories(memory for place, memory in enumerate(self) if place not in out)
        rest._whole, rest._out = self, out
        return rest

    @cached_property
    def digest(self) -> str:
        """Hash of the texts in their order."""
        whole = self if self._whole is None else self._whole
        texts = [text for place, text in enumerate(whole._as_json) if place not in self._out]
        return hashlib.sha256(f"[{', '.join(texts)}]".encode()).hexdigest()

    def number_with(self, word: str) -> int:
        """How many memories have a word among those that carry meaning."""
        if self._whole is None:
            return len(self._places_by_word.get(word, ()))
        return self._whole.number_with(word) - sum(word in content_of(self._whole[place]) for place in self._out)

    def with_any(self, words: Iterable[str]) -> list[str]:
        """The memories that have one of these words, in their order."""
        whole = self if self._whole is None else self._whole
        places = {place for word in words for place in whole._places_by_word.get(word, ())}
        return [whole[place] for place in sorted(places - self._out)]

    def candidates(self, groups: Iterable[frozenset[str]], share: float) -> Sequence[str]:
        """The memories that may have that share of the words of every group: all that do, in their order, and some others."""
        rarest = []  # of each group so many words that a memory without any of them has less than the share
        for words in (words for words in groups if words and words.isdisjoint(SMALL_STEMS)):
            by_number = sorted(words, key=lambda word: (self.number_with(word), word))
            rarest.append(by_number[: int(len(words) * (1 - share)) + 1])
        return self.with_any(min(rarest, key=lambda some: sum(map(self.number_with, some)))) if rarest else self

    @cached_property
    def shown(self) -> dict[str, str]:
        """What prompts make of all memories, by the frame around them."""
        return {}

    @cached_property
    def _as_json(self) -> list[str]:
        return [json.dumps(text) for text in self]

    @cached_property
    def _places_by_word(self) -> Mapping[str, Sequence[int]]:
        """The places of the memories that have each word."""
        having: dict[str, list[int]] = defaultdict(list)
        for place, memory in enumerate(self):
            for word in content_of(memory):
                having[word].append(place)
        return dict(having)


def memories_of(texts: tuple[str, ...]) -> Memories:
    """These memories with what checks share, which is made once for equal texts."""
    return texts if isinstance(texts, Memories) else _shared(texts)


_shared = lru_cache(maxsize=256)(Memories)


_CLAUSE_END = re.compile(r"[,;:()—–]|\s-\s|\b(?:because|which|although|though|whereas)\b")
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
    """In what sense a sentence speaks of some words."""

    negated: bool  # whether it negates them, an odd number of times
    sides: frozenset[str]  # which of before, after, above and below stand beside them

    def opposes(self, other: Sense) -> bool:
        """Whether two sentences say the opposite of one another; two turns in one sentence cancel out."""
        turns = [self.negated != other.negated]
        for pair in _OPPOSITES:
            first, second = ([side for side in pair if side in sense.sides] for sense in (self, other))
            turns.append(len(first) == len(second) == 1 and first != second)
        return sum(turns) % 2 == 1


@lru_cache(maxsize=1 << 14)
def sense_of(sentence: str, words: frozenset[str], others: frozenset[str] = frozenset()) -> Sense:
    """In what sense a sentence speaks of some words; all words have lost their endings.

    A negation is about the next of the words in its clause, or else about the last one before it: in `she sings in drizzle,
    and nobody minds`, nothing negates the drizzle. Other words of the same fact have negations of their own.
    """
    text = sentence.casefold()
    negations = len(_DENIED.findall(text))
    text = _NEUTRAL.sub(" ", _DENIED.sub(" ", text))
    for pattern in _TAKEN_BACK:
        text = pattern.sub(r" \1 ", text)
    sides: set[str] = set()
    for clause in _CLAUSE_END.split(text):
        tokens = [(match.start(), match[0]) for match in WORD.finditer(clause)]
        stems = [frozenset(words_of(token)) for _, token in tokens]
        about = [i for i, stem in enumerate(stems) if stem & (words | others)]
        targets = {i for i in about if stems[i] & words}
        for i, (_, token) in enumerate(tokens):
            negates = token in _NEGATIONS or token.endswith(("n't", "n’t"))
            negations += negates and _target(i, about) in targets
        for side, pattern in _SIDES.items():
            places = [sum(start < match.start() for start, _ in tokens) for match in pattern.finditer(clause)]
            sides |= {side for place in places if _target(place, about) in targets}
    return Sense(negations % 2 == 1, frozenset(sides))


def _target(negation: int, about: Sequence[int]) -> int | None:
    """The place of the word that a negation, or a `before`, is about."""
    following = [place for place in about if place > negation]
    before = [place for place in about if negation - _AFTERWARDS <= place <= negation]
    return following[0] if following else before[-1] if before else None


def turned(text: str, memories: Sequence[str], groups: Sequence[frozenset[str]]) -> bool | None:
    """Whether the memories turn around what was stored; each part of the fact is compared by itself, by its content words.

    None if no sentence of the memories is like the one of the text that has most of the words of a part.
    """
    sentences = [sentence for memory in memories for sentence in sentences_of(memory)]
    every = frozenset(word for group in groups for word in group)
    verdicts = [
        _is_turned(sentence, sentences, group & content_of(sentence), every - group)
        for group in groups
        for sentence in _sharing_most(sentences_of(text), group)
    ]
    return True if True in verdicts else None if None in verdicts else False


def _is_turned(sentence: str, sentences: Sequence[str], words: frozenset[str], others: frozenset[str]) -> bool | None:
    shared = {candidate: words & content_of(candidate) for candidate in _sharing_most(sentences, words)}
    alike = [candidate for candidate, common in shared.items() if 2 * len(common) >= len(words)]
    nearest = [(candidate, shared[candidate]) for candidate in _sharing_most(alike, content_of(sentence))]
    opposed = [sense_of(near, both, others).opposes(sense_of(sentence, both, others)) for near, both in nearest]
    return all(opposed) if nearest else None


def _sharing_most(sentences: Sequence[str], words: frozenset[str]) -> list[str]:
    """The sentences with most of some words; none if no sentence has any."""
    most = max((len(words & content_of(sentence)) for sentence in sentences), default=0)
    return [sentence for sentence in sentences if most and len(words & content_of(sentence)) == most]


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
    `is caused by`, or a `before` stands in front of both. None if one of both is not in the text, or has no word of its own.

    >>> leads_on("tea", "sleep", "Tea makes me sleep."), leads_on("tea", "sleep", "I sleep because I had tea.")
    (True, True)
    """
    folded = text.casefold()
    ends = (content_of(first) - content_of(last), content_of(last) - content_of(first))
    tokens = [(frozenset(words_of(match[0])), match.span()) for match in WORD.finditer(folded)]
    first_span, last_span = (_span_of(end, tokens) for end in ends)
    if first_span is None or last_span is None:
        return None
    earlier, later = sorted((first_span, last_span))
    between, front = folded[earlier[1] : later[0]], folded[: earlier[0]]
    backward = (_BACKWARD.search(between) is not None) != (_BEFORE.search(front) is not None)
    return (first_span < last_span) != backward


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


_SMALL = "two three four five six seven eight nine ten eleven twelve".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_NUMBERS = {word: str(n) for n, word in [*enumerate(_SMALL, 2), *zip(range(20, 100, 10), _TENS, strict=True)]}
_SPELLED = {number: words_of(word) for word, number in _NUMBERS.items()}


def lost_numbers(detail: str, text: str, memories: Sequence[str], words: frozenset[str]) -> list[str]:
    """The numbers of a detail that stand in what was stored, but in no sentence of the memories about the same words."""
    sentences = [sentence for memory in memories for sentence in sentences_of(memory)]
    near = [sentence for sentence in sentences if words & content_of(sentence)] or sentences
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
