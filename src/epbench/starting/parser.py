"""The parser of our scripts: what a file of arguments gives, and the command line overrules.

A key of the file (`--config FILE`) is a long flag, with or without its dashes, or the name of a positional argument as the
help shows it. Values are taken as they are written, as on a command line, so that `no`, `010` and `1.10` stay what they are:
one value, a list where a flag takes several or may be repeated, `true` or `false` for a switch. `null` leaves the default.
Paths are those from the current folder.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput
from epbench.files.text import check_size, is_text, shown
from epbench.starting import command_line
from epbench.starting.scripts import translated

if TYPE_CHECKING:
    from yaml import Node  # type: ignore[import-untyped]


CONFIG = "--config"
ENDINGS = (".yaml", ".yml")


def _whole(text: str) -> int:
    """Convert a value of type `int`; numbers that no library of ours could take are refused here."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, got {shown(text)}") from None
    if abs(value) >= 2**63:
        raise argparse.ArgumentTypeError(f"expected a whole number below 2 to the power of 63, got {shown(text)}")
    return value


def _finite(text: str) -> float:
    """Convert a value of type `float`; none of ours may be infinite or NaN."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, got {shown(text)}") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"expected a finite number, got {shown(text)}")
    return value


def count(text: str) -> int:
    """Convert the value of an argument that counts something, of which there is at least one."""
    value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {value}")
    return value


NUMBERS: dict[Any, Callable[[str], Any]] = {int: _whole, float: _finite}
"""How arguments of these types are converted, on a command line and in a file."""


@dataclass(frozen=True)
class FromFile:
    """What a file gives for one argument."""

    action: argparse.Action
    value: Any  # what the parser stores for it
    words: tuple[str, ...]  # what gives the same on a command line
    where: str  # the file, line and key, for messages


def split_off(words: Sequence[str], takes_names: bool) -> tuple[list[str], Path | None]:
    """Separate the file of arguments from the words of a command line.

    Args:
        words: the command line.
        takes_names: whether the script has a `--config` of its own, which takes names. A value that ends in .yaml or .yml
            is a file of arguments there, too, and the others stay names.

    Returns:
        The other words, and the file; None if there is none.

    Raises:
        BadInput: there are several files, or what should be one has another ending.
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


def read_arguments(file: Path, actions: Sequence[argparse.Action]) -> list[FromFile]:
    """Read a file of arguments.

    Raises:
        BadInput: the file is missing or is not YAML, or a key is unknown or given twice, or a value has the wrong type;
            the message names file, line and key.
    """
    names = {name: action for action in actions for name in names_of(action)}
    found: dict[int, FromFile] = {}
    for key, node in _entries(file):
        where = f"{file}, line {key.start_mark.line + 1}, key {key.value!r}"
        action = names.get(_normal(str(key.value)))
        if action is None:
            near = get_close_matches(_normal(str(key.value)), names, n=1)
            raise BadInput(f"{where}: there is no such argument{f'; did you mean {near[0]!r}?' if near else ''}")
        if id(action) in found:
            raise BadInput(f"{where}: this argument is given twice, first in {found[id(action)].where}")
        if _as_written(node) is not None:
            found[id(action)] = _converted(action, node, where)
    return list(found.values())


def names_of(action: argparse.Action) -> set[str]:
    """Return the keys of an argument: its long flags, or the names under which the help shows a positional one."""
    if action.dest in ("help", argparse.SUPPRESS) or action.default is argparse.SUPPRESS:
        return set()
    if action.option_strings:
        return {_normal(flag) for flag in action.option_strings if flag.startswith("--")}
    return {_normal(name).lower() for name in (action.dest, action.metavar) if isinstance(name, str)}


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


def _converted(action: argparse.Action, node: Node, where: str) -> FromFile:
    """Check a value as the parser would check it on a command line, and convert it."""
    written = _as_written(node)
    flag = action.option_strings[-1] if action.option_strings else ""
    if action.nargs == 0:
        if written not in ("true", "false"):
            raise BadInput(f"{where}: expected true or false, got {_shown(written, node)}")
        return FromFile(action, action.const if written == "true" else action.default,
                        (flag,) if written == "true" else (), where)  # fmt: skip
    repeated = isinstance(action, argparse._AppendAction)
    several = repeated or action.nargs in ("+", "*")
    texts: list[str] = [written] if isinstance(written, str) else written if isinstance(written, list) else []
    if not isinstance(written, (str, list) if several else str):
        expected = "a list of values" if several else "one value"
        raise BadInput(f"{where}: expected {expected}, got {_shown(written, node)}")
    if action.nargs == "+" and not texts:
        raise BadInput(f"{where}: expected at least one value, got an empty list")
    values = [_value(action, text, where) for text in texts]
    if not flag:
        return FromFile(action, values if several else values[0], tuple(texts), where)
    if several and not repeated:
        return FromFile(action, values, (flag, *texts), where)
    return FromFile(action, values if several else values[0], tuple(f"{flag}={text}" for text in texts), where)


