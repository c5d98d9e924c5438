"""What all our scripts share: which commands they are, what they print, one clear line for an error, the right exit status.

In a checkout the scripts stand in `builders`, `eval_scripts` and `finetune` at its root; a wheel carries these folders. A
new script is a command of `epbench` without being listed anywhere: its file gives the name, its docstring the line in the help.
"""

from __future__ import annotations

import io
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeVar

from epbench.errors import BadInput, EpbenchError, NothingToScore, extra_with, install_hint
from epbench.files.text import one_line, printable
from epbench.files.writing import write_text
from epbench.progress import bar as bar
from epbench.progress import counter as counter
from epbench.progress import end_all

if TYPE_CHECKING:
    from rich.console import RenderableType

    from epbench.models.estimate import Bounds

P = TypeVar("P", bound="Ready")

PACKAGE = Path(__file__).parent
_IN_WHEEL = PACKAGE / "scripts"
_IN_CHECKOUT = PACKAGE.parents[1]
_BENCHMARKS = ("tulving", "booksort", "memfail")
_BUILT = ("universe",)  # what is built beside the datasets of benchmarks
_OF_BENCHMARKS = {"builders": "build", "eval_scripts": "eval"}
_OTHER_NAMES = {"make_profile": "profile"}  # a file of that name would hide a module of Python from those beside it
_FOR_THE_REPOSITORY = ("cards", "leaderboard")  # they write files that only the repository has

_SCRIPT = re.compile(r"(?<![\w/.\\-])(?:python )?(builders|eval_scripts)/(\w+)\.py\b")
_CARRIED = re.compile(r"(?<![\w/.\\-])(?:builders|eval_scripts|finetune)/[\w./-]*\w\.(?:py|ya?ml)\b")
_DATA = re.compile(r"(?<![\w/.\\-])src/epbench/")

# What this process knows about itself as a whole: whoever starts it says so once, before anything runs.
_command: tuple[str, ...] = ()
_arguments: tuple[str, ...] | None = None


def note_command(command: Sequence[str]) -> None:
    """Note that a command was given, such as `["epbench", "compare"]`, rather than the path of a script."""
    global _command
    _command = tuple(command)


def note_arguments(arguments: Sequence[str] | None) -> None:
    """Note the arguments with those that a file has added; None if they are those of the command line."""
    global _arguments
    _arguments = None if arguments is None else tuple(arguments)


def command_name() -> str | None:
    """Return the command, such as `epbench compare`; None for a script."""
    return " ".join(_command) or None


def command_words() -> list[str]:
    """Return the words that start the same again, from the same folder and with the same versions."""
    arguments = sys.argv[1:] if _arguments is None else _arguments
    return [*(_command or ("python", sys.argv[0])), *arguments]


def scripts_root() -> Path:
    """Return the folder that has `builders`, `eval_scripts` and `finetune`, in an installed wheel or in a checkout."""
    return _IN_WHEEL if _IN_WHEEL.is_dir() else _IN_CHECKOUT


def commands() -> dict[tuple[str, ...], Path]:
    """Return the script of each command, such as `("eval", "tulving")` or `("compare",)`, in the order of the help."""
    found = [path for folder in _OF_BENCHMARKS for path in sorted((scripts_root() / folder).glob("*.py"))]
    found = [path for path in found if path.stem not in _FOR_THE_REPOSITORY]
    return {
        command_of(path.parent.name, path.stem): path
        for path in sorted(found, key=lambda path: path.stem not in (*_BENCHMARKS, *_BUILT))
    }


def command_of(folder: str, script: str) -> tuple[str, ...]:
    """Return the words of the command that runs a script, such as `("judge-check",)`."""
    if script in _BENCHMARKS or script in _BUILT:
        return (_OF_BENCHMARKS[folder], script)
    return (_OTHER_NAMES.get(script, script.replace("_", "-")),)


def carried(name: str) -> Path:
    """Return the path of a file that comes with the package, such as `finetune/sort_lm.py`; `BadInput` if there is none."""
    for root in (scripts_root(), PACKAGE):
        if not Path(name).is_absolute() and ".." not in Path(name).parts and (root / name).is_file():
            return root / name
    there = sorted(path for ending in ("*.py", "configs/*.yaml") for path in (scripts_root() / "finetune").glob(ending))
    names = ", ".join(path.relative_to(scripts_root()).as_posix() for path in there)
    raise BadInput(f"{name!r}: found no such script or data file; for training there are {names}")


def translated(text: str) -> str:
    """Name scripts and their configurations as commands, if this process was started by `epbench` or comes from a wheel."""
    in_wheel = scripts_root() == _IN_WHEEL
    if not (in_wheel or command_name()):
        return text
    text = _SCRIPT.sub(lambda found: " ".join(("epbench", *command_of(found[1], found[2]))), text)
    text = _CARRIED.sub(lambda found: f'"$(epbench path {found[0]})"', text)
    return _DATA.sub(lambda found: f"{PACKAGE.as_posix()}/", text) if in_wheel else text


class _Log(logging.Handler):
    """Writes to standard error as it is when a line comes: who calls a script from Python may have replaced it since."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError, ValueError):  # a log that nobody can read any more is no reason to stop
            print(printable(self.format(record)), file=sys.stderr, flush=True)


def show_log() -> None:
    """Print what the library decides by itself (device, dtype, batch size) with its reason, on standard error."""
    log = logging.getLogger("epbench")
    log.setLevel(logging.INFO)
    if not any(isinstance(handler, _Log) for handler in log.handlers):
        log.addHandler(_Log())


class SafeConsole:
    """Prints any text as it is: brackets are no markup, `:smile:` is no emoji, and a terminal escape has no effect."""

    file: TextIO | None = None
    """What is printed to; None for standard output."""

    def print(self, *items: RenderableType, **how: Any) -> None:
        """Print texts and tables as rich does, with its options."""
        from rich.console import Console

        console = Console(file=self.file, markup=False, emoji=False, highlight=False)
        render = console.render_str

        def render_str(text: str, **options: Any) -> Any:
            return render(printable(text), **(options | {"markup": False, "emoji": False}))

        console.render_str = render_str  # type: ignore[method-assign]  # every string passes through it
        console.print(*items, **how)

    def say(self, text: str) -> None:
        """Print a line without wrapping it, so that a path in it can be copied."""
        self.print(text, soft_wrap=True)

    def say_all(self, lines: Iterable[str]) -> None:
        """Print lines, each like `say`."""
        for line in lines:
            self.say(line)


console = SafeConsole


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
    all have been prepared. A plan is also printed if the run costs something. `NothingToScore` if a run had nothing to score; the
    runs after it have been made all the same.
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
    from epbench.models.estimate import held

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
