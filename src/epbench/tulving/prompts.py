"""Prompt packs: all that a reader is told, in one file that can be swapped (`data/prompts.toml` is ours)."""

from __future__ import annotations

import json
import string
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from epbench.errors import BadInput

OWN = Path(__file__).parent / "data" / "prompts.toml"

# The placeholder that each prompt must hold, once.
_HOLDS = {
    "system": None,
    "book": "book",
    "passages": "passages",
    "passage": "passage",
    "nothing": None,
    "question": "question",
}


@dataclass(frozen=True, slots=True)
class Prompts:
    """A pack. `book`, `passages`, `nothing` come before `question`, after a blank line.

    Attributes:
        system: what the model is told to be; may be empty.
        book: around the whole book, `{book}`.
        passages: around what was retrieved, `{passages}`.
        passage: around each passage, `{passage}`.
        nothing: instead of a book; may be empty.
        question: around the question, `{question}`.
    """

    system: str
    book: str
    passages: str
    passage: str
    nothing: str
    question: str


def load_prompts(path: Path | None = None) -> Prompts:
    """Our pack, or that of a TOML or JSON file with the same keys.

    Raises:
        BadInput: no such file, no TOML or JSON, a missing or unknown key, or a missing or unknown placeholder.
    """
    path = path or OWN
    content = _read(path)
    expected = [field.name for field in fields(Prompts)]
    for key in (*expected, *content):
        if key not in content:
            raise BadInput(f"{path}, key {key!r}: missing; a pack has {', '.join(expected)}")
        if key not in expected:
            raise BadInput(f"{path}, key {key!r}: unknown; a pack has {', '.join(expected)}")
        _check(path, key, content[key])
    return Prompts(**{key: text.strip("\n") for key, text in content.items()})


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BadInput(f"{path}: no such file; a prompt pack in TOML or JSON is expected")
    try:
        text = path.read_text("utf-8")
        content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except ValueError as error:
        raise BadInput(f"{path}: no {'JSON' if path.suffix == '.json' else 'TOML'} ({error})") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: {type(content).__name__} found, an object with the prompts expected")
    return content


def _check(path: Path, key: str, text: Any) -> None:
    if not isinstance(text, str):
        raise BadInput(f"{path}, key {key!r}: {type(text).__name__} found, a text expected")
    try:
        found = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise BadInput(f"{path}, key {key!r}: {error}; a brace of the text itself is written twice") from None
    wanted = [] if _HOLDS[key] is None else [_HOLDS[key]]
    if found != wanted:
        shown = ", ".join(f"{{{name}}}" for name in found) or "no placeholder"
        raise BadInput(f"{path}, key {key!r}: {shown} found, {f'{{{wanted[0]}}} once' if wanted else 'none'} expected")
