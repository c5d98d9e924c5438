"""Read A or B from the text of an answer, as endpoints cannot be made to begin their answers with "Answer: Segment".

Paper: Section 3.1.
"""

from __future__ import annotations

import re
from typing import Literal

Label = Literal["A", "B"]

_BEFORE = r"[\s*_\"'“”‘’`(\[]*"  # what may stand between "Segment" and its label
_CLOSED = r"(?= [\s*_\"'”’`)\].,;:!?]* $ | [*_\"'”’`)\].,;:!?/] )"
_VERB = (
    r"(?:is|was|came|comes|appear(?:s|ed)?|occur(?:s|red)?|happen(?:s|ed)?|stands?|stood|preced(?:es|ed)|goes|went|"
    r"first|earlier|before|after|because|since|as|and|or|nor|would|should|must)\b"
)
_NAMED = re.compile(
    rf""" \b (?i:segments?) {_BEFORE} ([AB]) (?!\w)
        | \b (?i:segment) {_BEFORE} ([ab]) (?: {_CLOSED} | (?= \s+ {_VERB} ) )
        | (?<![\w'’]) (B) (?![\w'’])
        | (?<![\w'’]) (A) (?: {_CLOSED} | (?= \s+ {_VERB} ) )""",
    re.VERBOSE,
)
_ALONE = re.compile(r"[\W_]*(?:segment[\W_]+)?([ab])[\W_]*", re.IGNORECASE)
_DENIED = re.compile(rf"\b(?:not|rather than|instead of)\s+(?:segment\s+)?{_BEFORE}[AB](?!\w)", re.IGNORECASE)
_CUT_OFF = re.compile(r"\0[AB]\W*(?:and|or)?\W*(?:\0[AB])?\W*(?:and|or)\W*$", re.IGNORECASE)
_ORDER = re.compile(
    r"""\0(?P<one>[AB]) \W+ (?:\w+\s+){0,3}? (?:(?P<early>first|earlier|before|preced(?:es|ed))|later|second|last|after)\b
      | \b(?:first|earlier)\b (?:\s+\w+){0,2}? \s* (?:is|was|:) \W*? \0(?P<two>[AB])""",
    re.VERBOSE | re.IGNORECASE,
)


def parse_answer(text: str) -> Label | None:
    """The segment that comes first according to a text.

    A label counts if it stands alone in either case (`b`, `(b)`, `**B**`), after "Segment", or as a capital between words;
    the article of "A segment …" does not count. If a text begins with a label and a full stop or a new line, that is its
    answer. If a text names both labels, the one that it says comes first is the answer.

    Returns:
        The label; None if the text names neither segment, or both without a decision.
    """
    if alone := _ALONE.fullmatch(text):
        return _label(alone[1])
    first, *rest = re.split(r"\.\s|\n", text.strip(), maxsplit=1)
    if rest and (alone := _ALONE.fullmatch(first)) and not re.search(r"^[\W_]*[AB]\.", rest[0], re.MULTILINE):
        return _label(alone[1])  # unless that is the first item of a list
    marked = _NAMED.sub(_mark, _DENIED.sub(" ", text.replace("\0", " ")))
    if _CUT_OFF.search(marked):
        return None
    named = set(re.findall(r"\0([AB])", marked))
    if len(named) > 1:
        named = {_first(match) for match in _ORDER.finditer(marked)}
    return _label(named.pop()) if len(named) == 1 else None


def _mark(match: re.Match[str]) -> str:
    """Put a mark before a label that no text contains."""
    return f" \0{_label(match[match.lastindex or 0])} "


def _first(match: re.Match[str]) -> Label:
    """The label that a phrase puts first."""
    if match["two"]:
        return _label(match["two"])
    one = _label(match["one"])
    return one if match["early"] else "B" if one == "A" else "A"


def _label(letter: str) -> Label:
    return "A" if letter in "Aa" else "B"
