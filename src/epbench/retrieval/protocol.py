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
        """Yield for each query the positions of its k best texts, best first.

        Texts with equal scores come in the order in which they were indexed. Fewer than k positions come back where
        there are fewer texts.
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
        """Warn once if some of these chunks are too long for the model and will be cut.

        It is called with all chunks before the first of them is embedded.
        """

    def embed(self, texts: Sequence[str], *, query: bool) -> Matrix:
        """Compute one float32 vector for each text, in an array of shape (number of texts, d).

        Args:
            texts: what is embedded. The vectors may have any length.
            query: whether the texts are queries; some models embed these in another way than the texts they search.
        """
