"""Ask every pair in both orders: first with its segments as A and B, then as B and A.

A model that prefers one label, whatever the segments are, is right in one of the two orders and wrong in the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from epbench.booksort.answers.pair_ids import SWAPPED
from epbench.booksort.context.retrieved import Retrieved
from epbench.booksort.dataset.load import Pair


def both_orders(pairs: Iterable[Pair]) -> list[Pair]:
    """Return every pair as it is, followed by the same pair with its segments swapped."""
    return [ordered for pair in pairs for ordered in (pair, _swapped(pair))]


def found_for_both(found: Iterable[Retrieved]) -> list[Retrieved]:
    """Return the passages of each pair for both orders, which differ in nothing else."""
    return [copy for one in found for copy in (one, replace(one, id=one.id + SWAPPED))]


def _swapped(pair: Pair) -> Pair:
    return replace(pair, id=pair.id + SWAPPED, answer="B" if pair.answer == "A" else "A")
