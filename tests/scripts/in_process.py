"""Our scripts called in this process: what a user sees of them, without the seconds that a new Python takes."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

from epbench import command

ROOT = Path(__file__).parents[2]


def script(line: str, *args: object) -> subprocess.CompletedProcess[str]:
    """Run a script's main as its last line does, and catch what it prints and its exit status.

    The line has the name of the script, and arguments without blanks; further arguments follow.
    """
    name, *words = line.split()
    return called(partial(command.run, loaded(name).main), name, *words, *args)


def loaded(name: str) -> ModuleType:
    """A script as a module, without a call of its main."""
    spec = spec_from_file_location(f"script_{Path(name).stem}", ROOT / name)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module  # where dataclasses look up the types of their fields
    spec.loader.exec_module(module)
    return module


def called(main: Callable[[Sequence[str]], object], name: str, *args: object) -> subprocess.CompletedProcess[str]:
    """Call what takes the words of a command line and leaves the process."""
    argv = list(map(str, args))
    out, err = io.StringIO(), io.StringIO()
    log, models = logging.getLogger("epbench"), logging.getLogger("epbench.models")  # a training silences the models
    handlers, levels, status = log.handlers[:], (log.level, models.level), 0
    width = {"COLUMNS": os.environ.get("COLUMNS", "100")}
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(sys, "argv", [name, *argv]),
        patch.dict(os.environ, width),
    ):
        try:
            main(argv)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        finally:
            command.note_arguments(None)
            log.handlers[:] = handlers
            for one, level in zip((log, models), levels, strict=True):
                one.setLevel(level)  # not `one.level = …`: loggers below remember what was enabled
    return subprocess.CompletedProcess([name, *argv], status, out.getvalue(), err.getvalue())


def ran(line: str, *args: object) -> str:
    """Run a script that ends well; return what it prints."""
    done = script(line, *args)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    """Exit status 2, and one line that begins with `error:`."""
    assert done.returncode == 2, (done.returncode, done.stderr)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1 and lines[0].startswith("error: "), done.stderr
    assert message in lines[0], lines[0]
