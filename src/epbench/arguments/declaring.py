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
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from epbench.arguments.config_file import CONFIG, read_words, spelled, split_off
from epbench.errors import BadInput
from epbench.files.text import is_text, shown
from epbench.starting import command_line
from epbench.starting.scripts import translated

Arguments = TypeVar("Arguments")

_FILE = "YAML file of arguments, such as `limit: 20`; the command line overrules it"
_NAMES = "; a name that ends in .yaml is a YAML file of arguments, which the command line overrules"


@dataclass(frozen=True, kw_only=True)
class _Declared:
    """What a field says beside its name, type and default; see `argument`."""

    text: str
    flags: Sequence[str]
    metavar: str | None
    group: str | None
    convert: Callable[[str], Any] | None
    choices: Sequence[str] | None
    positional: bool
    repeated: bool
    either: bool
    shortcuts: Mapping[str, str]


def argument(
    text: str,
    *,
    default: Any = MISSING,
    flags: Sequence[str] = (),
    metavar: str | None = None,
    group: str | None = None,
    convert: Callable[[str], Any] | None = None,
    choices: Sequence[str] | None = None,
    positional: bool = False,
    repeated: bool = False,
    either: bool = False,
    shortcuts: Mapping[str, str] | None = None,
) -> Any:
    """Return a field that declares an argument.

    Args:
        text: Its line of help.
        default: Its value if it is not given.
        flags: Its flags, if they are others than the name of the field gives.
        metavar: How the help shows its value.
        group: The title under which the help shows it and the arguments after it; empty for the options at the top.
        convert: What makes its value of a word, if that is not its type.
        choices: The words that it may be, if its type is no Literal.
        positional: Whether it stands without a flag.
        repeated: Whether a flag that is given several times makes a list, instead of one flag with several values.
        either: Whether exactly one of all arguments that are declared so must be given.
        shortcuts: Flags without a value, each with the value that it stands for.
    """
    declared = _Declared(
        text=text,
        flags=flags,
        metavar=metavar,
        group=group,
        convert=convert,
        choices=choices,
        positional=positional,
        repeated=repeated,
        either=either,
        shortcuts=shortcuts or {},
    )
    if isinstance(default, list):
        return field(default_factory=default.copy, metadata={"argument": declared})
    return field(default=default, metadata={"argument": declared})


def included(group: str | None = None) -> Any:
    """Return a field that holds a dataclass of further arguments, which stand at its place; `group` as for `argument`."""
    return field(metadata={"argument": None, "group": group})


def parse(
    kind: type[Arguments],
    doc: str | None,
    argv: Sequence[str] | None,
    *,
    underscores: bool = False,
    toy: Path | None = None,
) -> Arguments:
    """Fill a dataclass of arguments from the command line, and from the YAML file that it names; it overrules the file.

    Args:
        kind: The dataclass.
        doc: The docstring of the script, which `--help` shows.
        argv: The words of the command line; None for those of this process.
        underscores: Whether the help spells flags with underscores and a bool takes `true` or `false`, as the trainers of
            Hugging Face do.
        toy: The file that is read if the command line names neither a file nor a model.

    Raises:
        BadInput: A word or the file is not what the arguments take.
    """
    return parse_given(kind, doc, argv, underscores=underscores, toy=toy)[0]


def parse_given(
    kind: type[Arguments],
    doc: str | None,
    argv: Sequence[str] | None,
    *,
    program: str | None = None,
    underscores: bool = False,
    toy: Path | None = None,
) -> tuple[Arguments, dict[str, Any]]:
    """Do the same as `parse`; return the values that were given, as opposed to defaults, too, by the names of their fields.

    Args:
        program: What the help calls the command, if not by the name of the script.
    """
    words = sys.argv[1:] if argv is None else argv
    if odd := next((word for word in words if not is_text(word)), None):
        raise BadInput(
            f"argument {odd!r}: expected text in {sys.getfilesystemencoding()}, as it is written to files; choose another "
            "name, or set LC_ALL=C.UTF-8 if this one is in UTF-8"
        )
    parser = parser_of(kind, doc, program=program, underscores=underscores)
    lenient = parser_of(kind, doc, program=program, underscores=underscores, lenient=True)
    lenient.format_help = parser.format_help  # type: ignore[method-assign]
    takes_names = any(action.dest == "config" for action in parser._actions)
    own, file = split_off(spelled(words, parser._actions), takes_names)
    given = {*vars(lenient.parse_known_args(own)[0])}
    read = file or (toy if "model" not in given else None)
    everything, from_file = (own, set[str]()) if read is None else read_words(read, parser, own, given)
    found, unknown = parser.parse_known_args(everything)
    if unknown:
        parser.error(f"{'unknown' if underscores else 'unrecognized'} arguments: {' '.join(unknown)}")
    command_line.note_arguments(everything if file else None)
    return _filled(kind, found), {name: value for name, value in vars(found).items() if name in given | from_file}


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
        prog=program or command_line.name(),
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def parser_of(
    kind: type[Any], doc: str | None, *, program: str | None = None, underscores: bool = False, lenient: bool = False
) -> argparse.ArgumentParser:
    """Return the parser of a dataclass of arguments.

    Args:
        kind: The dataclass.
        doc: The docstring of the script.
        program: As for `parse_given`.
        underscores: As for `parse`.
        lenient: Whether it requires nothing, and finds only what is given, without defaults.
    """
    parser = _parser(doc, program)
    group: Any = parser
    either: Any = None
    flags = set[str]()
    for title, name, annotation, default, declared in _declared_in(kind):
        if title is not None:
            group = parser.add_argument_group(title) if title else parser
        if declared.either and either is None:
            either = parser.add_mutually_exclusive_group(required=not lenient)
        action = _Action(name, annotation, default, declared, underscores)
        action.add_to(either if declared.either else group, lenient)
        flags |= {*action.flags}
    if CONFIG not in flags:
        parser.add_argument(CONFIG, metavar="FILE", default=argparse.SUPPRESS, dest=argparse.SUPPRESS, help=_FILE)
    return parser


