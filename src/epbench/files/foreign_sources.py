"""Texts in the Python files of others, which are read and never run, by a list of where each text is.

In such a list (TOML), a text of ours is given as `["function", "what", …]` of the `file` of its table. What: the name that the
value is assigned to, its key in a dictionary, the function that it is passed to (`parts.append`), `return`, or `join` for what
stands between the parts of a returned text. Then there may be a number, which of several it is, and `{until = "{book}"}` or
`{after = "{book}"}` for a part of it, or `{into = "{text}"}` for what it is put into. `slots` says what stands for a value of
theirs: a placeholder of ours, or another text.
"""

from __future__ import annotations

import ast
import re
import tempfile
import textwrap
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from epbench.errors import BadInput


@contextmanager
def checkout(place: Path) -> Iterator[Path]:
    """Open a copy of a repository: a folder, or a zip file, whose Python and YAML files are unpacked for as long."""
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
