"""The ids of questions about one pair: a pair may be asked in both orders of its segments."""

from __future__ import annotations

SWAPPED = "/swapped"
"""Suffix of a pair's id when the pair is asked in the swapped order."""


def pair_id(id_: str) -> str:
    """Return the id of the pair, whichever order a question asks it in."""
    return id_.removesuffix(SWAPPED)


def is_swapped(id_: str) -> bool:
    """Return whether this is the id of a pair in the swapped order."""
    return id_.endswith(SWAPPED)
