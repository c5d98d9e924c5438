"""Fake events, which no chapter tells, so that questions about them have no answer (paper: Appendix B.2.3).

The text of the paper and the data that it published disagree on how they are made; both rules are here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from random import Random
from typing import Literal

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.tulving.questions.templates import CUE_LETTERS

Origin = Literal["book", "inner", "outer"]
EmptyRule = Literal["paper", "published"]
Values = tuple[str, ...]  # those of an event or of a cue, in the order t s e c

_Pools = Mapping[Origin, Mapping[str, Sequence[str]]]
_SEED = 2  # of the published code, for each of its three streams
_APART = 10_000_000  # between the seeds of two books, as for the events of the paper
_MOST_OUTER = 1000  # chapters; the published rule draws no outer events for a longer book


def fake_events(
    rows: Sequence[Values], unused: Mapping[str, Sequence[str]], *, rule: EmptyRule = "paper", seed: int = 0
) -> Iterator[tuple[Origin, Values]]:
    """Yield events of a book with some elements replaced, and where the new ones come from. Some may be real events.

    Inner ones take them from other chapters, outer ones from the values that no event uses. An element stays if there is
    no other value for it.

    Args:
        unused: For each of the letters t, s, e, c, the universe's values that no event uses.
        rule: `paper`, as the text says: each chapter gives an inner event and an outer one, and each element is replaced
            with probability 1/2. `published`, as in the published data: each chapter gives one event, which is inner or
            outer with probability 1/2, or inner in a book of more than 1,000 chapters, and one to four elements are
            replaced, each number being equally likely.
        seed: The seed of the draws. With 0, `published` makes the draws of the published books.

    Raises:
        BadInput: The rule is unknown.
    """
    if rule not in ("paper", "published"):
        raise BadInput(f"empty: expected paper or published, found {rule!r}")
    pools: _Pools = {
        "inner": {letter: sorted({row[i] for row in rows}) for i, letter in enumerate(CUE_LETTERS)},
        "outer": {letter: sorted(unused[letter]) for letter in CUE_LETTERS},
    }
    return _by_the_paper(rows, pools, seed) if rule == "paper" else _as_published(rows, pools, seed)


def _by_the_paper(rows: Sequence[Values], pools: _Pools, seed: int) -> Iterator[tuple[Origin, Values]]:
    for (number, row), origin in product(enumerate(rows), pools):
        draws = RandomStream("empty", seed, origin, number)
        event = []
        for value, pool in zip(row, pools[origin].values(), strict=True):
            replaced, unit = draws.unit() < 0.5, draws.unit()
            event.append(_other(value, pool, partial(_number_below, unit)) if replaced else value)
        yield origin, tuple(event)


def _number_below(unit: float, n: int) -> int:
    return int(unit * n)


def _as_published(rows: Sequence[Values], pools: _Pools, seed: int) -> Iterator[tuple[Origin, Values]]:
    """One event of each chapter, by the draws of Python's `random` that the published code makes."""
    order, masks, origins = (Random(_SEED + _APART * seed) for _ in range(3))
    choices: tuple[Origin, ...] = ("inner", "outer") if len(rows) <= _MOST_OUTER else ("inner",)
    for place in order.sample(range(len(rows)), len(rows)):
        n_replaced = masks.randint(1, len(CUE_LETTERS))
        replaced = masks.sample(CUE_LETTERS, n_replaced)
        origin = origins.choices(choices)[0]
        draws = Random(place + 1 + _APART * seed)
        event = [
            _other(value, pool, draws.randrange) if letter in replaced else value
            for value, (letter, pool) in zip(rows[place], pools[origin].items(), strict=True)
        ]
        yield origin, tuple(event)


def _other(value: str, pool: Sequence[str], draw: Callable[[int], int]) -> str:
    """Another value of a sorted pool, or the value itself if there is none; `draw` returns a number below another one."""
    at = bisect_left(pool, value)
    in_pool = at < len(pool) and pool[at] == value
    n_others = len(pool) - in_pool
    if not n_others:
        return value
    k = draw(n_others)
    return pool[k + (in_pool and k >= at)]
