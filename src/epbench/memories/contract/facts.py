"""Made-up facts, as many as wanted, each about a person whose name stands in no other."""

from __future__ import annotations

from datetime import datetime, timedelta

from epbench.memories.protocol import Conversation

_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_NAMES = len(_SYLLABLES) ** 3
_STEP = 104_729  # a prime: names of neighbouring numbers are unlike, and no two numbers have the same name
_THINGS = ("stamps", "shells", "old maps", "buttons", "clocks", "feathers", "kites", "teapots", "coins", "masks")
_START = datetime(2025, 1, 1, 9)


def name(number: int) -> str:
    """The name of a person; names have six letters, so that none is part of another."""
    rest, letters = number * _STEP % _NAMES, ""
    for _ in range(3):
        rest, syllable = divmod(rest, len(_SYLLABLES))
        letters += _SYLLABLES[syllable]
    return letters.capitalize()


def fact(number: int) -> str:
    """What there is to know about a person."""
    return f"My friend {name(number)} collects {_THINGS[number % len(_THINGS)]}."


def question(number: int) -> str:
    """A question that the fact of this number answers."""
    return f"What does my friend {name(number)} collect?"


def conversation(text: str, minute: int) -> Conversation:
    """A conversation in which the user says this; each minute is another time."""
    said, answered = (_START + timedelta(minutes=minute, seconds=seconds) for seconds in (0, 20))
    return [
        {"role": "user", "content": text, "timestamp": said.isoformat()},
        {"role": "assistant", "content": "Thank you for telling me.", "timestamp": answered.isoformat()},
    ]


def mentions(memories: list[str], word: str) -> list[str]:
    """The memories in which a word stands, in capitals or not."""
    return [memory for memory in memories if word.casefold() in memory.casefold()]
