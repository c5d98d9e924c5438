"""The objects of JSON Lines or of one JSON array, one after another, for files that are too large to be held at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import shown

MAX_OBJECT = 2**26  # characters; the text of a long book has a few million

_BETWEEN = re.compile(r"[\s,]*")


def json_objects(where: str, pieces: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield objects that follow one another, or are the items of one array. Only the object at hand is held.

    Args:
        where: How messages name the source; objects are counted from 0.
        pieces: The text, in pieces of any size, which may end anywhere.

    Raises:
        BadInput: Something is not a JSON object, the text ends within an object or the array, or an object has more than
            `MAX_OBJECT` characters.
    """
    decoder = json.JSONDecoder()
    number, rest, in_array, closed, problem = 0, "", None, False, ""
    for piece in pieces:
        text, place = rest + piece, 0
        while (place := _BETWEEN.match(text, place).end()) < len(text):  # type: ignore[union-attr]  # it may be empty
            if in_array is None and (in_array := text[place] == "["):
                place += 1
            elif in_array and text[place] == "]" and not closed:
                closed = True
                place += 1
            elif text[place] != "{" or closed:
                raise BadInput(
                    f"{where}, row {number}: expected a JSON object, found {shown(text[place : place + 40])}"
                )
            else:
                try:
                    value, place = decoder.raw_decode(text, place)
                except (ValueError, RecursionError) as error:  # the rest of the object may be in the next piece
                    problem = getattr(error, "msg", str(error))
                    break
                yield value
                number += 1
        rest = text[place:]
        if len(rest) > MAX_OBJECT:
            break
    if rest:
        raise BadInput(f"{where}, row {number}: expected a JSON object that ends ({problem})")
    if in_array and not closed:
        raise BadInput(
            f"{where}: expected a JSON array that ends, found its end after {number:,} rows; is it truncated?"
        )
