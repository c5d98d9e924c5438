"""How long `make quickstart` takes, command by command, in an environment that is installed.

    python benchmarks/quickstart.py

Runs the commands in a new folder, with an empty home, so that nothing of an earlier run is found. Prints what was run on
what, a table, and as its last line one JSON object: seconds from start to end, cpu_seconds of all commands, and for each
command both.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from questions import machine

ROOT = Path(__file__).parents[1]
TIMED = """#!{python}
import json, os, subprocess, sys, time
begin = time.perf_counter()
code = subprocess.run([{python!r}, *sys.argv[1:]]).returncode
seconds, used = time.perf_counter() - begin, os.times()
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], seconds, used.children_user + used.children_system]) + "\\n")
sys.exit(code)
"""


def shown(arguments: list[str]) -> str:
    """A command as short as it can be told from the others."""
    return shlex.join(arguments)[:110]


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()

    from rich.console import Console
    from rich.table import Table

    console = Console(width=140)
    console.print(f"Python {platform.python_version()}, {machine()}")
    with tempfile.TemporaryDirectory() as scratch:
        folder, commands, log = Path(scratch) / "folder", Path(scratch) / "bin", Path(scratch) / "log"
        for made in (folder, commands, Path(scratch) / "home"):
            made.mkdir()
        for name in ("builders", "eval_scripts", "metrics", "Makefile"):
            (folder / name).symlink_to(ROOT / name)
        timed = commands / "python"
        timed.write_text(TIMED.format(python=sys.executable, log=str(log)))
        timed.chmod(0o755)
        (folder / ".venv").mkdir()
        (folder / ".venv/.core").touch()
        begin = time.perf_counter()
        subprocess.run(
            ["make", "quickstart", f"BIN={commands}", "--assume-old=.venv/.core"],
            cwd=folder,
            env={**os.environ, "HOME": f"{scratch}/home"},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        seconds = time.perf_counter() - begin
        runs = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    table = Table("command", "seconds", "of CPU")
    for arguments, took, cpu in runs:
        table.add_row(shown(arguments), f"{took:.1f}", f"{cpu:.1f}")
    console.print(table)
    result = {
        "seconds": round(seconds, 1),
        "cpu_seconds": round(sum(cpu for _, _, cpu in runs), 1),
        "commands": [[shown(arguments), round(took, 2), round(cpu, 2)] for arguments, took, cpu in runs],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
