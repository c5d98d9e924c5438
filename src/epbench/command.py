"""What all our scripts share: help that shows the examples, one clear line for an error, the right exit status."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from epbench import started
from epbench.argument_file import CONFIG, FromFile, read_arguments, split_off
from epbench.errors import BadInput, EpbenchError
from epbench.extras import extra_with, install_hint
from epbench.progress import bar as bar
from epbench.progress import counter as counter
from epbench.progress import end_all
from epbench.safe_text import one_line, printable
from epbench.script_folders import translated as translated

if TYPE_CHECKING:
    from epbench.safe_console import SafeConsole


class _Absent(list[Any]):
    """Stands for what no command line has given. It is a list, so that repeated flags can be added to it."""


_ABSENT = _Absent()


class _Parser(argparse.ArgumentParser):
    """Reads a file of arguments before the command line, which overrules it."""

    def error(self, message: str) -> NoReturn:
        """One line, like every other bad input."""
        sys.exit(_say(f"{message}; see --help", 2))

    def format_help(self) -> str:
        self._own_config()
        return translated(super().format_help())

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        words, file = split_off(sys.argv[1:] if args is None else args, self._own_config())
        started.note_arguments(None)
        if file is None:
            return super().parse_known_args(words, namespace)
        found = read_arguments(file, self._actions)
        namespace = argparse.Namespace() if namespace is None else namespace
        for each in found:
            setattr(namespace, each.action.dest, _ABSENT)
        with self._satisfied_by(found):
            namespace, rest = super().parse_known_args(words, namespace)
        used = [each for each in found if _left_open(each.action, namespace)]
        for each in used:
            self._refuse_conflicts(each, used, namespace)
        for each in found:
            value = each.value if each in used else getattr(namespace, each.action.dest)
            setattr(namespace, each.action.dest, list(value) if isinstance(value, _Absent) else value)
        flags = [word for each in used if each.action.option_strings for word in each.words]
        started.note_arguments([*(w for e in used if not e.action.option_strings for w in e.words), *words, *flags])
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
                        id(action) in others or (value is not _ABSENT and value != action.default)
                    ):
                        raise BadInput(f"{given.where}: not allowed together with {action.option_strings[-1]}")


def _left_open(action: argparse.Action, namespace: argparse.Namespace) -> bool:
    """Whether the command line has not given an argument that the file gives."""
    value = getattr(namespace, action.dest)
    return value is _ABSENT or (not action.option_strings and value in (None, []))


_FILE = "YAML file of arguments, such as `limit: 20`; the command line overrules it"
_NAMES = "; a name that ends in .yaml is a YAML file of arguments, which the command line overrules"


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser whose `--help` is the script's own docstring, examples included.

    Its scripts take `--config FILE`, too; see `epbench.argument_file`.
    """
    return _Parser(
        prog=started.name(),
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def given(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> frozenset[str]:
    """Names of the arguments that the command line or its file gives, as opposed to those that have their default."""
    bare = argparse.Namespace(**dict.fromkeys(vars(parser.parse_args(argv)), _ABSENT))
    return frozenset(name for name, value in vars(parser.parse_args(argv, bare)).items() if value is not _ABSENT)


class _Log(logging.StreamHandler[Any]):
    """Writes to standard error as it is when a line comes: who calls a script from Python may have replaced it since."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter("%(message)s"))

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))

    @property
    def stream(self) -> Any:  # type: ignore[override]
        return sys.stderr


def show_log() -> None:
    """Print what the library decides by itself (device, dtype, batch size) with its reason, on standard error."""
    log = logging.getLogger("epbench")
    log.setLevel(logging.INFO)
    if not any(isinstance(handler, _Log) for handler in log.handlers):
        log.addHandler(_Log())


def console() -> SafeConsole:
    """A console that prints texts as they are: brackets are no markup, `:smile:` is no emoji, and a terminal escape in
    an answer or an error has no effect.
    """
    from epbench.safe_console import SafeConsole

    return SafeConsole()


def warn(text: str) -> None:
    """A line on standard error that begins with "warning:"."""
    print(f"warning: {one_line(text)}", file=sys.stderr)


def run(main: Callable[[Sequence[str] | None], None], argv: Sequence[str] | None = None) -> None:
    """Call a script's main and leave the process: 0 ok, 2 bad input with one line, 1 failure, 130 interrupted."""
    try:
        try:
            main(argv)
        finally:
            end_all()  # before an error is printed, or the terminal would be left without its cursor
    except BadInput as error:
        sys.exit(_say(error, 2))
    except ImportError as error:
        extra = extra_with(error.name)
        if extra is None:
            raise
        sys.exit(_say(f"this needs more libraries ({error}); {install_hint(extra)}", 2))
    except BrokenPipeError:  # the reader of a pipe has gone, e.g. `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (EpbenchError, OSError) as error:  # the system's own errors name their file
        sys.exit(_say(error, 1))
    except KeyboardInterrupt:
        sys.exit(_say("interrupted; give the same command again to resume", 130))


def _say(error: object, status: int) -> int:
    print(f"error: {one_line(translated(str(error)))}", file=sys.stderr)
    return status
