"""The sentences and phrases that tell facts by reference and beside what is not so, and those that mention things in passing.

They are `references.json`, `outcomes.json`, `contrasts_<tone>.json` and `asides_<universe>.json` of `data/tales`. Plans fill
their slots, and the solver reads them back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.files.json_files import read_typed
from epbench.tulving.events.universe import Universe
from epbench.tulving.scenes.patterns import Sentence, has_doubled_word
from epbench.tulving.scenes.scene_files import TALES, read_sentence

CONTRASTS: Mapping[str, str] = {"time": "when", "space": "where", "name": "name", "event": "event"}
"""The parts of `contrasts_<tone>.json`, and the slot for what is so; `instead` is what is not."""


@cache
def references_bank() -> Mapping[str, Sequence[str]]:
    """Return the sentences and phrases, and the words that names are made of, by what they are for."""
    banks = [read_typed(TALES / f"{name}.json", dict[str, list[str]]) for name in ("references", "outcomes")]
    return banks[0] | banks[1]


@cache
def patterns_of(part: str) -> Sequence[Sentence]:
    """Return the sentences or phrases of a part of the bank."""
    return [Sentence(text) for text in references_bank()[part]]


@cache
def contrasts_of(tone: str) -> Mapping[str, Sequence[Sentence]]:
    """Return the sentences of a tone (`gathering` or `emergency`) that tell what is so beside what is not, by their parts."""
    listed = read_typed(TALES / f"contrasts_{tone}.json", dict[str, list[str]])
    return {part: [Sentence(text) for text in listed[part]] for part in CONTRASTS}


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


MENTIONS = ("date", "space", "entity", "content")
FEWEST = 24


@cache
def asides_bank(universe: str) -> Mapping[str, Sequence[Sentence]]:
    """Return the sentences that mention something in passing, by what they mention.

    Universes that have none of their own share those of the default one.
    """
    path = TALES / f"asides_{universe}.json"
    path = path if path.is_file() else TALES / "asides.json"
    listed = read_typed(path, dict[str, list[str]])
    bank = {}
    for mention in MENTIONS:
        where = f"{path}, {mention}"
        sentences = [read_sentence(where, text, frozenset([mention])).sentence for text in listed[mention]]
        if len(sentences) < FEWEST or any(f"{{{mention}}}" not in sentence.text for sentence in sentences):
            raise BadInput(f"{where}: expected {FEWEST} sentences or more, each with the slot {{{mention}}}")
        bank[mention] = sentences
    return bank


def asides_of(universe: Universe) -> Mapping[str, Sequence[Sentence]]:
    """Return the sentences that mention something in passing in the books of a universe."""
    return asides_bank(asides_name(universe))


def asides_name(universe: Universe) -> str:
    """The name of the sentences that a universe has for what is mentioned in passing; "" for one of the user's own."""
    return "" if universe.files_hash else universe.name


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
