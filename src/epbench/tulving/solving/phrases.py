"""The wording of sentences and references as regular expressions, from the banks in which writers find them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache

from epbench.tulving.levels.asides import MENTIONS, asides_bank
from epbench.tulving.levels.numbers import NUMBERS
from epbench.tulving.levels.outcomes import outcome_patterns, outcomes_bank
from epbench.tulving.levels.references import patterns_of
from epbench.tulving.scenes.patterns import Pattern, Sentence, parse

_NAME = r"[A-Z][\w’'-]*"
_PERSON = rf"(?:the |The )?{_NAME}"
_SLOTS: Mapping[str, str] = {
    "hero": _PERSON,
    "who": rf"(?:{_PERSON}|she|he|She|He)",
    "him": "(?:her|him)",
    "his": "(?:her|his)",
    "himself": "(?:herself|himself)",
    "entity": rf"{_NAME} {_NAME}",
    "nickname": rf"[Tt]he {_NAME} {_NAME}",
    "group": rf"[Tt]he [a-z -]+ of {_NAME} {_NAME}",
    "date": r"[\w,-]+(?: [\w,-]+){0,6}?",
    "space": r"[A-Z][\w.’' -]*?",
    "content": r"[A-Z][\w’' -]*?",
    "n": rf"\b(?i:{'|'.join(sorted(NUMBERS, key=len, reverse=True))})",
    "side": "after|before",
    "weekday": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday",
    "anchor": ".+",
    "where": r"(?i:at|in|on) .+?",
    "object": r"[Tt]he [a-z -]+? with(?: a| two) [a-z -]+?",
    "witness": _NAME,
    "trusted": _NAME,
    "doubted": _NAME,
}


def expression(sentence: Sentence) -> str:
    """Return a regular expression for everything that a pattern can become; `said` finds what stands in a slot."""
    return _expression(parse(sentence.text), Counter())


def said(match: re.Match[str], slot: str) -> str:
    """Return the words in a slot, which may stand in several choices."""
    return next(words for group, words in match.groupdict().items() if words and group.partition("__")[0] == slot)


def _expression(pattern: Pattern, named: Counter[str]) -> str:
    parts = []
    for part in pattern:
        if isinstance(part, str):
            literal = re.sub(r"\\ +", " ", re.escape(part))
            literal = re.sub(r"\b([Aa])(?= |$)", r"\1n?", literal)
            parts.append(f"(?i:{literal})" if literal.strip() else literal)
        elif part[0] == "slot":
            slot = part[1]
            assert isinstance(slot, str)
            parts.append(f"(?P<{slot}__{named[slot]}>{_SLOTS[slot]})")
            named[slot] += 1
        else:
            parts.append("(?:" + "|".join(_expression(choice, named) for choice in part) + ")")  # type: ignore[arg-type]
    return "".join(parts)


@cache
def asides() -> Mapping[str, Sequence[re.Pattern[str]]]:
    """Return what asides look like as whole sentences, by what they mention."""
    return {mention: [re.compile(expression(told.sentence)) for told in asides_bank()[mention]] for mention in MENTIONS}


@cache
def sentences(part: str) -> Sequence[re.Pattern[str]]:
    """Return what the sentences or phrases of a part of the bank of references, or of that of outcomes, look like."""
    patterns = outcome_patterns(part) if part in outcomes_bank() else patterns_of(part)
    return [re.compile(expression(pattern)) for pattern in patterns]
