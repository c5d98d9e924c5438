"""Finds the JSON objects in a model's reply, and reads the numbers and booleans that models also write as text.

Prose and code fences around an object do not matter. `json.loads` silently keeps the last value of a repeated key; here
an object says whether one of its keys was repeated, because such an object is ambiguous and must not be used.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

_FENCED = re.compile(r"```\w*\s*(.*?)\s*(?:```)?", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


class Unusable(Exception):
    """A reply that cannot be used. The message says why, in words that a model can act on.

    Prompts that ask for a repair quote the message and journals are keyed by prompts, so the messages stay as they are.
    """


WITHOUT_TEXT = ("empty", "length")
"""The ends of failed replies (see `Reply.ended`) that came but cannot be used, so that asking for a repair is worth it."""


class RepliedObject(dict[str, Any]):
    """A JSON object in a reply.

    Attributes:
        repeated: a key that occurs more than once in the object or in an object inside it; None if there is no such key.
    """

    repeated: str | None = None


def objects_in(text: str) -> Iterator[RepliedObject]:
    """Yield all outermost JSON objects in a text, from left to right.

    >>> list(objects_in('Let me see. ```{"choice": "C"}``` {no'))
    [{'choice': 'C'}]
    >>> [found.repeated for found in objects_in('{"choice": "C", "choice": "D"}')]
    ['choice']
    """
    repeated: list[str] = []

    def as_object(pairs: list[tuple[str, Any]]) -> RepliedObject:
        found = RepliedObject(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated.append(next(key for key in keys if keys.count(key) > 1))
        return found

    decoder = json.JSONDecoder(object_pairs_hook=as_object)
    start = text.find("{")
    while start >= 0:
        repeated.clear()
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            found.repeated = repeated[0] if repeated else None
            yield found
        start = text.find("{", end)


def last_object_with(text: str, *keys: str) -> RepliedObject:
    """Return the last JSON object in a text that has these keys; what comes before it is thinking aloud.

    Raises:
        Unusable: there is no such object, or a key in it is repeated.
    """
    found = [candidate for candidate in objects_in(text) if all(key in candidate for key in keys)]
    if not found:
        raise Unusable(f"no JSON object with {' and '.join(keys)} was found")
    last = found[-1]
    if last.repeated is not None:
        raise Unusable(f"the object has {json.dumps(last.repeated)[:60]} more than once, each field is expected once")
    return last


def number_of(value: Any) -> float | None:
    """Read a finite number, given as a number or as decimal text (`1`, `"0.5"`, `" 1.0 "`); None if it is neither."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Integers are finite, and `isfinite` cannot take very large ones.
    return value if isinstance(value, int) or math.isfinite(value) else None


def boolean_of(value: Any) -> bool | None:
    """Read a boolean, given as a boolean or as the text `true` or `false` in any case; None if it is neither."""
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def is_whole_json(text: str) -> bool:
    """Whether the text is one complete JSON object or array, alone or in a code fence.

    >>> [is_whole_json(text) for text in ('{"choice": "C"}', '```json\\n[1]\\n```', '{"choice": ', 'Here: {}')]
    [True, True, False, False]
    """
    text = text.strip()
    fenced = _FENCED.fullmatch(text)
    try:
        return isinstance(json.loads(fenced[1] if fenced else text), dict | list)
    except (ValueError, RecursionError):
        return False
