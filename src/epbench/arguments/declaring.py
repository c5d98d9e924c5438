"""Arguments of a script as fields of a dataclass: each flag is declared once, and argparse reads it.

    @dataclass(frozen=True, kw_only=True)
    class Arguments:
        runs: list[Path] = argument("folders of runs", positional=True)
        out: Path = argument("folder of the tables")
        limit: int | None = argument("run only N questions", metavar="N")
        order: Literal["narrative", "chronological"] = argument("order of the chapters", default="narrative")
        plan: bool = argument("print what it costs, and stop", group="how much")
        backend: options.Backend = included()

    args = parse(Arguments, __doc__, argv)

The name of a field gives the flag (`--limit`), and its type what the flag takes: one value, several for a list, one of the
words of a Literal, or nothing for a bool. Without a default an argument is required, unless its type says otherwise: None and
False are the defaults of `… | None` and bool. The order of the fields is that of the help. Flags can be written with hyphens
or underscores, and come from a YAML file as well (`--config FILE`, see `epbench.arguments.config_file`).
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, TypedDict, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints

from epbench.arguments.config_file import CONFIG, read_words, spelled, split_off
from epbench.command import command_name, note_arguments, translated
from epbench.errors import BadInput
from epbench.files.text import is_text, shown

Arguments = TypeVar("Arguments")

_FILE = "YAML file of arguments, such as `limit: 20`; the command line overrules it"
_NAMES = "; a name that ends in .yaml is a YAML file of arguments, which the command line overrules"


class How(TypedDict, total=False):
    """What a declaration may say beside the help and the default."""

    flags: Sequence[str]  # the flags, if they are others than the name of the field gives
    metavar: str  # how the help shows the value
    group: str  # the title under which the help shows the argument and those after it; empty for the options at the top
    convert: Callable[[str], Any]  # what makes the value of a word, if that is not its type
    choices: Sequence[str]  # the words that it may be, if its type is no Literal
    positional: bool  # whether it stands without a flag
    repeated: bool  # whether a flag that is given several times makes a list, instead of one flag with several values
    either: bool  # whether exactly one of all arguments that are declared so must be given
    shortcuts: Mapping[str, str]  # flags without a value, each with the value that it stands for


def argument(text: str, *, default: Any = MISSING, **how: Unpack[How]) -> Any:
    """Return a field that declares an argument, with its line of help."""
    metadata = {"text": text, "how": how}
    if isinstance(default, list):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def included(group: str | None = None, **instead: Any) -> Any:
    """Return a field that holds a dataclass of further arguments, which stand at its place.

    Some may be declared otherwise here (`instead`), such as with another default; `group` is as in `How`.
    """
    return field(metadata={"group": group, "instead": instead})


def parse(kind: type[Arguments], doc: str | None, argv: Sequence[str] | None, **how: Any) -> Arguments:
    """Fill a dataclass of arguments as `parse_given` does, and return it alone."""
    return parse_given(kind, doc, argv, **how)[0]


def parse_given(
    kind: type[Arguments],
    doc: str | None,
    argv: Sequence[str] | None,
    *,
    program: str | None = None,
    underscores: bool = False,
    toy: Path | None = None,
) -> tuple[Arguments, dict[str, Any]]:
    """Fill a dataclass of arguments from the command line, and from the YAML file that it names; it overrules the file.

    The values that were given, as opposed to defaults, are returned, too, by the names of their fields. `BadInput` if a word or
    the file is not what the arguments take.

    Args:
        doc: The docstring of the script, which `--help` shows.
        argv: The words of the command line; None for those of this process.
        program: What the help calls the command, if not by the name of the script.
        underscores: Whether the help spells flags with underscores and a bool takes `true` or `false`, as the trainers of
            Hugging Face do.
        toy: The file that is read if the command line names neither a file nor a model.
    """
    words = sys.argv[1:] if argv is None else argv
    if odd := next((word for word in words if not is_text(word)), None):
        raise BadInput(
            f"argument {odd!r}: expected text in {sys.getfilesystemencoding()}, as it is written to files; choose another "
            "name, or set LC_ALL=C.UTF-8 if this one is in UTF-8"
        )
    parser = parser_of(kind, doc, program=program, underscores=underscores)
    words, file = split_off(spelled(words, parser._actions), any(action.dest == "config" for action in parser._actions))
    if file or toy:
        lenient = parser_of(kind, doc, program=program, underscores=underscores, lenient=True)
        lenient.format_help = parser.format_help  # type: ignore[method-assign]
        given = vars(lenient.parse_known_args(words)[0])
        if read := file or (None if "model" in given else toy):
            words = read_words(read, parser, words, given)
    found, unknown = parser.parse_known_args(words)
    if unknown:
        parser.error(f"{'unknown' if underscores else 'unrecognized'} arguments: {' '.join(unknown)}")
    note_arguments(words if file else None)
    values = {each.name: each.default for each in _declared_in(kind)} | vars(found)
    return _filled(kind, values), vars(found)


def parse_subcommand(kinds: Mapping[str, type[Any]], doc: str | None, argv: Sequence[str] | None) -> Any:
    """Fill the dataclass of the subcommand that the command line names; their docstrings are its lines of help."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(doc)
    subcommands = parser.add_subparsers(dest="what", required=True, metavar="WHAT")
    for name, kind in kinds.items():
        subcommands.add_parser(name, help=kind.__doc__)
    if not words or words[0] not in kinds:
        parser.parse_args(words)
    return parse_given(kinds[words[0]], None, words[1:], program=f"{parser.prog} {words[0]}")[0]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}; see --help")

    def format_help(self) -> str:
        return translated(super().format_help())


