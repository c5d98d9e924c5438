"""Reading files that others wrote: text, JSON that can be written again, and values shown in one line of a message."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from reprlib import Repr
from types import NoneType
from typing import Any

from epbench.errors import BadInput

MOST_SETTINGS = 1_000_000
"""The most bytes of a file that people write by hand; YAML takes about two seconds per megabyte."""

_KINDS: dict[type, str] = {
    str: "a text",
    list: "a list",
    dict: "an object",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
}
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_short = Repr()
_short.maxstring = _short.maxother = 80
_short.maxlong = 40
_short.maxlevel = 3


def kind_of(value: Any) -> str:
    """Return how a message names the type of a value, such as "a list"."""
    return kind_named(type(value))


def kind_named(kind: type) -> str:
    """Return how a message names a type, such as "a whole number"."""
    return _KINDS.get(kind, kind.__name__)


def shown(value: Any) -> str:
    """Return a value for a message: its `repr`, cut if it is long or deep, so that no file can cause megabytes of text.

    >>> shown(["a"])
    "['a']"
    """
    return _short.repr(value)


def read_text(path: Path) -> str:
    """Return the text of a file that a user wrote, in UTF-8 with or without a byte order mark; else `BadInput`."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not text in UTF-8 ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise BadInput(f"{path}: expected a file that can be read ({error.strerror})") from None


def is_text(value: str) -> bool:
    """Whether a text can be written in UTF-8: it holds no half of a surrogate pair."""
    return _LONE_SURROGATE.search(value) is None


def whole(text: str) -> str:
    """Replace each half of a surrogate pair by U+FFFD, because UTF-8 cannot express it."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def check_size(path: Path) -> None:
    """Refuse a file of settings or prompts that is so large that reading its YAML would take minutes."""
    if (size := path.stat().st_size) > MOST_SETTINGS:
        raise BadInput(
            f"{path}: expected a file of at most {MOST_SETTINGS / 1e6:g} MB, found one of {size / 1e6:,.1f} MB"
        )


def parse_json(content: bytes | str) -> Any:
    """Return the value of a JSON text in UTF-8, UTF-16 or UTF-32.

    Half a surrogate pair (`"\\ud83d"`), which JSON can express and UTF-8 cannot, becomes U+FFFD, so that the value can
    be written again.

    Raises:
        ValueError: The content is not JSON, or is nested too deeply. The message is one short line.
    """
    try:
        text = content if isinstance(content, str) else content.decode(json.detect_encoding(content))
        value = json.loads(text)
        return without_lone_surrogates(value) if _ESCAPED_SURROGATE.search(text) else value
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not {error.encoding}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(str(error)) from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text; `ValueError` if it is not TOML, or is nested too deeply."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def without_lone_surrogates(value: Any) -> Any:
    """Return a JSON value with U+FFFD for each half of a surrogate pair, in names of fields too."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, list):
        return [without_lone_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_lone_surrogates(name): without_lone_surrogates(item) for name, item in value.items()}
    return value
