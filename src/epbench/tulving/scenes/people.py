"""The pronouns of main characters, by first name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from epbench.draws import RandomStream
from epbench.tulving.events.names import NAMES, words_in


@dataclass(frozen=True, slots=True)
class Pronouns:
    """The words for one person: `she`, `her`, `her`, `herself`."""

    subject: str
    object: str
    possessive: str
    reflexive: str


SHE = Pronouns("she", "her", "her", "herself")
HE = Pronouns("he", "him", "his", "himself")


@cache
def pronouns_of(first_name: str) -> Pronouns:
    """Return the pronouns of a first name; for a name that is not ours they are drawn, always the same for one name."""
    if first_name in words_in(NAMES / "she.txt"):
        return SHE
    if first_name in words_in(NAMES / "first.txt"):
        return HE
    return RandomStream("pronouns", first_name).pick([SHE, HE])
