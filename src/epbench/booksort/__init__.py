"""Book-SORT: which of two segments of a book came first?

Begin with `evaluate`, which is the method from top to bottom. Its parts, in their order: `texts` (books, cleaned and split into
sentences), `pairs` (excerpts and their segments), `dataset` (the pairs as Parquet), `context` (what a model is shown and asked,
and who answers), `judging` (what it said), `evaluation` (what a user can choose, and choosing a prompt on held-out pairs),
`scores`. Each imports only what comes before it. `paper` makes the tables and figures of the paper from runs, and
`leaderboard` ranks them.
Paper: Pink et al., 2024.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from epbench.booksort.answers import score

__all__ = ["score"]


def __getattr__(name: str) -> Any:
    """Import what is exported when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from epbench.booksort import answers

    return getattr(answers, name)
