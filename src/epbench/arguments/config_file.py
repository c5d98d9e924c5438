"""Arguments from a file (`--config FILE`): what a file gives, and the command line overrules.

A key of the file is a long flag, with or without its dashes, or the name of a positional argument as the help shows it. Values
are taken as they are written, as on a command line, so that `no`, `010` and `1.10` stay what they are: one value, a list where
a flag takes several or may be repeated, a mapping where it takes KEY=VALUE,…, `true` or `false` for a switch. `null` leaves
the default. Paths are those from the current folder.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from epbench.errors import BadInput
from epbench.files.text import check_size

if TYPE_CHECKING:
    from yaml import Node  # type: ignore[import-untyped]

CONFIG = "--config"
PAIRS = "KEY=VALUE,…"  # how the help shows a value that may be a mapping in a file
ENDINGS = (".yaml", ".yml")


class _Entry(NamedTuple):
    """What a file gives for an argument: the words that give the same on a command line, and the place, for messages."""

    action: argparse.Action
    words: tuple[str, ...]
    where: str


def spelled(words: Sequence[str], actions: Sequence[argparse.Action]) -> list[str]:
    """Return the words with flags as they are declared, where hyphens and underscores were exchanged in them."""
    known = {flag for action in actions for flag in action.option_strings}
    flags = {_normal(flag): flag for flag in known if flag.startswith("--")}
    end = words.index("--") if "--" in words else len(words)
    found = []
    for word in words[:end]:
        name, equals, value = word.partition("=")
        is_other = name.startswith("--") and name not in known
        found.append(flags.get(_normal(name), name) + equals + value if is_other else word)
    return [*found, *words[end:]]


def split_off(words: Sequence[str], takes_names: bool) -> tuple[list[str], Path | None]:
    """Separate the file of arguments from the words of a command line; None if there is none.

    Where the script has a `--config` of its own, which takes names, a value that ends in .yaml or .yml is a file of
    arguments, too, and the others stay names. `BadInput` if there are several files, or what should be one has another ending.
    """
    rest: list[str] = []
    files: list[str] = []
    left = list(words)
    while left and left[0] != "--":
        word = left.pop(0)
        if word != CONFIG and not word.startswith(f"{CONFIG}="):
            rest.append(word)
            continue
        values = [word.partition("=")[2]] if "=" in word else []
        while left and not left[0].startswith("-") and (takes_names or not values):
            values.append(left.pop(0))
        names = [value for value in values if not value.lower().endswith(ENDINGS)]
        files += [value for value in values if value not in names]
        if takes_names and (names or not values):
            rest += [CONFIG, *names]
        elif names or not values:
            raise BadInput(f"{CONFIG}: expected a YAML file (.yaml or .yml), got {names[0] if names else 'nothing'!r}")
    if len(files) > 1:
        raise BadInput(f"{CONFIG}: expected one YAML file of arguments, got {' and '.join(files)}")
    return rest + left, Path(files[0]) if files else None


def read_words(file: Path, parser: argparse.ArgumentParser, words: Sequence[str], given: Collection[str]) -> list[str]:
    """Read a file of arguments, and add to the words of a command line what they do not give themselves (`given`).

    `BadInput`, with file, line and key, if the file is missing or is not YAML, a key is unknown or given twice, a value has the
    wrong type, or two arguments exclude one another.
    """
    used = [each for each in _read(file, parser._actions) if each.action.dest not in given]
    names = {each.action.dest for each in used}
    for each in used:
        for group in parser._mutually_exclusive_groups:
            for other in group._group_actions if each.action in group._group_actions else ():
                if other is not each.action and other.dest in names.union(given):
                    raise BadInput(f"{each.where}: not allowed together with {other.option_strings[-1]}")
    positional = [word for each in used if not each.action.option_strings for word in each.words]
    flags = [word for each in used if each.action.option_strings for word in each.words]
    end = words.index("--") if "--" in words else len(words)
    return [*positional, *words[:end], *flags, *words[end:]]


def _read(file: Path, actions: Sequence[argparse.Action]) -> list[_Entry]:
    names = {_normal(name): (action, name.lstrip("-")) for action in actions for name in _names_of(action)}
    found: dict[int, _Entry] = {}
    for key, node in _entries(file):
        where, name = f"{file}, line {key.start_mark.line + 1}, key {key.value!r}", _normal(str(key.value))
        action, _ = names.get(name, (None, ""))
        if action is None:
            near = [names[close][1] for close in get_close_matches(name, names, n=1)]
            raise BadInput(f"{where}: there is no such argument{f'; did you mean {near[0]!r}?' if near else ''}")
        if id(action) in found:
            raise BadInput(f"{where}: this argument is given twice, first in {found[id(action)].where}")
        if _as_written(node) is not None:
            found[id(action)] = _Entry(action, _words(action, node, where), where)
    return list(found.values())


def _names_of(action: argparse.Action) -> list[str]:
    """The keys of an argument: its long flags, or the names under which the help shows a positional one."""
    if action.dest in ("help", argparse.SUPPRESS):
        return []
    if action.option_strings:
        return [flag for flag in action.option_strings if flag.startswith("--")]
    return [name.lower() for name in (action.dest, action.metavar) if isinstance(name, str)]


def _normal(name: str) -> str:
    plain = name.lstrip("-").replace("_", "-")
    return plain.lower() if plain.isupper() else plain


def _entries(file: Path) -> Iterator[tuple[Node, Node]]:
    """Keys and values as nodes, which have their text as it was written and its line."""
    import yaml

    try:
        check_size(file)
        node = yaml.compose(file.read_text("utf-8"), Loader=yaml.SafeLoader)
    except OSError as error:
        raise BadInput(f"{file}: expected a YAML file that can be read ({error.strerror})") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{file}: expected YAML ({' '.join(str(error).split())})") from None
    if not isinstance(node, yaml.MappingNode):
        raise BadInput(f"{file}: expected a mapping of arguments to values, such as `limit: 20`, found {_kind(node)}")
    yield from node.value


def _kind(node: Node | None) -> str:
    return "nothing" if node is None else {"sequence": "a list", "mapping": "a mapping"}.get(node.id, "one value")


def _as_written(node: Node) -> Any:
    """The text of a value, a list of texts, or None for null; the node itself if it is anything else."""
    if node.id == "scalar":
        return None if node.tag.endswith(":null") else node.value
    if node.id == "sequence" and all(item.id == "scalar" for item in node.value):
        return [item.value for item in node.value]
    return node


def _pairs(node: Node) -> str:
    """A mapping as the text KEY=VALUE,…; a list or mapping in it is written as JSON."""
    import yaml

    def text(value: Node) -> str:
        if value.id == "scalar" and not value.style:
            return str(value.value)
        found = yaml.safe_load(yaml.serialize(value))
        return json.dumps(found) if value.id != "scalar" else str(found)

    return ",".join(f"{key.value}={text(value)}" for key, value in node.value)


def _words(action: argparse.Action, node: Node, where: str) -> tuple[str, ...]:
    """What gives a value on a command line; it is checked as the parser would check it there."""
    written = _pairs(node) if node.id == "mapping" and action.metavar == PAIRS else _as_written(node)
    flag = action.option_strings[-1] if action.option_strings else ""
    if action.nargs == 0:
        if written not in ("true", "false"):
            raise BadInput(f"{where}: expected true or false, got {_shown(written, node)}")
        return (flag,) if written == "true" else ()
    repeated = isinstance(action, argparse._AppendAction)
    several = repeated or action.nargs in ("+", "*")
    texts: list[str] = [written] if isinstance(written, str) else written if isinstance(written, list) else []
    if not isinstance(written, (str, list) if several else str):
        expected = "a list of values" if several else "one value"
        raise BadInput(f"{where}: expected {expected}, got {_shown(written, node)}")
    if action.nargs == "+" and not texts:
        raise BadInput(f"{where}: expected at least one value, got an empty list")
    for text in texts:
        _check(action, text, where)
    if not flag:
        return tuple(texts)
    return (flag, *texts) if several and not repeated else tuple(f"{flag}={text}" for text in texts)


def _check(action: argparse.Action, text: str, where: str) -> None:
    convert: Callable[[str], Any] = action.type if callable(action.type) else str
    try:
        convert(text)
    except argparse.ArgumentTypeError as error:
        raise BadInput(f"{where}: {error}") from None
    if action.choices is not None and text not in action.choices:
        raise BadInput(f"{where}: expected one of {', '.join(map(str, action.choices))}, got {text!r}")


def _shown(written: Any, node: Node) -> str:
    return repr(written) if isinstance(written, (str, list)) else _kind(node)
