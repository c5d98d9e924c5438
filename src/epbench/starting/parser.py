"""The parser of our scripts: what a file of arguments gives, and the command line overrules."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import is_text
from epbench.starting import command_line
from epbench.starting.argument_file import CONFIG, NUMBERS, FromFile, read_arguments, split_off
from epbench.starting.scripts import translated

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
        words, file = split_off(given, self._own_config())
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
