"""The JSON objects in a reply; prose and fences around them are nothing to stumble over."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """All outermost JSON objects in a text, from left to right.

    >>> list(objects_in('Let me see. ```{"choice": "C"}``` {no'))
    [{'choice': 'C'}]
    """
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield found
        start = text.find("{", end)