def _value(action: argparse.Action, text: str, where: str) -> Any:
    convert: Callable[[str], Any] = action.type if callable(action.type) else str
    try:
        value = NUMBERS.get(convert, convert)(text)
    except argparse.ArgumentTypeError as error:
        raise BadInput(f"{where}: {error}") from None
    except (ValueError, TypeError):
        raise BadInput(f"{where}: expected another value, got {text!r}") from None
    if action.choices is not None and value not in action.choices:
        raise BadInput(f"{where}: expected one of {', '.join(map(str, action.choices))}, got {text!r}")
    return value


def _shown(written: Any, node: Node) -> str:
    return repr(written) if isinstance(written, (str, list)) else _kind(node)


_FILE = "YAML file of arguments, such as `limit: 20`; the command line overrules it"
_NAMES = "; a name that ends in .yaml is a YAML file of arguments, which the command line overrules"


class _Absent(list[Any]):
    """Stands for what no command line has given. It is a list, so that repeated flags can be added to it."""


ABSENT = _Absent()


class Parser(argparse.ArgumentParser):
    """Reads a file of arguments before the command line, which overrules it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for kind, convert in NUMBERS.items():
            self.register("type", kind, convert)

    def format_help(self) -> str:
        if self._subparsers is None:
            self._own_config()
        return translated(super().format_help())

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._subparsers is not None:  # the parser of what is asked for reads the file
            return super().parse_known_args(args, namespace)
        given = sys.argv[1:] if args is None else args
        if odd := next((word for word in given if not is_text(word)), None):
            raise BadInput(
                f"argument {odd!r}: expected text in {sys.getfilesystemencoding()}, as it is written to files; choose another "
                "name, or set LC_ALL=C.UTF-8 if this one is in UTF-8"
            )
        words, file = split_off(self._spelled(given), self._own_config())
        command_line.note_arguments(None)
        if file is None:
            return super().parse_known_args(words, namespace)
        found = read_arguments(file, self._actions)
        namespace = argparse.Namespace() if namespace is None else namespace
        for each in found:
            setattr(namespace, each.action.dest, ABSENT)
        with self._satisfied_by(found):
            namespace, rest = super().parse_known_args(words, namespace)
        used = [each for each in found if _left_open(each.action, namespace)]
        for each in used:
            self._refuse_conflicts(each, used, namespace)
        for each in found:
            value = each.value if each in used else getattr(namespace, each.action.dest)
            setattr(namespace, each.action.dest, list(value) if isinstance(value, _Absent) else value)
        flags = [word for each in used if each.action.option_strings for word in each.words]
        command_line.note_arguments(
            [*(w for e in used if not e.action.option_strings for w in e.words), *words, *flags]
        )
        return namespace, rest

    def _spelled(self, words: Sequence[str]) -> list[str]:
        """The same words with flags as they are declared, where hyphens and underscores were exchanged in them."""
        known = self._option_string_actions
        flags = {_normal(flag): flag for flag in known if flag.startswith("--")}
        end = words.index("--") if "--" in words else len(words)
        spelled = []
        for word in words[:end]:
            name, equals, value = word.partition("=")
            is_other = name.startswith("--") and name not in known
            spelled.append(flags.get(_normal(name), name) + equals + value if is_other else word)
        return [*spelled, *words[end:]]

    def _own_config(self) -> bool:
        """Whether the script has a --config of its own; the help shows ours, or what a file means to theirs."""
        action = self._option_string_actions.get(CONFIG)
        if action is None:
            self.add_argument(CONFIG, metavar="FILE", default=argparse.SUPPRESS, help=_FILE)
            return False
        own = action.default is not argparse.SUPPRESS
        if own and action.help and _NAMES not in action.help:
            action.help += _NAMES
        return own

    @contextmanager
    def _satisfied_by(self, found: Sequence[FromFile]) -> Iterator[None]:
        """Require nothing of the command line that the file gives."""
        actions = [each.action for each in found]
        groups = [group for group in self._mutually_exclusive_groups if {*group._group_actions} & {*actions}]
        before = [(action, action.required, action.nargs) for action in actions]
        required = [group.required for group in groups]
        for action in actions:
            action.required = False
            if not action.option_strings:
                action.nargs = "*" if action.nargs in ("+", "*") else "?"
        for group in groups:
            group.required = False
        try:
            yield
        finally:
            for action, needed, nargs in before:
                action.required, action.nargs = needed, nargs
            for group, wanted in zip(groups, required, strict=True):
                group.required = wanted

    def _refuse_conflicts(self, given: FromFile, used: Sequence[FromFile], namespace: argparse.Namespace) -> None:
        others = {id(each.action) for each in used if each is not given}
        for group in self._mutually_exclusive_groups:
            if given.action in group._group_actions:
                for action in group._group_actions:
                    value = getattr(namespace, action.dest, action.default)
                    if action is not given.action and (
                        id(action) in others or (value is not ABSENT and value != action.default)
                    ):
                        raise BadInput(f"{given.where}: not allowed together with {action.option_strings[-1]}")


def _left_open(action: argparse.Action, namespace: argparse.Namespace) -> bool:
    """Whether the command line has not given an argument that the file gives."""
    value = getattr(namespace, action.dest)
    return value is ABSENT or (not action.option_strings and value in (None, []))
