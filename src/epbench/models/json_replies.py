"""Finds the JSON objects in a model's reply, and reads the numbers and booleans that models also write as text.

This is the only place that parses JSON in replies. Prose and fences around an object do not matter. `json.loads` silently
keeps the last value of a repeated key, so an object says here whether one of its keys was repeated: such an object has
two meanings, and must not be believed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from epbench.errors import UnusableReply

_FENCED = re.compile(r"```\w*\s*(.*?)\s*(?:```)?", re.DOTALL)
_BLANKS = " \t\n\r\f\v"  # not all that Unicode calls white space: float refuses some of it
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


WITHOUT_TEXT = ("empty", "length")
"""Ways in which a failed reply may have ended (see `Reply.ended`) if it was unusable rather than lost: ask once more."""


class RepliedObject(dict[str, Any]):
    """A JSON object in a reply; those of `objects_in` also name a key that is repeated in an object inside them."""

    repeated: str | None = None  # a key that the object has more than once; None if there is no such key


def objects_in(text: str) -> Iterator[RepliedObject]:
    """Yield all outermost JSON objects in a text, from left to right.

    >>> list(objects_in('Let me see. ```{"choice": "C"}``` {no'))
    [{'choice': 'C'}]
    >>> [found.repeated for found in objects_in('{"choice": "C", "choice": "D"}')]
    ['choice']
    """
    repeated: list[str] = []

    def as_object(pairs: list[tuple[str, Any]]) -> RepliedObject:
        replied = RepliedObject(pairs)
        if len(replied) < len(pairs):
            keys = [key for key, _ in pairs]
            replied.repeated = next(key for key in keys if keys.count(key) > 1)
            repeated.append(replied.repeated)
        return replied

    decoder = json.JSONDecoder(object_pairs_hook=as_object)
    start = text.find("{")
    while start >= 0:
        repeated.clear()
        try:
            outermost, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            outermost.repeated = repeated[0] if repeated else None
            yield outermost
        start = text.find("{", end)


def all_objects_in(text: str) -> Iterator[RepliedObject]:
    """Yield all JSON objects in a text, each before the objects inside it.

    >>> list(all_objects_in('{"answers": [{"1": true}]}'))
    [{'answers': [{'1': True}]}, {'1': True}]
    """
    for outermost in objects_in(text):
        waiting: list[Any] = [outermost]
        while waiting:
            value = waiting.pop()
            if isinstance(value, RepliedObject):
                yield value
                waiting += reversed(value.values())
            elif isinstance(value, list):
                waiting += reversed(value)


def last_object_with(text: str, *keys: str) -> RepliedObject:
    """Return the last JSON object in a text that has these keys; what comes before it is thinking aloud.

    Raises:
        UnusableReply: There is no such object, or a key in it is repeated.
    """
    candidates = [candidate for candidate in objects_in(text) if all(key in candidate for key in keys)]
    if not candidates:
        raise UnusableReply(f"no JSON object with {' and '.join(keys)} was found")
    last = candidates[-1]
    if last.repeated is not None:
        raise UnusableReply(
            f"the object has {json.dumps(last.repeated)[:60]} more than once, each field is expected once"
        )
    return last


def number_of(value: Any) -> float | None:
    """Return a finite number, given as such or as decimal text (`1`, `"0.5"`, `" 1.0 "`); None for anything else."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip(_BLANKS)):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Integers are finite, and `isfinite` cannot take very large ones.
    return value if isinstance(value, int) or math.isfinite(value) else None


def boolean_of(value: Any) -> bool | None:
    """Return a boolean, given as such or as the text `true` or `false` in any case; None for anything else."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def is_whole_json(text: str) -> bool:
    """Return whether the text is one complete JSON object or array, alone or in a code fence.

    >>> [is_whole_json(text) for text in ('{"choice": "C"}', '```json\\n[1]\\n```', '{"choice": ', 'Here: {}')]
    [True, True, False, False]
    """
    text = text.strip()
    fenced = _FENCED.fullmatch(text)
    try:
        return isinstance(json.loads(fenced[1] if fenced else text), dict | list)
    except (ValueError, RecursionError):
        return False
