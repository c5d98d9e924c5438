"""The questions of the calibration set: a template, a cue and true items of one universe, drawn at random."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from epbench.draws import RandomStream
from epbench.tulving.events.dates import from_words
from epbench.tulving.events.universe import as_texts, load_universe, secondary_names
from epbench.tulving.questions.templates import PUBLISHED_TEMPLATES, Get, Trace

SORTS: tuple[Trace, ...] = ("times", "spaces", "entities", "contents", "other_entities")
GETS: tuple[Get, ...] = ("all", "latest", "chronological")
# The element whose values a sort takes; other entities have a list of their own.
_LETTERS = dict(zip(SORTS, "tsec", strict=False))
_N_OTHERS = 3
_N_SIDE = 400  # side names to draw from; more would only take time
_SMALL_WORDS = frozenset(["of", "the", "de", "del"])


class CalibrationQuestion(NamedTuple):
    """A question with its true items."""

    trace: Trace
    get: Get
    question: str
    cue: str  # what the question gives, in words
    # The true items; empty where nothing matches. Dates of a chronological question are in their order.
    reference: tuple[str, ...]
    others: tuple[str, ...]  # three false items of the same sort that share no word and no month with the true ones


def ask(
    draws: RandomStream,
    *,
    sorts: Sequence[Trace] = SORTS,
    gets: Sequence[Get] = GETS,
    least: int = 1,
    most: int = 4,
    among: Container[str] | None = None,
) -> CalibrationQuestion:
    """Draw a question with `least` to `most` true items, taken only from `among` if given; one for the latest has at most one.

    Args:
        sorts: Sorts of items that the question may ask for.
        gets: Which of them it may ask for; `latest` is left out if `least` is 2 or more.
    """
    # Passports are valid for one calibration set, which must stay the same when templates are added.
    gets = [get for get in gets if get != "latest" or least < 2]
    templates = [template for template in PUBLISHED_TEMPLATES if template.trace in sorts and template.get in gets]
    trace = draws.pick(sorted({template.trace for template in templates}))
    get = draws.pick(sorted({template.get for template in templates if template.trace == trace}))
    template = draws.pick([template for template in templates if (template.trace, template.get) == (trace, get)])
    values = draws.pick([world for world in _worlds() if among is None or any(item in among for item in world[trace])])
    cue_values = {letter: draws.pick(values[sort]) for sort, letter in _LETTERS.items() if letter in template.cue}

    pool = draws.sample(values[trace], len(values[trace]))
    size = draws.between(least, most) if get != "latest" else min(1, most)
    reference = _apart([item for item in pool if among is None or item in among], [], size)
    others = _apart(pool, reference, _N_OTHERS)
    if trace == "times" and get == "chronological":
        reference.sort(key=from_words)
    question, cue = template.text.format_map(cue_values), _cue(cue_values)
    return CalibrationQuestion(trace, get, question, cue, tuple(reference), tuple(others))


_WORLDS = ("default", "news", "scifi")
"""The universes whose names the answers of a passport are about; another one would make stored passports worthless."""


@cache
def _worlds() -> list[dict[Trace, list[str]]]:
    """For every universe, the values of each sort."""
    side: dict[Trace, list[str]] = {"other_entities": list(islice(secondary_names(), _N_SIDE))}
    texts = [as_texts(load_universe(name)) for name in _WORLDS]
    return [{sort: of[letter] for sort, letter in _LETTERS.items()} | side for of in texts]


def _apart(pool: Sequence[str], taken: Sequence[str], size: int) -> list[str]:
    """The first items of the pool, at most `size`, that share nothing with one another or with those taken."""
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
    """What makes two items alike: the month of a date, or else the words, except the smallest."""
    try:
        day = from_words(item)
    except ValueError:
        return frozenset(item.casefold().split()) - _SMALL_WORDS
    return frozenset([f"{day.year}-{day.month}"])


def _cue(values: dict[str, str]) -> str:
    """The given values as one phrase: `Zoe Brown at the Dog Show at Bryant Park on May 07, 2024`."""
    words = {"e": "{}", "c": "at the {}", "s": "at {}", "t": "on {}"}
    phrase = " ".join(words[letter].format(values[letter]) for letter in words if letter in values)
    return phrase.removeprefix("at ").removeprefix("on ")
