"""Reading and writing files that hold one JSON object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from epbench.errors import BadInput
from epbench.files.secrets import scrubbed
from epbench.files.shapes import Each, Shape, check
from epbench.files.text import kind_of, parse_json
from epbench.files.writing import write_text


def read_json(path: Path, shape: Shape | Each | None = None) -> dict[str, Any]:
    """Read a JSON object from a file.

    Args:
        path: The file.
        shape: What the object must hold; None accepts any object.

    Raises:
        BadInput: The file is missing, cannot be read, holds anything but a JSON object, has a number that is not finite,
            or does not have this shape.
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
    if shape is not None:
        check(str(path), content, shape)
    return content


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file that appears whole or not at all, indented, with keys in the given order.

    The secrets that this process knows become `***`; see `epbench.files.secrets`.
    """
    write_text(path, json.dumps(scrubbed(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
