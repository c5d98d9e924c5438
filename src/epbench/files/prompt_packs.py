"""Prompt packs: files of texts in TOML or JSON, with the placeholders that each text must have.

A file of wording holds all packs of a benchmark, each in a section of its own; whatever it lacks stays ours. The wording of a
reference implementation is in its Python files, which are read and never run, by a list of where each text is.

In such a list (TOML), a text of ours is given as `["function", "what", …]` of the `file` of its table. What: the name that the
value is assigned to, its key in a dictionary, the function that it is passed to (`parts.append`), `return`, or `join` for what
stands between the parts of a returned text. Then there may be a number, which of several it is, and `{until = "{book}"}` or
`{after = "{book}"}` for a part of it, or `{into = "{text}"}` for what it is put into. `slots` says what stands for a value of
theirs: a placeholder of ours, or another text.
"""

from __future__ import annotations

import ast
import re
import string
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from epbench.errors import BadInput
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


Source = Path | Section  # where a pack comes from: a file of its own, or a section of a file of wording


def load_pack(
    source: Source,
    kind: type[Pack],
    holds: Mapping[str, Sequence[str]],
    may_hold: Mapping[str, Sequence[str]] | None = None,
    may_lack: Mapping[str, str] | None = None,
    kinds: Mapping[str, Any] | None = None,
) -> Pack:
    """Read a pack from a TOML or JSON file, or from a section of a file of wording.

    Its keys are the fields of `kind`, a dataclass whose fields are texts; one with a default need not be there. `holds` has the
    placeholders that the text of a field must have once each: `fact|first` stands for at least one of both, and `fact|` for this
    one, as often as it likes. `may_hold` has those that it may have besides, `may_lack` the text of each field that a file need
    not have, and `kinds` the type of each field that is no text, such as `dict[str, str]`. BadInput if the file does not exist
    or is not TOML or JSON, a key or a placeholder is missing or unknown, or a value has another type.
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
    made = {field.name: field.default_factory() for field in fields(pack) if field.default_factory is not MISSING}
    default = {field.name: field.default for field in fields(pack)} | made
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

    `given` is a TOML file with sections for these parts, or `published:FOLDER_OR_ZIP` for the wording in a copy of the reference
    implementation, whose texts are where the list `published` says; None for nothing. BadInput if the file cannot be read, or a
    section, a key, a placeholder or a type in it is wrong.
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
    check_size(path)
    try:
        text = path.read_text("utf-8")
        content = parse_json(text) if path.suffix == ".json" else parse_toml(text)
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

    BadInput if a brace is unmatched, or a placeholder has a format; a width such as `{question:>99999999}` would fill
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


@contextmanager
def checkout(place: Path) -> Iterator[Path]:
    """Open a copy of a repository: a folder, or a zip file, whose Python and YAML files are unpacked for as long."""
    import zipfile

    if place.is_dir():
        yield place
        return
    if not zipfile.is_zipfile(place):
        raise BadInput(f"{place}: expected a folder or a zip file with a copy of the reference implementation")
    with tempfile.TemporaryDirectory(prefix="epbench-") as folder, zipfile.ZipFile(place) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.endswith((".py", ".yaml"))])
        inside = list(Path(folder).iterdir())
        yield inside[0] if len(inside) == 1 else Path(folder)


def texts_at(root: Path, listed: Mapping[str, Any], above: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the texts of a list, in tables as there; a literal brace is doubled.

    `above` has the `file` and the `slots` that hold unless a table of the list has its own. `BadInput` if a text is not where the
    list says.
    """
    above = above or {}
    slots = {**above.get("slots", {}), **listed.get("slots", {})}
    here = {"file": listed.get("file", above.get("file")), "slots": slots}
    texts: dict[str, Any] = {}
    for key, value in listed.items():
        if isinstance(value, list):
            texts[key] = text_at(root, value, here)
        elif key not in here:
            texts[key] = texts_at(root, value, here) if isinstance(value, dict) else value
    return texts


def text_at(root: Path, place: list[Any], here: Mapping[str, Any]) -> Any:
    """Return the text, the whole number or the types of a JSON schema at one place of a list; `BadInput` if not there."""
    within, what, *more = place
    options: dict[str, Any] = {name: value for each in more if isinstance(each, dict) for name, value in each.items()}
    file, nth = options.get("file", here["file"]), next((each for each in more if isinstance(each, int)), 0)
    where, slots = f"{root / file}, {within} {what}", {**here["slots"], **options.get("slots", {})}
    known = {"file": file, "slots": {name: slot for name, slot in slots.items() if isinstance(slot, str)}}
    slots = {name: text_at(root, slot, known) if isinstance(slot, list) else slot for name, slot in slots.items()}
    try:
        found = _values(_parsed((root / file).read_text("utf-8"), within), within, what)[nth]
        text = _read(found, slots)
    except (OSError, ValueError, LookupError, RecursionError) as error:
        raise BadInput(f"{where}: expected the text of the reference implementation there ({error})") from None
    if mark := options.get("until") or options.get("after"):
        before, _, after = text.partition(mark)
        text = before + mark if "until" in options else after.removeprefix("\n\n")
    if into := options.get("into"):
        text = re.sub(r"\{(\w+)\}", lambda name: {**slots, "text": text}.get(name[1], name[0]), into)
    return text


def _parsed(text: str, within: str) -> ast.Module:
    """The file, or the function alone if another one is of a later Python than this one."""
    try:
        return ast.parse(text)
    except SyntaxError:
        found = re.search(rf"^( *)def {within}\(.*?(?=^\1def |\Z)", text, re.MULTILINE | re.DOTALL)
        return ast.parse(textwrap.dedent(found[0] if found else text))


def _values(tree: ast.AST, within: str, what: str) -> list[ast.expr]:
    """All values of that name within a function, a class, or a method as `Class.method`, in the order of the file."""
    for name in filter(None, within.split(".")):
        kinds = (ast.FunctionDef, ast.ClassDef)
        tree = next(
            (node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name), ast.Module([], [])
        )
    found: list[ast.expr] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == what:
            found.append(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == what:
            found.append(node.args[0])
        elif isinstance(node, ast.Return) and node.value and what == "return":
            found.append(node.value)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Call) and what == "join":
            found.append(node.value.func.value)  # type: ignore[attr-defined]
        elif isinstance(node, ast.Dict):
            found += [
                value
                for key, value in zip(node.keys, node.values, strict=True)
                if key and ast.unparse(key) == repr(what)
            ]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _read(node: ast.expr, slots: Mapping[str, str]) -> Any:
    """A text, a number, the types of a JSON schema, or of anything else the first text in it."""
    match node:
        case ast.Constant(value=str(text)):
            braced = text.replace("{", "{{").replace("}", "}}")
            return re.sub(r"\{\{(\w+)\}\}", lambda found: slots.get(found[1], found[0]), braced)
        case ast.Constant(value=int(number)):
            return number
        case ast.JoinedStr():
            return "".join(_read(part, slots) for part in node.values)
        case ast.BinOp(op=ast.Add()):
            return _read(node.left, slots) + _read(node.right, slots)
        case ast.FormattedValue():
            return slots[ast.unparse(node.value)]
    types = re.findall(r"'(\w+)': \{'type': '(boolean|string)'\}", ast.unparse(node))
    return dict(types) or next(_read(part, slots) for part in ast.walk(node) if isinstance(part, ast.Constant))
