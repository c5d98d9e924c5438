"""How this process was started, in words that start it again: as a script, or by a command such as `epbench compare`.

This is the one thing that a process knows about itself as a whole: whoever starts it says so once, before anything runs.
"""

import sys
from collections.abc import Sequence

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


def name() -> str | None:
    """Return the command, such as `epbench compare`; None for a script."""
    return " ".join(_command) or None


def words() -> list[str]:
    """Return the words that start the same again, from the same folder and with the same versions."""
    arguments = sys.argv[1:] if _arguments is None else _arguments
    return [*(_command or ("python", sys.argv[0])), *arguments]
