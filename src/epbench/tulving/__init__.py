"""Tulving books: synthetic books in which every chapter is one known event, and questions about them.

`evaluate` is the evaluation from top to bottom, and `rejudge` has another judge read its answers. Read the rooms in the order
of the method: `events` (what happens), `chapters` (how it is written), `scenes`, `levels` and
`solving` (books beyond the template: what they are made of, what each level adds, and the proof), `questions`, `dataset`
(the book with its questions as Parquet), `context` (what a reader is shown), `reader` (the built-in one), `judging` (which
true items an answer contains), `scores`. Beside them stand `calibration` (how far a judge can be trusted) and `released`
(the paper's own data and runs), and `finetuning` (a book in the weights of a model). Paper: Huet et al., ICLR 2025.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from epbench.tulving.answers import score, score_answer

__all__ = ["score", "score_answer"]


def __getattr__(name: str) -> Any:
    """Import what is exported when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from epbench.tulving import answers

    return getattr(answers, name)
