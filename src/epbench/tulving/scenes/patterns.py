"""Sentences with choices: `The [host|woman at the microphone] reads out {thing}.`

A choice in brackets is drawn when a sentence is written, and may hold further choices; `[|very ]` may be empty. A name in
braces is a slot that the writer fills. `a` and `an` are put right afterwards, so authors need not care.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from epbench.draws import RandomStream
from epbench.errors import BadInput
from epbench.tulving.events.universe_files import NAMES, words_in

Part = str | tuple[str, str] | tuple["Pattern", ...]
Pattern = tuple[Part, ...]
"""Literal text, slots as `("slot", name)`, and choices as tuples of patterns."""

_TOKEN = re.compile(r"\[|\]|\||\{(\w+)\}|[^\[\]|{}]+|.", re.DOTALL)
_NEEDLESS_BLANKS = re.compile(r" (?=[ ,.;:!?])")
_ARTICLE = re.compile(r"([Aa])(?<!\w.)n? (?=[\"“]?(\w[\w'-]*))")  # faster than with `\b` at the beginning
_VOWELS = re.compile(r"[aeiou]|hour|honest|honou?r|heir")
_SPELLED = re.compile(r"[A-Z](?:[A-Z]+s?\b|-)")  # MRI, X-ray
_SPOKEN_AS_CONSONANTS = re.compile(r"uni(?!n|m)|us[eu]|ut[ei]|ubiq|ukulele|uran|eu|ew|one\b|once\b")


class Sentence:
    """A pattern that has been parsed, with the slots that it needs."""

    __slots__ = ("pattern", "slots", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.pattern = parse(text)
        self.slots = frozenset(re.findall(r"\{(\w+)\}", text))

    def write(self, draws: RandomStream, fill: Callable[[str], str]) -> str:
        """Return the text with drawn choices and filled slots, with a capital letter, and `a` or `an` as it must be."""
        return capitalised(self.write_phrase(draws, fill))

    def write_phrase(self, draws: RandomStream, fill: Callable[[str], str]) -> str:
        """Return the text as a part of a sentence: as `write`, without a capital letter of its own."""
        parts: list[str] = []
        _write(self.pattern, draws, fill, parts)
        return tidy("".join(parts))


def parse(text: str) -> Pattern:
    """Return the pattern of a text; BadInput if brackets or braces do not match."""
    stack: list[list[list[Part]]] = [[[]]]
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "[":
            stack.append([[]])
        elif token == "|" and len(stack) > 1:
            stack[-1].append([])
        elif token == "]" and len(stack) > 1:
            choices = stack.pop()
            stack[-1][-1].append(tuple(tuple(choice) for choice in choices))
        elif match[1]:
            stack[-1][-1].append(("slot", match[1]))
        elif token in "[]|{}":
            raise BadInput(f"expected brackets and braces in pairs, and | only within brackets, found {text!r}")
        else:
            stack[-1][-1].append(token)
    if len(stack) > 1:
        raise BadInput(f"expected brackets and braces in pairs, found {text!r}")
    return tuple(stack[0][0])


def _write(pattern: Pattern, draws: RandomStream, fill: Callable[[str], str], parts: list[str]) -> None:
    for part in pattern:
        if isinstance(part, str):
            parts.append(part)
        elif part[0] == "slot":
            parts.append(fill(part[1]))  # type: ignore[arg-type]
        else:
            _write(draws.pick(part), draws, fill, parts)  # type: ignore[arg-type]


def expansions(pattern: Pattern) -> int:
    """Return how many texts a pattern stands for; a slot counts as one."""
    n = 1
    for part in pattern:
        if not isinstance(part, str) and part[0] != "slot":
            n *= sum(expansions(choice) for choice in part)  # type: ignore[arg-type, misc]
    return n


def longest_literal(pattern: Pattern) -> int:
    """Return the number of words of the longest stretch without a choice or a slot, outside of choices."""
    return max((len(part.split()) for part in pattern if isinstance(part, str)), default=0)


def tidy(text: str) -> str:
    """Put `a` and `an` right, and take out needless blanks."""
    return with_right_articles(_NEEDLESS_BLANKS.sub("", text.strip()))


def with_right_articles(text: str) -> str:
    """Return a text with `a` before consonants and `an` before vowels, as they are spoken."""
    return _ARTICLE.sub(lambda match: match[1] + ("n " if begins_with_vowel(match[2]) else " "), text)


def capitalised(text: str) -> str:
    """Return a text whose first letter is a capital, also behind a quotation mark."""
    at = 1 if text[:1] in '"“' else 0
    return text[:at] + text[at : at + 1].upper() + text[at + 1 :]


# `New New York Aquarium` is a name with a qualifier, and `had had` and `that that` may be right.
_TWICE = re.compile(r"\b(\w++) (?=[a-z])(?i:\1)\b(?i:(?<!\bhad)(?<!\bthat))")


def has_doubled_word(text: str) -> bool:
    """Whether a word stands twice in a row where it should not."""
    return _TWICE.search(text) is not None


@cache
def begins_with_vowel(word: str) -> bool:
    """Whether a word is spoken with a vowel first: an hour, an umbrella, an X-ray; a uniform, a one-act play."""
    if _SPELLED.match(word):
        return word[0] in "AEFHILMNORSX"
    lowered = word.lower()
    return bool(_VOWELS.match(lowered)) and not _SPOKEN_AS_CONSONANTS.match(lowered)


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
