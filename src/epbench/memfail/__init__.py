"""MemFail: at which stage does a memory system fail?

Read the rooms in the order of the method: `templates` (rows made without a model), `dataset` (the five tables, what they
store and ask, and what in them limits the meaning of a score), `context` (what a system is told and a reader is shown),
`judging` (stage by stage), `scores`; `evaluate` is the whole method from top to bottom. Beside them stand `calibration`, which
plants faults to see whether a judge finds them; `paper`, the paper's tables and figures from runs, and its claims against
them; and `leaderboard`. Paper: Garg et al., 2026.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from epbench.memfail.answers import score

__all__ = ["score"]


def __getattr__(name: str) -> Any:
    """Import what is exported when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from epbench.memfail import answers

    return getattr(answers, name)
