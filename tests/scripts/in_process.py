"""Our scripts called in this process: what a user sees of them, without the seconds that a new Python takes."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from unittest.mock import patch

from epbench import command

ROOT = Path(__file__).parents[2]


def script(name: str, *args: object) -> subprocess.CompletedProcess[str]:
    """Run a script's main as its last line does, and catch what it prints and its exit status."""
    spec = spec_from_file_location(Path(name).stem, ROOT / name)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks its module up there
    spec.loader.exec_module(module)
    argv = list(map(str, args))
    out, err = io.StringIO(), io.StringIO()
    log = logging.getLogger("epbench")
    handlers, level, status = log.handlers[:], log.level, 0
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", [name, *argv]):
        try:
            command.run(module.main, argv)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        finally:
            log.handlers[:] = handlers
            log.setLevel(level)  # not `log.level = …`: loggers below remember what was enabled
    return subprocess.CompletedProcess([name, *argv], status, out.getvalue(), err.getvalue())


def refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    """Exit status 2, and one line that begins with `error:`."""
    assert done.returncode == 2, (done.returncode, done.stderr)
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1 and lines[0].startswith("error: "), done.stderr
    assert message in lines[0], lines[0]
