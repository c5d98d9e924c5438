"""Seeded draws that are the same on every machine and in every Python version.

Each use has its own stream, named by a key, so that a new draw in one place changes nothing elsewhere. Only
`Random.random()` and the raw output of PCG64 are used: both are documented as stable, `choice` and `sample` are not.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")


def _seed_of(key: tuple[object, ...]) -> int:
    text = "\x1f".join(map(str, key))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


class RandomStream:
    """A stream of draws for one purpose, such as `RandomStream("plan", seed, event_number)`."""

    def __init__(self, *key: object) -> None:
        self.unit = random.Random(_seed_of(key)).random
        """Return the next number in [0, 1)."""

    def index(self, n: int) -> int:
        """Draw an integer from 0 to n - 1, uniformly."""
        return int(self.unit() * n)

    def between(self, low: int, high: int) -> int:
        """Draw an integer from low to high, both included, uniformly."""
        return low + self.index(high - low + 1)

    def pick(self, items: Sequence[T]) -> T:
        """Draw one of the items, uniformly."""
        return items[int(self.unit() * len(items))]

    def sample(self, items: Sequence[T], k: int) -> list[T]:
        """Draw k different items in random order; all of them, shuffled, if there are at most k."""
        unit, pool = self.unit, list(items)
        n = len(pool)
        for i in range(min(k, n)):
            j = i + int(unit() * (n - i))
            pool[i], pool[j] = pool[j], pool[i]
        return pool[:k]

    def one_by_one(self, items: Sequence[T]) -> Iterator[T]:
        """Draw the items in random order, each when it is asked for: those of `sample`, of as many as are needed."""
        n, moved = len(items), dict[int, int]()
        for i in range(n):
            j = i + int(self.unit() * (n - i))
            yield items[moved.get(j, j)]
            moved[j] = moved.pop(i, i)

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """Draw one of the items, with probability proportional to its weight."""
        mark = self.unit() * sum(weights)
        for item, weight in zip(items, weights, strict=True):
            mark -= weight
            if mark < 0:
                return item
        return items[-1]


class UnitStream:
    """A long stream of numbers in [0, 1) as numpy arrays, for draws by the million."""

    def __init__(self, *key: object) -> None:
        import numpy as np

        self._bits = np.random.PCG64(_seed_of(key))

    def take(self, n: int) -> NDArray[np.float64]:
        """Return the next n numbers; the stream is the same whatever the size of the blocks."""
        import numpy as np

        raw: NDArray[np.uint64] = self._bits.random_raw(n)
        raw >>= np.uint64(11)
        drawn = raw.view(np.int64).astype(np.float64)  # from signed numbers it is several times faster
        drawn *= 2.0**-53
        return drawn
