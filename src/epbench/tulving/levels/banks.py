"""The sentences and phrases that tell facts by reference and beside what is not so, and those that mention things in passing.

They are `references.json`, `outcomes.json`, `contrasts_<tone>.json` and `asides_<universe>.json` of `data/tales`. Plans fill
their slots, and the solver reads them back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product

from epbench.draws import RandomStream
from epbench.tulving.events.universe import Universe
from epbench.tulving.scenes.patterns import Sentence, has_doubled_word
from epbench.tulving.scenes.scene_files import tales

CONTRASTS: Mapping[str, str] = {"time": "when", "space": "where", "name": "name", "event": "event"}
"""The parts of `contrasts_<tone>.json`, and the slot for what is so; `instead` is what is not."""


@cache
def references_bank() -> Mapping[str, Sequence[str]]:
    """Return the sentences and phrases, and the words that names are made of, by what they are for."""
    return {**tales("references"), **tales("outcomes")}


@cache
def patterns_of(part: str) -> Sequence[Sentence]:
    """Return the sentences or phrases of a part of the bank."""
    return [Sentence(text) for text in references_bank()[part]]


@cache
def sentences_in(name: str) -> Mapping[str, Sequence[Sentence]]:
    """Return the sentences of `contrasts_<tone>` or of what `asides_name` returns, by their parts."""
    return {part: [Sentence(text) for text in texts] for part, texts in tales(name).items()}


def asides_name(universe: Universe) -> str:
    """Return the name of the file of what is mentioned in passing; a universe of the user's own shares that of `default`."""
    return "asides" if universe.files_hash or universe.name == "default" else f"asides_{universe.name}"


def phrase(part: str, known: Mapping[str, str], draws: RandomStream) -> str:
    """Return a phrase of a part of the bank with filled slots, without a word that stands twice in a row if there is one."""
    for _ in range(4):
        words = draws.pick(patterns_of(part)).write_phrase(draws, known.__getitem__)
        if not has_doubled_word(words):
            break
    return words


def combined(form: str, parts: Sequence[str], draws: RandomStream) -> Iterator[str]:
    """Yield all combinations of the words of some parts in random order."""
    words = list(product(*(references_bank()[part] for part in parts)))
    for chosen in draws.one_by_one(words):
        yield form.format(*chosen)


_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen
""".split()
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_BELOW_100 = (*_ONES, *(f"{tens}-{ones}".removesuffix("-zero") for tens in _TENS for ones in _ONES[:10]))
IN_LETTERS = (
    *_BELOW_100,
    *(f"{n} hundred and {rest}".removesuffix(" and zero") for n in ("one", "two", "three") for rest in _BELOW_100),
)
"""The numbers from 0 to 399."""
_FROM_1_TO_99 = rf"(?:(?:{'|'.join(_TENS)})(?:-(?:{'|'.join(_ONES[1:10])}))?|{'|'.join(_ONES[:0:-1])})"
NUMBER_IN_LETTERS = rf"(?:(?:one|two|three) hundred(?: and {_FROM_1_TO_99})?|{_FROM_1_TO_99}|zero)"
"""A regular expression of these."""
NTH = ("first", "second", "third", "fourth")
