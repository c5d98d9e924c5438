"""A random subset of the questions of a dataset: a limited number of them, or one of the shards of a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import TypeVar

from epbench.errors import BadInput

Item = TypeVar("Item")


def subset(
    items: Sequence[Item], group_of: Callable[[Item], str], limit: int | None = None, shard: str | None = None
) -> list[Item]:
    """Choose the items of a run. The choice depends on the names of the groups alone, so it is the same on any machine.

    Args:
        items: All items of the dataset.
        group_of: The name of the group that an item belongs to. A shard never divides a group; a limit may divide the
            last one. Pass the id of an item to treat every item on its own.
        limit: The number of items to take, at least 1, group by group in a random order. A larger limit takes the same
            items and more. None takes all.
        shard: `i/n` with 1 ≤ i ≤ n: of the groups in their random order every n-th, beginning with the i-th. The n
            shards together hold every item within the limit exactly once. None takes all.

    Returns:
        The chosen items, in the order of `items`.

    Raises:
        BadInput: The limit is below 1, or there is no such shard.
    """
    if limit is not None and limit < 1:
        raise BadInput(f"limit: expected at least 1, got {limit}")
    groups: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        groups.setdefault(group_of(item), []).append(place)
    order = sorted(groups, key=lambda name: sha256(name.encode()).hexdigest())
    chosen = set([place for name in order for place in groups[name]][:limit])
    if shard is not None:
        number, n = part_of(shard)
        chosen &= {place for name in order[number - 1 :: n] for place in groups[name]}
    return [items[place] for place in sorted(chosen)]


def part_of(shard: str) -> tuple[int, int]:
    """Read `i/n`: the number of a part, from 1, and how many parts there are.

    Raises:
        BadInput: There is no such part.
    """
    match = re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", shard)
    if match is None or int(match[1]) > int(match[2]):
        raise BadInput(f"shard: expected i/n with 1 ≤ i ≤ n, such as 2/4, got {shard!r}")
    return int(match[1]), int(match[2])
