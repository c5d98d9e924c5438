"""Give every excerpt a pair of segments in each distance bin that no other excerpt has.

In every bin this is a matching of excerpts to pairs. An excerpt takes a free pair if there is one. Otherwise an augmenting
path makes room: other excerpts exchange their pairs. So an excerpt fails only if the text has too few pairs.
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

SegmentPair = tuple[int, int]
"""Indices in the book of the first words of the earlier and the later segment."""


class Shelf:
    """The pairs of one distance bin and the excerpts that hold them."""

    def __init__(self, starts: Words, excerpt_words: int, segment_words: int, bin_: DistanceBin) -> None:
        """Set up an empty shelf.

        Args:
            starts: Indices of the words at which segments may begin, in ascending order.
            excerpt_words: Length of an excerpt in words.
            segment_words: Length of a segment in words.
            bin_: The distance bin.
        """
        self._starts = starts
        self._reach = (
            excerpt_words - segment_words
        )  # from the start of an excerpt to the last possible start of a segment
        self._bin = bin_
        self._holder: dict[SegmentPair, int] = {}
        self._target: dict[int, int] = {}
        self.held: dict[int, SegmentPair] = {}
        """The pair of each excerpt, by the excerpt's first word."""

    def possible(self, excerpts: Words) -> NDArray[np.bool_]:
        """Return which excerpts (by first word, in ascending order) have any pair in this bin."""
        import numpy as np

        if not len(self._starts):
            return np.zeros(len(excerpts), bool)
        nearest = np.searchsorted(self._starts, self._starts + self._bin.least)
        second = self._starts[np.minimum(nearest, len(self._starts) - 1)]
        distance = second - self._starts
        fits = (distance >= self._bin.least) & (distance <= self._bin.most)
        never = np.iinfo(np.int64).max
        # By start: the earliest end of a pair that begins there or later.
        ends = np.minimum.accumulate(np.where(fits, second, never)[::-1])[::-1]
        ends = np.append(ends, never)
        found: NDArray[np.bool_] = ends[np.searchsorted(self._starts, excerpts)] <= excerpts + self._reach
        return found

    def place(self, excerpt: int, stream: RandomStream) -> bool:
        """Give an excerpt its own pair; return False if there is none, even after exchanges with other excerpts.

        A distance is drawn uniformly from the bin, and the free pair closest to it is taken, with ties broken at random. So
        the distances are as uniform as the text allows, and do not depend on how many pairs have each distance.
        """
        self._target[excerpt] = stream.between(self._bin.least, self._bin.most)
        pair = self._nearest_free(excerpt, stream)
        if pair:
            self._give(excerpt, pair)
            return True
        return self._augment(excerpt)

    def drop(self, excerpt: int) -> None:
        """Take the pair from an excerpt that found none in another bin."""
        del self._holder[self.held.pop(excerpt)]

    def _give(self, excerpt: int, pair: SegmentPair) -> None:
        self._holder[pair] = excerpt
        self.held[excerpt] = pair

    def _nearest_free(self, excerpt: int, stream: RandomStream) -> SegmentPair | None:
        import numpy as np

        spread = self._bin.most - self._bin.least
        width = spread // max(1, self._reach // 20)  # wide enough for some pairs in most cases
        while True:
            first, second = self._pairs(excerpt, width)
            gaps = np.abs(second - first - self._target[excerpt])
            while (gap := gaps.min(initial=_NO_GAP)) < _NO_GAP:
                ties = np.flatnonzero(gaps == gap)
                turn = stream.index(len(ties))
                for tie in (*ties[turn:], *ties[:turn]):
                    pair = int(first[tie]), int(second[tie])
                    if pair not in self._holder:
                        return pair
                gaps[ties] = _NO_GAP
            if width >= spread:
                return None
            width = 4 * width + 1

    def _pairs(self, excerpt: int, width: int) -> tuple[Words, Words]:
        """Return the excerpt's pairs whose distances differ from its target by at most `width` words."""
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
        """Search breadth first over pairs and their holders for a free pair, then shift all pairs along the path."""
        came_from: dict[SegmentPair, int] = {}
        waiting = deque([excerpt])
        while waiting:
            current = waiting.popleft()
            for pair in zip(*(words.tolist() for words in self._pairs(current, self._bin.most)), strict=True):
                if pair in came_from:
                    continue
                came_from[pair] = current
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


def fill(excerpts: Iterable[int], n: int, shelves: Sequence[Shelf], stream: RandomStream) -> list[int]:
    """Return the first n excerpts that get a pair in every bin, or fewer if the text has no more.

    Args:
        excerpts: First words of the excerpts, in the order in which they are tried.
        n: Number of excerpts wanted.
        shelves: One shelf per bin, which holds the pairs afterwards.
        stream: Random stream of the distances and ties.
    """
    chosen: list[int] = []
    for excerpt in excerpts:
        if len(chosen) == n:
            break
        placed: list[Shelf] = []
        for shelf in shelves:
            if not shelf.place(excerpt, stream):
                break
            placed.append(shelf)
        if len(placed) == len(shelves):
            chosen.append(excerpt)
        else:
            for shelf in placed:
                shelf.drop(excerpt)
    return chosen
