"""What can go wrong, as the user sees it.

EpbenchError
├── BadInput    the user can mend it: one line, exit status 2
└── RunFailed   the run could not end: one line, exit status 1
"""


class EpbenchError(Exception):
    """Base of every error that epbench raises on purpose."""


class BadInput(EpbenchError, ValueError):
    """Input that cannot be used. The message names the file, row and field, what was found and what was expected."""


class RunFailed(EpbenchError, RuntimeError):
    """A run that could not be completed; what was journaled so far is kept."""
