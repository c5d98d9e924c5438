"""The command `epbench`: it runs the scripts of `builders` and `eval_scripts` from any folder.

A script is run by its path as the main module of this process, exactly as `python SCRIPT` runs it. Processes that it
starts find the script as their main module, too, so that its functions can be sent to a pool. Nothing is imported here that
a script needs.
"""

from __future__ import annotations

import runpy
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from epbench import __version__, command
from epbench.command import carried, commands
from epbench.errors import BadInput

_USAGE = "usage: epbench COMMAND [ARGUMENTS]   epbench COMMAND --help   epbench --version"
_EXAMPLES = """\
Examples:

    epbench build tulving --book short --out out
    epbench publish out/short --metrics --to cache
    epbench eval tulving --dataset epbench/short --memory in-context --out runs/in-context
    epbench eval tulving --dataset epbench/short --memory none --out runs/none
    epbench report runs/in-context runs/none --out runs/report
    epbench eval tulving --config "$(epbench path eval_scripts/configs/tulving.yaml)"
    accelerate launch "$(epbench path finetune/sort_lm.py)"

Each command shows its examples and arguments with --help, and takes them from a YAML file with --config FILE.
Exit status: 0 ok, 2 bad input with one line that says what to change, 3 a limit of --max-… was reached, 1 another failure,
130 interrupted."""
_PATH_HELP = """\
usage: epbench path FILE

Print where a file lies that comes with this package: a script, a configuration or a prompt pack.

    accelerate launch "$(epbench path finetune/sort_lm.py)"
    accelerate launch --config_file "$(epbench path finetune/configs/fsdp2.yaml)" "$(epbench path finetune/sort_lm.py)" --help
    epbench eval tulving --config "$(epbench path eval_scripts/configs/tulving.yaml)"
    cp "$(epbench path tulving/data/prompts.toml)" my_prompts.toml"""
_HELP = ("--help", "-h")


def main(argv: Sequence[str] | None = None) -> None:
    """Run `epbench` with these words; None takes those of the command line. It leaves the process, as a script does."""
    command.run(_main, argv)


def _main(argv: Sequence[str] | None) -> None:
    words = tuple(sys.argv[1:] if argv is None else argv)
    if not words:
        raise BadInput("expected a command; epbench --help lists them")
    known = commands()
    for length in (1, 2):
        if script := known.get(words[:length]):
            run_script(script, ("epbench", *words[:length]), words[length:])
            return
    if words[0] in _HELP:
        print(_overview(known))
    elif words[0] == "--version":
        print(f"epbench {__version__}")
    elif words[0] == "path":
        _path(words[1:])
    else:
        _about_group(words, known)


def run_script(script: Path, name: Sequence[str], arguments: Sequence[str]) -> None:
    """Run a script as the main module of this process; `name` is the command that it is, which help and run.json show."""
    command.note_command(name)
    before = sys.argv
    sys.argv = [str(script), *arguments]
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv = before
        command.note_command(())


def _path(words: Sequence[str]) -> None:
    if words and words[0] in _HELP:
        print(_PATH_HELP)
    elif len(words) != 1:
        raise BadInput("epbench path: expected the name of one file, such as finetune/sort_lm.py")
    else:
        print(carried(words[0]))


def _about_group(words: Sequence[str], known: dict[tuple[str, ...], Path]) -> None:
    """The first word is `build` or `eval`, and the second is nothing that it takes; or it is no command at all."""
    group = [name for name in known if name[0] == words[0]]
    if not group:
        names = ", ".join(sorted({name[0] for name in known} | {"path"}))
        raise BadInput(f"unknown command {words[0]!r}; expected one of {names}; see epbench --help")
    if len(words) > 1 and words[1] in _HELP:
        print("\n".join([f"usage: epbench {words[0]} NAME [ARGUMENTS]", "", *_lines({n: known[n] for n in group})]))
        return
    found = repr(words[1]) if len(words) > 1 else "nothing"
    raise BadInput(f"epbench {words[0]}: expected one of {', '.join(name[1] for name in group)}, got {found}")


def _overview(known: dict[tuple[str, ...], Path]) -> str:
    makes = {name: path for name, path in known.items() if path.parent.name == "builders"}
    reads = {name: path for name, path in known.items() if name not in makes}
    where = f"{'path':<15}  Print where a file of this package lies, such as a script for accelerate launch."
    parts = [_USAGE, "Measure the episodic memory of language models and of the memory systems around them."]
    parts += ["\n".join(["Make and publish datasets:", *_lines(makes)])]
    parts += ["\n".join(["Run and read evaluations:", *_lines(reads)]), f"Train:\n  {where}"]
    return "\n\n".join([*parts, _EXAMPLES])


def _lines(named: dict[tuple[str, ...], Path]) -> list[str]:
    """One line for each command: its name, and the first line of its script, as far as the terminal is wide."""
    room = max(shutil.get_terminal_size().columns, 80) - 20
    lines = []
    for name, path in named.items():
        with path.open(encoding="utf-8") as script:
            about = script.readline().strip().strip('"')
        lines.append(f"  {' '.join(name):<15}  {textwrap.shorten(about, room, placeholder=' …')}")
    return lines
