"""Parts of a set of questions: a random few of them, or one shard of several machines'."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

from epbench.errors import BadInput
from epbench.hub.rows import Row


def part_of(rows: Sequence[Row], limit: int | None = None, shard: str | None = None) -> list[Row]:
    """The questions of this run, in the order of the set.

    Args:
        rows: all questions.
        limit: take this many at random; a larger limit takes the same and more.
        shard: `i/n` with 1 ≤ i ≤ n: of what is left every n-th in a random order; the n shards are the whole.

    Raises:
        BadInput: a limit below 1, or no such shard.
    """
    if limit is not None and limit < 1:
        raise BadInput(f"--limit {limit}: at least 1 expected")
    by_hash = sorted((row["id"] for row in rows), key=lambda id_: sha256(id_.encode()).hexdigest())[:limit]
    if shard is not None:
        match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", shard)
        if match is None or int(match[1]) > int(match[2]):
            raise BadInput(f"--shard {shard}: i/n with 1 ≤ i ≤ n expected, such as 2/4")
        by_hash = by_hash[int(match[1]) - 1 :: int(match[2])]
    kept = set(by_hash)
    return [row for row in rows if row["id"] in kept]
