"""What all our scripts share: what they print, one clear line for an error, the right exit status."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from epbench.errors import BadInput, EpbenchError, NothingToScore
from epbench.files.safe_text import one_line, printable
from epbench.files.writing import write_text
from epbench.progress import bar as bar
from epbench.progress import counter as counter
from epbench.progress import end_all
from epbench.starting.extras import extra_with, install_hint
from epbench.starting.scripts import translated as translated

if TYPE_CHECKING:
    from rich.console import RenderableType

    from epbench.models.bounds import Bounds
    from epbench.starting.safe_console import SafeConsole

P = TypeVar("P", bound="Ready")


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
    from epbench.starting.safe_console import SafeConsole

    return SafeConsole()


def warn(text: str) -> None:
    """A line on standard error that begins with "warning:"."""
    print(f"warning: {one_line(text)}", file=sys.stderr)


class Ready(Protocol):
    """A run that may start: what to know before it does, what it will cost, and whether that is nothing."""

    @property
    def warnings(self) -> Sequence[str]: ...
    @property
    def plan(self) -> Sequence[str]: ...
    @property
    def is_free(self) -> bool: ...


class Done(Protocol):
    """What a run gave: its name in tables, the content of scores.json, and what else there is to say of it."""

    @property
    def label(self) -> str: ...
    @property
    def scores(self) -> dict[str, Any]: ...
    @property
    def notes(self) -> Sequence[str]: ...


def run_all(
    folders: Mapping[str, Path],
    prepare: Callable[[str], P],
    run: Callable[[P, Path], Done],
    tables: tuple[Callable[[Mapping[str, Any]], RenderableType], Callable[[Mapping[str, Any]], str]],
    *,
    plan: bool,
) -> None:
    """Prepare the runs on several datasets, and only then run them, one after the other; print plans, scores and notes.

    The folders of several runs lie in one folder, which gets a table of all. `prepare` checks a run, before any weights
    are loaded. `tables` make tables of the scores by label, for the screen and in Markdown. With `plan`, it stops when
    all have been prepared. A plan is also printed if the run costs something.

    Raises:
        NothingToScore: A run had nothing to score; the runs after it have been made all the same.
    """
    ready: dict[str, P] = {}
    screen_tables, markdown_table = tables
    for name in folders:
        if len(folders) > 1:
            console().say(f"{name}:")
        ready[name] = prepared = prepare(name)
        for warning in prepared.warnings:
            console().print(f"warning: {warning}", style="yellow", soft_wrap=True)
        if plan or not prepared.is_free:
            console().say_all(prepared.plan)
    scores: dict[str, dict[str, Any]] = {}
    unscored: NothingToScore | None = None
    for name, prepared in ready.items() if not plan else ():
        try:
            done = run(prepared, folders[name])
        except NothingToScore as error:
            unscored = NothingToScore(f"{name}: {error}") if len(folders) > 1 else error
            continue
        console().print(screen_tables({done.label: done.scores}))
        console().say_all(done.notes)
        scores[f"{name}, {done.label}"] = done.scores
    if len(folders) > 1 and scores:
        console().print(screen_tables(scores))
        write_text(next(iter(folders.values())).parent / "table.md", markdown_table(scores))
    if unscored:
        raise unscored


@contextmanager
def within(bounds: Bounds) -> Iterator[None]:
    """Have everything inside keep to these bounds; leave the process with exit status 3 if one was reached."""
    from epbench.models.bounds import held

    with held(bounds):
        yield
    if bounds.reached:
        warn(f"the run has reached {bounds.reached}; the same command with a higher one asks the rest")
        sys.exit(3)


def run(
    main: Callable[[Sequence[str] | None], None], argv: Sequence[str] | None = None, *, extra: str | None = None
) -> None:
    """Call a script's main and leave the process: 0 ok, 2 bad input with one line, 1 failure, 130 interrupted.

    Status 3 comes from `within`. `extra` is what the script needs, and is named if a library of it is missing.
    """
    _open_streams()
    try:
        try:
            main(argv)
        finally:
            end_all()  # before an error is printed, or the terminal would be left without its cursor
    except BadInput as error:
        sys.exit(_say(error, 2))
    except ImportError as error:
        missing = extra_with(error.name, extra)
        if missing is None:
            raise
        sys.exit(_say(f"this needs more libraries ({error}); {install_hint(missing)}", 2))
    except BrokenPipeError:  # the reader of a pipe has gone, e.g. `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (EpbenchError, OSError) as error:  # the system's own errors name their file
        sys.exit(_say(error, 1))
    except KeyboardInterrupt:
        sys.exit(_say("interrupted; give the same command again to resume", 130))


def _open_streams() -> None:
    """Make the standard streams usable: a closed one leads nowhere, and one that is not in UTF-8 shows `?` for the rest."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # until the process ends
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _say(error: object, status: int) -> int:
    print(f"error: {one_line(translated(str(error)))}", file=sys.stderr)
    return status