def _declared_in(kind: type[Any]) -> Iterator[tuple[str | None, str, Any, Any, _Declared]]:
    """Of every argument the group that begins with it, its name, type and default; those of included dataclasses, too."""
    types = get_type_hints(kind)
    for each in fields(kind):
        declared = each.metadata["argument"]
        if declared is None:
            group = each.metadata["group"]
            for title, *others in _declared_in(types[each.name]):
                yield (title or group, *others)
                group = None
        else:
            default = each.default if each.default_factory is MISSING else each.default_factory()
            yield declared.group, each.name, types[each.name], default, declared


def _filled(kind: type[Arguments], found: argparse.Namespace) -> Arguments:
    """The dataclass with the values that a parser has found."""
    types = get_type_hints(kind)
    return kind(
        **{
            each.name: _filled(types[each.name], found)
            if each.metadata["argument"] is None
            else getattr(found, each.name)
            for each in fields(kind)  # type: ignore[arg-type]
        }
    )


class _Action:
    """An argument as argparse takes it."""

    def __init__(self, name: str, annotation: Any, default: Any, declared: _Declared, underscores: bool) -> None:
        self._name, self._declared, self._underscores = name, declared, underscores
        self._item, self._several, optional = _item_of(annotation)
        self._default = (
            default if default is not MISSING else None if optional else False if self._item is bool else MISSING
        )
        written = name if underscores else name.replace("_", "-")
        self.flags = [name] if declared.positional else [*declared.flags] or [f"--{written}"]

    def add_to(self, group: Any, lenient: bool) -> None:
        """Add it to a parser or a group of one; `lenient` as for `parser_of`."""
        declared, options = self._declared, self._takes()
        missing = self._default is MISSING
        if not declared.positional:
            options["dest"] = self._name
            if missing and not (lenient or declared.either):
                options["required"] = True
        elif self._several:
            options["nargs"] = "+" if missing and not lenient else "*"
        elif lenient:
            options["nargs"] = "*"
        options["default"] = argparse.SUPPRESS if lenient else None if missing else self._default
        text = declared.text + _NAMES if CONFIG in self.flags else declared.text
        group.add_argument(*self.flags, help=text, **options)
        also: dict[str, Any] = {"action": "store_const", "dest": self._name, "default": argparse.SUPPRESS}
        for flag, value in declared.shortcuts.items():
            group.add_argument(flag, const=value, help=f"the same as {self.flags[0]} {value}", **also)
        if self._default is True:
            group.add_argument(f"--no_{self._name}", const=False, help=declared.text, **also)

    def _takes(self) -> dict[str, Any]:
        """What kind of values it has."""
        declared = self._declared
        if self._item is bool and not self._underscores:
            return {"action": "store_true"}
        options: dict[str, Any] = {"metavar": declared.metavar} if declared.metavar else {}
        if self._item is bool:
            return options | {"nargs": "?", "const": True, "type": _truth}
        options["choices"] = declared.choices
        if get_origin(self._item) is Literal:
            options["choices"] = get_args(self._item)
        else:
            options["type"] = declared.convert or _CONVERT.get(self._item, self._item)
        if declared.repeated:
            options["action"] = "append"
        elif self._several and not declared.positional:
            options["nargs"] = "+"
        return options


def _item_of(annotation: Any) -> tuple[Any, bool, bool]:
    """The type of one value, whether there may be several, and whether there may be none."""
    optional = get_origin(annotation) in (Union, UnionType)
    if optional:
        annotation = next(one for one in get_args(annotation) if one is not NoneType)
    if get_origin(annotation) in (list, Sequence):
        return get_args(annotation)[0], True, optional
    return annotation, False, optional


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
