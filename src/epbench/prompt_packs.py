"""Packs of prompts: one TOML or JSON file of texts, with the placeholders that each must hold."""

from __future__ import annotations

import json
import string
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.errors import BadInput

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Pack = TypeVar("Pack", bound=DataclassInstance)


def load_pack(path: Path, kind: type[Pack], holds: Mapping[str, Sequence[str]]) -> Pack:
    """A pack from a file.

    Args:
        path: a TOML or JSON file whose keys are the fields of `kind`.
        kind: a dataclass of texts.
        holds: by field, the placeholders that its text must hold, each once; the others hold none.

    Raises:
        BadInput: no such file, no TOML or JSON, a missing or unknown key, or a missing or unknown placeholder.
    """
    content = _read(path)
    expected = [field.name for field in fields(kind)]
    for key in (*expected, *content):
        if key not in content:
            raise BadInput(f"{path}, key {key!r}: missing; a pack has {', '.join(expected)}")
        if key not in expected:
            raise BadInput(f"{path}, key {key!r}: unknown; a pack has {', '.join(expected)}")
        _check(path, key, content[key], holds.get(key, ()))
    return kind(**{key: text.strip("\n") for key, text in content.items()})


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


def _check(path: Path, key: str, text: Any, wanted: Sequence[str]) -> None:
    if not isinstance(text, str):
        raise BadInput(f"{path}, key {key!r}: {type(text).__name__} found, a text expected")
    found = placeholders(f"{path}, key {key!r}", text)
    if sorted(found) != sorted(wanted):
        shown = ", ".join(f"{{{name}}}" for name in found) or "no placeholder"
        once = ", ".join(f"{{{name}}}" for name in wanted) + " once" if wanted else "none"
        raise BadInput(f"{path}, key {key!r}: {shown} found, {once} expected")


def placeholders(where: str, text: str) -> list[str]:
    """The names of the placeholders in a text, in their order.

    Args:
        where: how a message names the text.
        text: with placeholders such as `{question}`; a brace of the text itself is written twice.

    Raises:
        BadInput: a brace that stands alone, or a placeholder with a format: a width such as `{question:>99999999}` would
            fill the memory.
    """
    try:
        parts = [part for part in string.Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise BadInput(f"{where}: {error}; a brace of the text itself is written twice") from None
    for _, name, form, conversion in parts:
        if form or conversion:
            shown = f"{{{name}{f'!{conversion}' if conversion else ''}{f':{form}' if form else ''}}}"
            raise BadInput(f"{where}: found {shown}, expected {{{name}}} without a format")
    return [str(name) for _, name, _, _ in parts]
