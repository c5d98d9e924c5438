"""Excerpts and, for each of their distance bins, a pair of segments that no other excerpt has.

That is a matching of excerpts to pairs in every bin. An excerpt takes a free pair at once where there is one, and else
by an augmenting path: others change theirs to make room. So excerpts fail only where the text has too few pairs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from epbench.booksort.pairs.bins import DistanceBin
from epbench.draws import RandomStream

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

_NO_GAP = 2**62

Pair = tuple[int, int]
"""First words of the earlier and the later segment, counted in the book."""


class Shelf:
    """The pairs of one distance bin and the excerpts that hold them."""

    def __init__(self, starts: Words, excerpt_words: int, segment_words: int, bin_: DistanceBin) -> None:
        """
        Args:
            starts: where segments may begin, ascending.
            excerpt_words: length of an excerpt.
            segment_words: length of a segment.
            bin_: which distances.
        """
        self._starts = starts
        self._reach = excerpt_words - segment_words  # an excerpt's last possible start of a segment
        self._bin = bin_
        self._holder: dict[Pair, int] = {}
        self._target: dict[int, int] = {}
        self.held: dict[int, Pair] = {}
        """Pair of each excerpt, by the excerpt's first word."""

    def possible(self, excerpts: Words) -> NDArray[np.bool_]:
        """Which excerpts (by first word, ascending) have a pair in this bin at all."""
        import numpy as np

        if not len(self._starts):
            return np.zeros(len(excerpts), bool)
        nearest = np.searchsorted(self._starts, self._starts + self._bin.least)
        second = self._starts[np.minimum(nearest, len(self._starts) - 1)]
        distance = second - self._starts
        fits = (distance >= self._bin.least) & (distance <= self._bin.most)
        never = np.iinfo(np.int64).max
        ends = np.minimum.accumulate(np.where(fits, second, never)[::-1])[::-1]  # first end of a pair from here on
        ends = np.append(ends, never)
        found: NDArray[np.bool_] = ends[np.searchsorted(self._starts, excerpts)] <= excerpts + self._reach
        return found

    def place(self, excerpt: int, draws: RandomStream) -> bool:
        """Give an excerpt a pair of its own; False where there is none, even if others change theirs.

        A distance is drawn uniformly in the bin and the free pair nearest to it is taken, ties at random: presented
        distances are as uniform as the text allows, rather than in proportion to how many pairs have them.
        """
        self._target[excerpt] = draws.between(self._bin.least, self._bin.most)
        pair = self._nearest_free(excerpt, draws)
        if pair:
            self._give(excerpt, pair)
            return True
        return self._augment(excerpt)

    def drop(self, excerpt: int) -> None:
        """Take its pair from an excerpt that has found none in another bin."""
        del self._holder[self.held.pop(excerpt)]

    def _give(self, excerpt: int, pair: Pair) -> None:
        self._holder[pair] = excerpt
        self.held[excerpt] = pair

    def _nearest_free(self, excerpt: int, draws: RandomStream) -> Pair | None:
        import numpy as np

        spread = self._bin.most - self._bin.least
        width = spread // max(1, self._reach // 20)  # mostly holds some pairs
        while True:
            first, second = self._pairs(excerpt, width)
            gaps = np.abs(second - first - self._target[excerpt])
            while (gap := gaps.min(initial=_NO_GAP)) < _NO_GAP:
                ties = np.flatnonzero(gaps == gap)
                turn = draws.index(len(ties))
                for tie in (*ties[turn:], *ties[:turn]):
                    pair = int(first[tie]), int(second[tie])
                    if pair not in self._holder:
                        return pair
                gaps[ties] = _NO_GAP
            if width >= spread:
                return None
            width = 4 * width + 1

    def _pairs(self, excerpt: int, width: int) -> tuple[Words, Words]:
        """The excerpt's pairs whose distance is at most `width` words from its target."""
        import numpy as np

        low, high = np.searchsorted(self._starts, (excerpt, excerpt + self._reach + 1))
        starts = self._starts[low:high]
        target = self._target[excerpt]
        begin = np.searchsorted(starts, starts + max(self._bin.least, target - width))
        end = np.searchsorted(starts, starts + min(self._bin.most, target + width), side="right")
        count = end - begin
        second = np.arange(count.sum()) + np.repeat(begin - np.cumsum(count) + count, count)
        return np.repeat(starts, count), starts[second]

    def _augment(self, excerpt: int) -> bool:
        """Breadth first from the excerpt over pairs and their holders to a free pair; then everyone moves on by one."""
        came_from: dict[Pair, int] = {}
        waiting = deque([excerpt])
        while waiting:
            asking = waiting.popleft()
            for pair in zip(*(words.tolist() for words in self._pairs(asking, self._bin.most)), strict=True):
                if pair in came_from:
                    continue
                came_from[pair] = asking
                if pair in self._holder:
                    waiting.append(self._holder[pair])
                    continue
                while True:  # back along the path
                    taker = came_from[pair]
                    left = self.held.get(taker)
                    self._give(taker, pair)
                    if left is None:
                        return True
                    pair = left
        return False


def fill(excerpts: Iterable[int], n: int, shelves: Sequence[Shelf], draws: RandomStream) -> list[int]:
    """The first n excerpts that get a pair in every bin; fewer where the text has no more.

    Args:
        excerpts: by first word, in the order in which they are tried.
        n: how many are wanted.
        shelves: one per bin; hold the pairs afterwards.
        draws: of the distances and of ties.
    """
    chosen: list[int] = []
    for excerpt in excerpts:
        if len(chosen) == n:
            break
        placed: list[Shelf] = []
        for shelf in shelves:
            if not shelf.place(excerpt, draws):
                break
            placed.append(shelf)
        if len(placed) == len(shelves):
            chosen.append(excerpt)
        else:
            for shelf in placed:
                shelf.drop(excerpt)
    return chosen
