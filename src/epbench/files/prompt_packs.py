"""Prompt packs: files of texts in TOML or JSON, with the placeholders that each text must have.

A file of wording holds all packs of a benchmark, each in a section of its own; whatever it lacks stays ours.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.errors import BadInput
from epbench.files.foreign_sources import checkout, texts_at
from epbench.files.text import check_size, kind_of, parse_json, parse_toml
from epbench.files.typed import typed

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Pack = TypeVar("Pack", bound=DataclassInstance)


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A section of a file of wording, laid over our pack; its texts are taken to the letter."""

    where: str  # how messages name it: the file and the section
    content: Mapping[str, Any]  # texts, and tables of texts, by key

    def __str__(self) -> str:
        return self.where


Source = Path | Section
"""Where a pack comes from: a file of its own, or a section of a file of wording."""


def load_pack(
    source: Source,
    kind: type[Pack],
    holds: Mapping[str, Sequence[str]],
    may_hold: Mapping[str, Sequence[str]] | None = None,
    may_lack: Mapping[str, str] | None = None,
    kinds: Mapping[str, Any] | None = None,
) -> Pack:
    """Read a pack from a file, or from a section of one.

    Args:
        source: A TOML or JSON file whose keys are the fields of `kind`, or a section of a file of wording.
        kind: A dataclass whose fields are texts; one with a default need not be there.
        holds: The placeholders of each field, which its text must have once each; texts of other fields have none.
            `fact|first` stands for at least one of both, and `fact|` for this one, as often as it likes.
        may_hold: The placeholders that the text of a field may have besides, as often as it likes.
        may_lack: By name of a field that a file need not have, the text that it then has.
        kinds: The type of each field that is no text, such as `dict[str, str]`.

    Raises:
        BadInput: The file does not exist or is not TOML or JSON, a key or a placeholder is missing or unknown, or a value has
            another type.
    """
    content = {**(may_lack or {}), **(read_pack(source) if isinstance(source, Path) else source.content)}
    expected = [field.name for field in fields(kind)]
    needed = [field.name for field in fields(kind) if field.default is field.default_factory is MISSING]
    for key in (*needed, *content):
        if key not in content:
            raise BadInput(f"{source}: the key {key!r} is missing; expected {', '.join(expected)}")
        if key not in expected:
            raise BadInput(f"{source}: found the unknown key {key!r}, expected only {', '.join(expected)}")
        if key in (kinds or {}):
            content[key] = typed(f"{source}, key {key!r}", content[key], (kinds or {})[key])
        else:
            check_text(f"{source}, key {key!r}", content[key], holds.get(key, ()), (may_hold or {}).get(key, ()))
            content[key] = content[key] if isinstance(source, Section) else content[key].strip("\n")
    return kind(**content)


def told(pack: DataclassInstance) -> dict[str, Any]:
    """Return the fields of a pack for its hash; one that is as it is by default counts for nothing."""
    default = {field.name: field.default for field in fields(pack)} | {
        field.name: field.default_factory() for field in fields(pack) if field.default_factory is not MISSING
    }
    return {name: value for name, value in asdict(pack).items() if value != default[name]}


@dataclass(frozen=True, slots=True)
class Words:
    """What is told in one part of a benchmark."""

    own: Path | Callable[[], str]  # our texts, as a TOML file, or what returns them in TOML
    load: Callable[[Section], Any]  # makes of a section what that part takes, or says what is wrong in it

    @property
    def toml(self) -> str:
        """Our texts in TOML, with comments."""
        return self.own.read_text("utf-8") if isinstance(self.own, Path) else self.own()


def own_wording(parts: Mapping[str, Words]) -> str:
    """Return our texts as a file of wording, with a section for each part."""
    return "\n\n".join(
        f"[{name}]\n" + re.sub(r"^\[(\w+)\]$", rf"[{name}.\1]", words.toml, flags=re.MULTILINE)
        for name, words in parts.items()
    )


def read_wording(given: str | None, parts: Mapping[str, Words], published: Path) -> dict[str, Any]:
    """Return what the parts of a benchmark take, from a file of wording; whatever it lacks is ours.

    Args:
        given: A TOML file, or `published:FOLDER_OR_ZIP` for the wording in a copy of the reference implementation; None
            for nothing.
        parts: The sections that the file may have.
        published: The list of where the reference implementation has its texts.

    Raises:
        BadInput: The file cannot be read, or a section, a key, a placeholder or a type in it is wrong.
    """
    if given is None:
        return {}
    kind, _, place = given.partition(":")
    if kind == "published":
        with checkout(Path(place)) as root:
            found = texts_at(root, read_pack(published))
    else:
        found = read_pack(Path(given))
    for name, texts in found.items():
        if name not in parts or not isinstance(texts, dict):
            listed = ", ".join(f"[{part}]" for part in parts)
            raise BadInput(f"{given}: expected sections {listed}, found {name!r}")
    own = {name: parse_toml(words.toml) for name, words in parts.items()}
    for name, texts in found.items():
        tables = {key: own[name][key] | texts[key] for key in texts if isinstance(own[name].get(key), dict)}
        own[name] |= texts | tables
    return {name: words.load(Section(f"{given}, section {name!r}", own[name])) for name, words in parts.items()}


def read_pack(path: Path) -> dict[str, Any]:
    """Return the content of a TOML or JSON file; `BadInput` if there is no such file, or it is neither."""
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


def check_text(where: str, text: Any, wanted: Sequence[str], allowed: Sequence[str] = ()) -> None:
    """Refuse what is no text, or has other placeholders than `load_pack` says of `holds` and `may_hold`."""
    if not isinstance(text, str):
        raise BadInput(f"{where}: expected a text, found {kind_of(text)}")
    used, once = placeholders(where, text), [name for name in wanted if "|" not in name]
    either = [names.strip("|").split("|") for names in wanted if "|" in names]
    others = {*allowed, *(name for names in either for name in names)}
    is_missing = any(not {*names} & {*used} for names in either)
    if is_missing or sorted(name for name in used if name not in others) != sorted(once):
        parts = [f"the placeholders {_listed(once)}, each once"] * bool(once)
        parts += [" or ".join(f"{{{name}}}" for name in names) for names in either]
        expected = " and ".join(parts) or "no placeholders"
        if allowed:
            expected += f", and perhaps {_listed(allowed)}" if wanted else f" but {_listed(allowed)}"
        raise BadInput(f"{where}: expected {expected}, found {_listed(used) or 'none'}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)


def placeholders(where: str, text: str) -> list[str]:
    """Return the names of the placeholders in a text, such as `{question}`, in their order; a literal brace is written twice.

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
