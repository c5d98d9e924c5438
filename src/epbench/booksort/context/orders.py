"""Each pair asked both ways round: the segments as A and B, and again as B and A.

A model that prefers a label, whatever stands there, is right in one of the two askings and wrong in the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from epbench.booksort.context.retrieved import Retrieved
from epbench.booksort.dataset.load import Pair

SWAPPED = "/swapped"
"""Ends the id of the second asking of a pair."""


def both_orders(pairs: Iterable[Pair]) -> list[Pair]:
    """Every pair as it is, followed by the same pair with its segments shown the other way round."""
    return [asking for pair in pairs for asking in (pair, _swapped(pair))]


def found_for_both(found: Iterable[Retrieved]) -> list[Retrieved]:
    """What was retrieved for each pair, for both of its askings: they differ in nothing but the order."""
    return [copy for one in found for copy in (one, replace(one, id=one.id + SWAPPED))]


def first_asking(asking: str) -> str:
    """The id of the pair that an asking is about."""
    return asking.removesuffix(SWAPPED)


def is_swapped(asking: str) -> bool:
    """Whether this is the id of a second asking."""
    return asking.endswith(SWAPPED)


def _swapped(pair: Pair) -> Pair:
    return replace(pair, id=pair.id + SWAPPED, answer="B" if pair.answer == "A" else "A")