def _parser(doc: str | None, program: str | None = None) -> _Parser:
    """A parser whose `--help` is the script's own docstring, examples included."""
    return _Parser(
        prog=program or command_name(),
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def parser_of(
    kind: type[Any], doc: str | None, *, program: str | None = None, underscores: bool = False, lenient: bool = False
) -> argparse.ArgumentParser:
    """Return the parser of a dataclass, see `parse_given`, without defaults; a lenient one requires nothing."""
    parser = _parser(doc, program)
    declared = list(_declared_in(kind))
    either: Any = None
    if any(each.how.get("either") for each in declared):
        either = parser.add_mutually_exclusive_group(required=not lenient)
    group: Any = parser
    for each in declared:
        if (title := each.how.get("group")) is not None:
            group = parser.add_argument_group(title) if title else parser
        _add(each, either if each.how.get("either") else group, underscores, lenient)
    if "config" not in {each.name for each in declared}:
        parser.add_argument(CONFIG, metavar="FILE", dest=argparse.SUPPRESS, help=_FILE)
    return parser


@dataclass(frozen=True)
class _Declared:
    """A declared argument: its name, the type of one value, whether there may be several, and the default if it has one."""

    name: str
    item: Any
    several: bool
    default: Any
    text: str
    how: How


def _declared_in(kind: type[Any], instead: Mapping[str, Any] | None = None) -> Iterator[_Declared]:
    """All arguments of a dataclass, with those of the dataclasses that it includes; `instead` as for `included`."""
    types = get_type_hints(kind)
    for each in fields(kind):
        annotation = types[each.name]
        if "how" not in each.metadata:
            group = each.metadata["group"]
            first, *others = _declared_in(annotation, each.metadata["instead"])
            yield first if group is None else replace(first, how={**first.how, "group": group})
            yield from others
            continue
        optional = get_origin(annotation) in (Union, UnionType)
        if optional:
            annotation = next(one for one in get_args(annotation) if one is not NoneType)
        several = get_origin(annotation) is list
        item = get_args(annotation)[0] if several else annotation
        stated = (instead or {}).get(each.name, each)
        default = stated.default if stated.default_factory is MISSING else stated.default_factory()
        if default is MISSING and (optional or item is bool):
            default = None if optional else False
        yield _Declared(each.name, item, several, default, **stated.metadata)


def _filled(kind: type[Arguments], values: Mapping[str, Any]) -> Arguments:
    """The dataclass with these values, and the dataclasses that it includes."""
    types = get_type_hints(kind)
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: values[name] if name in values else _filled(types[name], values) for name in names})


def _add(declared: _Declared, group: Any, underscores: bool, lenient: bool) -> None:
    """Add an argument to a parser, or to a group of one."""
    name, item, how = declared.name, declared.item, declared.how
    required = declared.default is MISSING and not lenient
    options: dict[str, Any] = {"default": argparse.SUPPRESS, "help": declared.text, "metavar": how.get("metavar")}
    if item is bool and not underscores:
        options = {"default": argparse.SUPPRESS, "help": declared.text, "action": "store_true"}
    elif item is bool:
        options |= {"nargs": "?", "const": True, "type": _truth}
    elif get_origin(item) is Literal:
        options["choices"] = get_args(item)
    else:
        options |= {"choices": how.get("choices"), "type": how.get("convert") or _CONVERT.get(item, item)}
    if how.get("repeated"):
        options["action"] = "append"
    elif declared.several or (how.get("positional") and lenient):
        options["nargs"] = "+" if required or not how.get("positional") else "*"
    elif how.get("positional") and not required:
        options["nargs"] = "?"
    if how.get("positional"):
        group.add_argument(name, **options)
        return
    flags = how.get("flags") or [f"--{name if underscores else name.replace('_', '-')}"]
    if CONFIG in flags:
        options["help"] += _NAMES
    group.add_argument(*flags, dest=name, required=required and not how.get("either"), **options)
    constant: dict[str, Any] = {"action": "store_const", "dest": name, "default": argparse.SUPPRESS}
    for flag, value in how.get("shortcuts", {}).items():
        group.add_argument(flag, const=value, help=f"the same as {flags[0]} {value}", **constant)
    if declared.default is True:
        group.add_argument(f"--no_{name}", const=False, help=declared.text, **constant)


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


def _truth(text: str) -> bool:
    """Convert the value of a bool, in the words that the trainers of Hugging Face and YAML take."""
    if (word := text.lower()) in ("true", "yes", "on", "t", "y", "1"):
        return True
    if word in ("false", "no", "off", "f", "n", "0"):
        return False
    raise argparse.ArgumentTypeError(f"expected true or false, got {shown(text)}")


_CONVERT: Mapping[Any, Callable[[str], Any]] = {int: _whole, float: _finite}


def count(text: str) -> int:
    """Convert the value of an argument that counts something, of which there is at least one."""
    value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {value}")
    return value


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def duration(text: str) -> float:
    """Convert a time such as `90s`, `1.5h` or `1h30m` to seconds; a number alone is one of seconds."""
    parts = re.fullmatch(r"((?:\d+(?:\.\d+)?[smh])+)|(\d+(?:\.\d+)?)", text)
    if parts is None:
        raise argparse.ArgumentTypeError(f"expected a time such as 90s, 30m or 2h, got {shown(text)}")
    found = re.findall(r"([\d.]+)([smh])", parts[1] or f"{parts[2]}s")
    return sum(float(number) * _UNITS[unit] for number, unit in found)
