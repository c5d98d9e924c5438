"""What retrieval is made of: embedders turn texts into vectors, searchers find the texts that fit a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Matrix = npt.NDArray[np.float32]


class Searcher(Protocol):
    """An index over texts."""

    def search(self, queries: Sequence[str], k: int) -> Iterator[list[int]]:
        """Yield for each query the positions of its k best texts, or of all if there are fewer, best first.

        Texts with equal scores come in the order in which they were indexed.
        """


MakeSearcher = Callable[[Sequence[str]], Searcher]
"""Builds an index over texts."""


class Embedder(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """The model and its version. Two embedders with the same name give the same vectors."""

    @property
    def batch_bytes(self) -> int:
        """How many bytes of UTF-8 text one call should get. A kill loses the vectors of the call that it interrupts."""

    def check(self, chunks: Sequence[str]) -> None:
        """Warn, before any of these chunks is embedded, if some are too long for the model and will be cut."""

    def embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """Compute one float32 vector of any length for each text, in an array of shape (number of texts, d).

        `query` is whether the texts are queries; some models embed these in another way than the texts they search.
        """
