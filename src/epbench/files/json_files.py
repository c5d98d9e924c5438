"""Reading and writing files that hold one JSON object, and reading those that hold many."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.secrets import scrubbed
from epbench.files.text import kind_of, parse_json, shown
from epbench.files.typed import T, typed
from epbench.files.writing import write_text

MAX_OBJECT = 2**26  # characters; the text of a long book has a few million

_BETWEEN = re.compile(r"[\s,]*")


def read_json(path: Path, kind: Any = None) -> dict[str, Any]:
    """Read a JSON object from a file, of a type such as what `fields` returns; None accepts any object.

    BadInput if the file is missing, cannot be read, holds anything but a JSON object, has a number that is not finite,
    or is not of this type.
    """
    try:
        content = parse_json(path.read_bytes())
        json.dumps(content, allow_nan=False)  # or it could not be written again
    except OSError as error:
        raise BadInput(f"{path}: expected a JSON file that can be read ({error.strerror})") from None
    except ValueError as error:
        raise BadInput(f"{path}: expected JSON ({error})") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: expected a JSON object, found {kind_of(content)}")
    if kind is not None:
        typed(str(path), content, kind)
    return content


def read_typed(path: Path, kind: type[T]) -> T:
    """Read a JSON object from a file as a value of a type; see `read_json`."""
    return typed(str(path), read_json(path), kind)


def write_json(path: Path, content: Any) -> None:
    """Write an indented JSON file that appears whole or not at all, with `***` for the secrets that this process knows."""
    write_text(path, json.dumps(scrubbed(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def json_objects(where: str, pieces: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield objects that follow one another, or are the items of one array. Only the object at hand is held.

    Messages name the source by `where`, and count objects from 0. The pieces of the text may have any size and end
    anywhere. BadInput if something is not a JSON object, the text ends within an object or the array, or an object has more
    than `MAX_OBJECT` characters.
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
