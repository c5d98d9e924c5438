"""How widely the words of a book are spread.

Of several sentences, and of the choices in each, those are taken whose runs of four words the book has had least, and no run of
eight words shall occur in more than a few chapters.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import takewhile
from operator import itemgetter
from typing import NamedTuple

from epbench.draws import RandomStream
from epbench.tulving.scenes.patterns import Pattern, Sentence, capitalised, has_doubled_word, tidy

GRAM, RUN = 4, 8  # words
_WORD = re.compile(r"[\w'’\x02-\x05]+")  # with the marks that stand for the main character
_TRIES = 8  # to write a sentence without a word that stands twice in a row
_BITS = 20
_THREE_WORDS = (1 << _BITS * (GRAM - 1)) - 1
CANDIDATES, MOST_CANDIDATES = 3_800, 30
"""For how many sentences of each kind a book has candidates, and how many a sentence has at most: in a book of thousands of
chapters no choice stays fresh, and the words are drawn."""
MOST_CHAPTERS = 0.03
"""The largest share of chapters that may have the same run of words."""


_NUMBERS: dict[str, int] = {"an": 1, "a": 1}
"""The number of each word that has occurred; only which words are equal matters."""


def _numbers_of(text: str) -> list[int]:
    return [_NUMBERS.setdefault(word, len(_NUMBERS)) for word in _WORD.findall(text.lower())]


_numbers_of_slot = lru_cache(10_000)(_numbers_of)


class _Choice(NamedTuple):
    """One of several choices: its pattern, and the numbers of the words from there to the next slot or choice."""

    steps: Sequence[_Step]
    numbers: Sequence[int]


_Step = tuple[str, Sequence[int]] | str | list[_Choice]
"""A literal text with the numbers of its words, a slot by its name, or choices."""


@cache
def _steps_of(sentence: Sentence) -> Sequence[_Step]:
    return _steps(sentence.pattern)


def _steps(pattern: Pattern) -> Sequence[_Step]:
    """The steps of a pattern, the last one first."""
    steps: list[_Step] = []
    for at, part in enumerate(pattern):
        if isinstance(part, str):
            steps.append((part, _numbers_of(part)))
        elif part[0] == "slot":
            steps.append(part[1])  # type: ignore[arg-type]
        else:
            texts = [takewhile(lambda part: isinstance(part, str), (*choice, *pattern[at + 1 :])) for choice in part]
            openings = [_numbers_of("".join(text)) for text in texts]  # type: ignore[arg-type]
            steps.append([_Choice(_steps(choice), numbers) for choice, numbers in zip(part, openings, strict=True)])  # type: ignore[arg-type]
    return steps[::-1]


_BEGINNING = re.compile(r"[.!?] [a-z]")


class Draft(NamedTuple):
    """A text that is not written out yet: its parts, and the numbers of its words."""

    parts: list[str]
    numbers: list[int]

    def text(self) -> str:
        """Return the text, as `Sentence.write`, with a capital letter behind each full stop, too."""
        return _BEGINNING.sub(lambda match: match[0].upper(), capitalised(tidy("".join(self.parts))))


class Spread:
    """Counts the runs of four words in the sentences of a book, so that each new sentence is written in fresh words.

    A run is a number: those of its words, which count up as they occur, one behind the other.
    """

    def __init__(self, n_chapters: int) -> None:
        """Start to count for a book of so many chapters."""
        self._most = max(1, int(MOST_CHAPTERS * n_chapters))
        self._candidates = max(1, min(MOST_CANDIDATES, CANDIDATES // max(1, n_chapters)))
        self._seen = Counter[int]()
        self._frequent: set[int] = set()

    def allows(self, sentence: str) -> bool:
        """Whether the book can have a sentence: not if eight words in a row consist of runs that are too frequent."""
        return not self._frequent or sentence.count(" ") < RUN - 1 or self._allows(_runs(_numbers_of(sentence)))

    def _allows(self, runs: Sequence[int]) -> bool:
        if self._frequent.isdisjoint(runs):
            return True
        frequent = 0
        for run in runs:
            frequent = frequent + 1 if run in self._frequent else 0
            if frequent > RUN - GRAM:
                return False
        return True

    def add(self, sentence: str) -> None:
        """Count a sentence that the book has."""
        self._add(_runs(_numbers_of(sentence)))

    def _add(self, runs: Sequence[int]) -> None:
        self._seen.update(runs)
        self._frequent.update(run for run in runs if self._seen[run] >= self._most)

    def freshest(
        self, pool: list[Sentence], fill: Callable[[str], str], draws: RandomStream, *, unsaid: str = ""
    ) -> str | None:
        """Take a sentence from a pool and return its text, which is counted: of several, the one with the fewest known runs.

        Sentences that cannot be used are taken out of the pool, too, such as those that say `unsaid`, in small letters;
        None if no other is left.
        """
        while pool:
            drawn = sorted({draws.index(len(pool)) for _ in range(self._candidates)}, reverse=True)
            drafts = []
            for at in drawn:
                drafted = self.draft(pool[at], draws, fill)
                runs = _runs(drafted.numbers)
                known = sum(map(self._seen.__contains__, runs)) / max(1, len(runs)) if len(drawn) > 1 else 0.0
                drafts.append((known, at, drafted, runs))
            for _, at, drafted, runs in sorted(drafts, key=itemgetter(0)):
                text = drafted.text()
                if self._allows(runs) and not has_doubled_word(text) and not (unsaid and unsaid in text.lower()):
                    pool[at] = pool[-1]
                    pool.pop()
                    self._add(runs)
                    return text
            for at in drawn:
                del pool[at]
        return None

    def draft(self, sentence: Sentence, draws: RandomStream, fill: Callable[[str], str]) -> Draft:
        """Draft a text of a sentence; each choice is the one whose runs of words the book has had least, with what follows."""
        parts, numbers, todo = list[str](), list[int](), [*_steps_of(sentence)]
        while todo:
            step = todo.pop()
            if isinstance(step, tuple):
                parts.append(step[0])
                numbers += step[1]
            elif isinstance(step, list):
                todo += self._freshest(step, draws, numbers) if self._candidates > 1 else draws.pick(step).steps
            else:
                text = fill(step)
                parts.append(text)
                numbers += _numbers_of_slot(text)
        return Draft(parts, numbers)

    def _freshest(self, choices: Sequence[_Choice], draws: RandomStream, numbers: Sequence[int]) -> Sequence[_Step]:
        """The choice behind some words whose runs the book has had least; of several, one that is drawn."""
        start, seen, before = draws.index(len(choices)), self._seen, 0
        for number in numbers[1 - GRAM :]:
            before = before << _BITS | number
        best, fewest = choices[start].steps, sys.maxsize
        for at in range(start, start - len(choices), -1):
            run, known = before, 0
            for number in choices[at].numbers:
                run = (run & _THREE_WORDS) << _BITS | number
                known += seen.get(run, 0)
                if known >= fewest:
                    break
            else:
                best, fewest = choices[at].steps, known
                if not known:
                    break
        return best


def _runs(numbers: Sequence[int]) -> Sequence[int]:
    run, runs = 0, []
    for number in numbers:
        run = (run & _THREE_WORDS) << _BITS | number
        runs.append(run)
    return runs[GRAM - 1 :]


def write_freshly(patterns: Sequence[Sentence], known: Mapping[str, str], spread: Spread, draws: RandomStream) -> str:
    """Return and count a sentence of a pattern, filled from `known`, whose words are not too frequent yet, if there is one."""
    fill = known.__getitem__
    fresh = spread.freshest(list(patterns), fill, draws)
    if fresh is not None:
        return fresh
    for _ in range(_TRIES):
        sentence = draws.pick(patterns).write(draws, fill)
        if not has_doubled_word(sentence):
            break
    spread.add(sentence)
    return sentence
