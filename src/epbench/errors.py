"""All errors that leave a room of the library, and what becomes of them.

EpbenchError
├── BadInput             input that the user can correct: one line, exit status 2
├── RunFailed            a run that could not end: one line, exit status 1; its journals are kept
│   └── NothingToScore   … because none of its questions has a judged answer
└── QuestionFailed       one question has failed, and is neither right nor wrong: journaled with its reason, the run goes on
    ├── CallFailed       a call to a memory system gave no usable result
    │   └── SystemLost   … and cost the instance, so that the system must be started again
    └── UnusableReply    a model's reply does not hold what was asked for; it is asked for once more

Errors of the operating system (`OSError`) are passed on, with the name of the file. Other exceptions are bugs.
"""


class EpbenchError(Exception):
    """Base of every error that epbench raises on purpose."""


class BadInput(EpbenchError, ValueError):
    """Input that cannot be used. The message names the file, row and field, what was found and what was expected."""


class RunFailed(EpbenchError, RuntimeError):
    """A run that could not be completed; what was journaled so far is kept."""


class NothingToScore(RunFailed):
    """A run of which no question has a judged answer. Training catches it: a new model may not end any answer."""


class QuestionFailed(EpbenchError):
    """One question that has failed. It is caught where it is journaled, and never ends a run."""


class CallFailed(QuestionFailed):
    """A call to a memory system without a usable result. The message is the reason, in one line."""


class SystemLost(CallFailed):
    """A call that cost the instance: it did not return in time, or the system's process ended."""


class UnusableReply(QuestionFailed):
    """A reply that cannot be used. The message says why, in words that a model can act on.

    The message becomes part of the repeated request, and so of its key in a journal of calls: with another wording, a judge
    that was stopped would ask again.
    """


def reason_of(error: BaseException, longest: int = 300) -> str:
    """Return the message of a foreign error as one line of at most so many characters; its type if it has no message."""
    return " ".join(str(error).split())[:longest] or type(error).__name__
