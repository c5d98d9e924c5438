"""The questions of made answers: a template, a cue and true items of one universe, drawn at random."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cache
from typing import NamedTuple

from epbench.draws import RandomStream
from epbench.tulving.events.dates import from_words
from epbench.tulving.events.universe import as_texts, load_universe, secondary_names
from epbench.tulving.events.universe_files import universe_names
from epbench.tulving.questions.templates import TEMPLATES, Get, Trace

SORTS: tuple[Trace, ...] = ("times", "spaces", "entities", "contents", "other_entities")
GETS: tuple[Get, ...] = ("all", "latest", "chronological")
_LETTERS = dict(zip(SORTS, "tsec", strict=False))  # whose values a sort takes; other entities have a list of their own
_N_OTHERS = 3
_N_SIDE = 400  # side names to draw from; any more would only take time
_SMALL_WORDS = frozenset(["of", "the", "de", "del"])


class MadeQuestion(NamedTuple):
    """A question with its true items.

    Attributes:
        trace, get, question: as in the dataset.
        cue: what the question gives, in words.
        truth: the true items; none where nothing matches. Dates of a chronological question stand in their order.
        others: three false items of the same sort that share no word and no month with the true ones.
    """

    trace: Trace
    get: Get
    question: str
    cue: str
    truth: tuple[str, ...]
    others: tuple[str, ...]


def ask(
    draws: RandomStream,
    *,
    sorts: Sequence[Trace] = SORTS,
    gets: Sequence[Get] = GETS,
    least: int = 1,
    most: int = 4,
    among: Container[str] | None = None,
) -> MadeQuestion:
    """Draw a question.

    Args:
        draws: the stream to draw from.
        sorts: of the asked items.
        gets: all, latest, chronological; latest is left out where two or more items are wanted.
        least, most: number of true items; one where the latest is asked for, unless most is 0.
        among: if given, true items are taken from it alone.
    """
    templates = [t for t in TEMPLATES if t.trace in sorts and t.get in gets and (t.get != "latest" or least < 2)]
    trace = draws.pick(sorted({template.trace for template in templates}))
    get = draws.pick(sorted({template.get for template in templates if template.trace == trace}))
    template = draws.pick([template for template in templates if (template.trace, template.get) == (trace, get)])
    values = draws.pick([world for world in _worlds() if among is None or any(item in among for item in world[trace])])
    given = {letter: draws.pick(values[sort]) for sort, letter in _LETTERS.items() if letter in template.cue}

    pool = draws.sample(values[trace], len(values[trace]))
    size = draws.between(least, most) if get != "latest" else min(1, most)
    truth = _apart([item for item in pool if among is None or item in among], [], size)
    others = _apart(pool, truth, _N_OTHERS)
    if trace == "times" and get == "chronological":
        truth.sort(key=from_words)
    return MadeQuestion(trace, get, template.text.format_map(given), _cue(given), tuple(truth), tuple(others))


@cache
def _worlds() -> list[dict[Trace, list[str]]]:
    """Of every universe, what there is of each sort."""
    side = secondary_names()[:_N_SIDE]
    worlds = []
    for name in universe_names():
        texts = as_texts(load_universe(name))
        worlds.append({sort: texts[letter] for sort, letter in _LETTERS.items()} | {"other_entities": side})
    return worlds


def _apart(pool: Sequence[str], taken: Sequence[str], size: int) -> list[str]:
    """The first items of the pool, up to `size`, that share nothing with each other and with those taken."""
    used = {word for item in taken for word in _words(item)}
    chosen: list[str] = []
    for item in pool:
        if len(chosen) == size:
            break
        if used.isdisjoint(words := _words(item)):
            chosen.append(item)
            used |= words
    return chosen


@cache
def _words(item: str) -> frozenset[str]:
    """What makes two items alike: the month of a date, else the words, but for the smallest."""
    try:
        day = from_words(item)
    except ValueError:
        return frozenset(item.casefold().split()) - _SMALL_WORDS
    return frozenset([f"{day.year}-{day.month}"])


def _cue(given: dict[str, str]) -> str:
    """The given values as one phrase: `Zoe Brown at the Dog Show at Bryant Park on May 07, 2024`."""
    words = {"e": "{}", "c": "at the {}", "s": "at {}", "t": "on {}"}
    phrase = " ".join(words[letter].format(given[letter]) for letter in words if letter in given)
    return phrase.removeprefix("at ").removeprefix("on ")
