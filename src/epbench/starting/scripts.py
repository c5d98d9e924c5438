"""Where our scripts are, which commands of `epbench` they are, and how a text names them for whoever reads it.

In a checkout the scripts stand in `builders`, `eval_scripts` and `finetune` at its root; a wheel carries these folders. A
new script is a command without being listed anywhere: its file gives the name, its docstring the line in the help.
"""

import re
from pathlib import Path

from epbench.errors import BadInput
from epbench.starting import command_line

PACKAGE = Path(__file__).parents[1]
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
    """Return the path of a file that comes with the scripts, such as `finetune/sort_lm.py`, or with the package.

    Raises:
        BadInput: There is no such file.
    """
    for root in (scripts_root(), PACKAGE):
        if not Path(name).is_absolute() and ".." not in Path(name).parts and (root / name).is_file():
            return root / name
    there = sorted(path for ending in ("*.py", "configs/*.yaml") for path in (scripts_root() / "finetune").glob(ending))
    names = ", ".join(path.relative_to(scripts_root()).as_posix() for path in there)
    raise BadInput(f"{name!r}: found no such script or data file; for training there are {names}")


def translated(text: str) -> str:
    """Name scripts and their configurations as commands, if this process was started by `epbench` or comes from a wheel.

    >>> translated("my/eval_scripts/tulving.py")
    'my/eval_scripts/tulving.py'
    """
    in_wheel = scripts_root() == _IN_WHEEL
    if not (in_wheel or command_line.name()):
        return text
    text = _SCRIPT.sub(lambda found: " ".join(("epbench", *command_of(found[1], found[2]))), text)
    text = _CARRIED.sub(lambda found: f'"$(epbench path {found[0]})"', text)
    return _DATA.sub(lambda found: f"{PACKAGE.as_posix()}/", text) if in_wheel else text
