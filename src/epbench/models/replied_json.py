"""JSON in replies: the objects in it, whatever stands around them, and whether a reply is complete JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_FENCED = re.compile(r"```\w*\s*(.*?)\s*(?:```)?", re.DOTALL)


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
