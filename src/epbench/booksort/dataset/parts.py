"""Parts of a set of pairs: a random few of them, or one shard of several machines'."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

from epbench.booksort.dataset.load import Pair
from epbench.errors import BadInput


def part_of(pairs: Sequence[Pair], limit: int | None = None, shard: str | None = None) -> list[Pair]:
    """The pairs of this run, in the order of the set. The pairs of an excerpt stay together: it is read once.

    Args:
        pairs: all of them.
        limit: take this many, excerpt by excerpt in a random order; a larger limit takes the same and more.
        shard: `i/n` with 1 ≤ i ≤ n: of what is left every n-th excerpt; the n shards are the whole.

    Raises:
        BadInput: a limit below 1, or no such shard.
    """
    if limit is not None and limit < 1:
        raise BadInput(f"--limit {limit}: at least 1 expected")
    excerpts: dict[str, list[Pair]] = {}
    for pair in pairs:
        excerpts.setdefault(f"{pair.config} {pair.book_idx} {pair.excerpt_idx}", []).append(pair)
    order = sorted(excerpts, key=lambda name: sha256(name.encode()).hexdigest())
    kept = {pair.id for pair in [pair for name in order for pair in excerpts[name]][:limit]}
    if shard is not None:
        match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", shard)
        if match is None or int(match[1]) > int(match[2]):
            raise BadInput(f"--shard {shard}: i/n with 1 ≤ i ≤ n expected, such as 2/4")
        kept &= {pair.id for name in order[int(match[1]) - 1 :: int(match[2])] for pair in excerpts[name]}
    return [pair for pair in pairs if pair.id in kept]
