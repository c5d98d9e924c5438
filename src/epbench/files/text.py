"""Text from elsewhere (files, answers, names, errors): read, shown in one line of a message, and made harmless on a page.

JSON that is read here can be written again. CSV is in UTF-8 with a header that names the columns; quoted cells may span several
lines. What is shown on a screen, in Markdown, HTML or LaTeX has no control characters and makes no markup.
"""

from __future__ import annotations

import csv
import html
import json
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from reprlib import Repr
from types import NoneType
from typing import Any

from epbench.errors import BadInput

MOST_SETTINGS = 1_000_000  # bytes of a file that people write by hand; YAML takes about two seconds per megabyte
MAX_CELL = 16 * 2**20  # characters; the longest published cell, an excerpt of 20,000 words, has about 120,000

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
    """Return a value for a message: its `repr`, cut if it is long or deep, so that no file can cause megabytes of text."""
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
    be written again. ValueError if the content is not JSON, or is nested too deeply. The message is one short line.
    """
    try:
        text = content if isinstance(content, str) else content.decode(json.detect_encoding(content))
        value = json.loads(text)
        return json.loads(whole(json.dumps(value, ensure_ascii=False))) if _ESCAPED_SURROGATE.search(text) else value
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


def read_csv(path: Path, columns: Collection[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of a file, each with its cells by column; further columns are included, empty lines skipped.

    The file is in UTF-8, with or without a byte order mark. BadInput if the file cannot be read, is not in UTF-8 or not
    CSV, a column is missing or occurs twice, a row has more or fewer cells than the header, or a cell has a zero byte or
    more than `MAX_CELL` characters. Rows are counted from 0, below the header.
    """
    csv.field_size_limit(MAX_CELL)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = next(reader, [])
            for column in columns:
                if column not in header:
                    names = ", ".join(name[:40] for name in header[:40])
                    raise BadInput(f"{path}: column {column!r} is missing; found: {names or 'nothing'}")
            for column, n in Counter(header).items():
                if n > 1:
                    raise BadInput(f"{path}: column {shown(column)} found {n} times in the header, expected once")
            for number, cells in enumerate(filter(None, reader)):
                if len(cells) != len(header):
                    raise BadInput(f"{path}, row {number}: found {len(cells)} cells, expected {len(header)}")
                row = dict(zip(header, cells, strict=True))
                for column, cell in row.items():
                    if "\0" in cell:
                        raise BadInput(f"{path}, row {number}, field {column!r}: found a zero byte, expected text")
                yield row
    except csv.Error as error:
        raise BadInput(f"{path}: not CSV, or truncated within a quoted cell ({error}); get the file again") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not CSV in UTF-8 ({error}); get the file again") from None
    except OSError as error:
        raise BadInput(f"{path}: expected a CSV file that can be read ({error.strerror})") from None


# Terminal escapes begin with one of these; tab and line feed stay.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Replace each control character, and each half of a surrogate pair, by U+FFFD."""
    return _CONTROL.sub("\ufffd", text)


def one_line(text: str) -> str:
    """Make a text printable, with every run of white space as one blank."""
    return printable(" ".join(text.split()))


def markdown_text(text: str) -> str:
    """Escape a text for a cell or a line of Markdown: it stays on one line and makes no HTML, links or columns."""
    return re.sub(r"([|`\\\[\]])", r"\\\1", html.escape(one_line(text), quote=False))


def html_text(text: str) -> str:
    """Escape a text for HTML, without control characters."""
    return html.escape(printable(text))


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "±": r"$\pm$", "−": "$-$", "–": "--",
    "≥": r"$\geq$", "≤": r"$\leq$", "×": r"$\times$", "τ": r"$\tau$", "ρ": r"$\rho$", "Δ": r"$\Delta$", "√": r"$\surd$",
    "…": r"\dots{}", "“": "``", "”": "''",
}  # fmt: skip


def latex_text(text: str) -> str:
    """Escape a text for LaTeX, on one line; the signs that our tables use become commands."""
    return "".join(_LATEX.get(character, character) for character in one_line(text))
