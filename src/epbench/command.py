"""What all our scripts share: help that shows the examples, one clear line for an error, the right exit status."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from epbench.errors import BadInput, EpbenchError
from epbench.safe_text import one_line, printable

if TYPE_CHECKING:
    from epbench.safe_console import SafeConsole


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, like every other bad input."""
        sys.exit(_say(f"{message}; see --help", 2))


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser whose `--help` is the script's own docstring, examples included."""
    return _Parser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)


def given(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> frozenset[str]:
    """Names of the arguments that the command line itself gives, as opposed to those that have their default."""
    absent = object()
    bare = argparse.Namespace(**dict.fromkeys(vars(parser.parse_args(argv)), absent))
    return frozenset(name for name, value in vars(parser.parse_args(argv, bare)).items() if value is not absent)


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


def bar(items: Iterable[Any], what: str, total: int) -> Iterable[Any]:
    """The items, with a progress bar that goes away at the end."""
    from rich.console import Console
    from rich.progress import track

    # On the output as it is now: while a memory system works, what it prints is sent elsewhere.
    console = Console(file=sys.stdout)
    # Into a file or a pipe it would write an empty line each time.
    return track(items, what, total=total, transient=True, console=console, disable=not console.is_terminal)


@contextmanager
def counter(what: str, total: int, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """A progress bar for work that calls back: it yields a function that takes how much is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(file=sys.stdout)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, transient=True, console=console, disable=not (shown and console.is_terminal)) as progress:
        task = progress.add_task(what, total=total)

        def done(n: int) -> None:
            progress.update(task, completed=n)

        yield done


def run(main: Callable[[Sequence[str] | None], None], argv: Sequence[str] | None = None) -> None:
    """Call a script's main and leave the process: 0 ok, 2 bad input with one line, 1 failure, 130 interrupted."""
    try:
        main(argv)
    except BadInput as error:
        sys.exit(_say(error, 2))
    except BrokenPipeError:  # the reader of a pipe has gone, e.g. `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (EpbenchError, OSError) as error:  # the system's own errors name their file
        sys.exit(_say(error, 1))
    except KeyboardInterrupt:
        sys.exit(_say("interrupted; give the same command again to resume", 130))


def _say(error: object, status: int) -> int:
    print(f"error: {one_line(str(error))}", file=sys.stderr)
    return status
