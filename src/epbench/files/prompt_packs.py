"""Prompt packs: files of texts in TOML or JSON, with the placeholders that each text must have."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.errors import BadInput
from epbench.files.text import check_size, kind_of, parse_json, parse_toml

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Pack = TypeVar("Pack", bound=DataclassInstance)


def load_pack(
    path: Path,
    kind: type[Pack],
    holds: Mapping[str, Sequence[str]],
    may_hold: Mapping[str, Sequence[str]] | None = None,
    may_lack: Mapping[str, str] | None = None,
) -> Pack:
    """Read a pack from a file.

    Args:
        path: A TOML or JSON file whose keys are the fields of `kind`.
        kind: A dataclass whose fields are texts.
        holds: The placeholders of each field, which its text must have once each; texts of other fields have none.
        may_hold: The placeholders that the text of a field may have besides, as often as it likes.
        may_lack: By name of a field that a file need not have, the text that it then has.

    Raises:
        BadInput: The file does not exist or is not TOML or JSON, or a key or a placeholder is missing or unknown.
    """
    content = {**(may_lack or {}), **_read(path)}
    expected = [field.name for field in fields(kind)]
    for key in (*expected, *content):
        if key not in content:
            raise BadInput(f"{path}: the key {key!r} is missing; expected {', '.join(expected)}")
        if key not in expected:
            raise BadInput(f"{path}: found the unknown key {key!r}, expected only {', '.join(expected)}")
        _check(path, key, content[key], holds.get(key, ()), (may_hold or {}).get(key, ()))
    return kind(**{key: text.strip("\n") for key, text in content.items()})


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BadInput(f"{path}: no such file; expected a prompt pack in TOML or JSON")
    try:
        check_size(path)
        text = path.read_text("utf-8")
        content = parse_json(text) if path.suffix == ".json" else parse_toml(text)
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput(f"{path}: not {'JSON' if path.suffix == '.json' else 'TOML'} ({error})") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: expected an object with the prompts, found {kind_of(content)}")
    return content


def _check(path: Path, key: str, text: Any, wanted: Sequence[str], allowed: Sequence[str]) -> None:
    if not isinstance(text, str):
        raise BadInput(f"{path}, key {key!r}: expected a text, found {kind_of(text)}")
    used = placeholders(f"{path}, key {key!r}", text)
    if sorted(name for name in used if name not in allowed) != sorted(wanted):
        shown = _listed(used) or "none"
        expected = f"the placeholders {_listed(wanted)}, each once" if wanted else "no placeholders"
        if allowed:
            expected += f", and perhaps {_listed(allowed)}" if wanted else f" but {_listed(allowed)}"
        raise BadInput(f"{path}, key {key!r}: expected {expected}, found {shown}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)


def placeholders(where: str, text: str) -> list[str]:
    """Return the names of the placeholders in a text, in their order.

    Args:
        where: How messages name the text.
        text: A text with placeholders such as `{question}`; a literal brace is written twice.

    Raises:
        BadInput: A brace is unmatched, or a placeholder has a format; a width such as `{question:>99999999}` would fill
            the memory.
    """
    try:
        parts = [part for part in string.Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise BadInput(f"{where}: {error}; write a literal brace twice") from None
    for _, name, form, conversion in parts:
        if form or conversion:
            shown = f"{{{name}{f'!{conversion}' if conversion else ''}{f':{form}' if form else ''}}}"
            raise BadInput(f"{where}: expected {{{name}}} without a format, found {shown}")
    return [str(name) for _, name, _, _ in parts]
