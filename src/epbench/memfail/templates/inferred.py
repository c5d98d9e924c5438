"""Situations of the harder rows: whether a condition holds has to be inferred, since no word of meaning is shared.

Paper: Section 4, task 1. For some types of conditions the situation is a number and the condition a bound on it (`with
motivation above 8 of 10`, and a 7 today). For the others the situation is an observation that goes with one condition of
the type and rules out the others (`on weekdays`, and it is Saturday). The words that a situation shares with a condition
say nothing, whichever of the two it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.draws import RandomStream
from epbench.memfail.templates.bank import Entity, bank, fill


def inferred_situations(
    kinds: Sequence[str], met: Sequence[bool], entities: Sequence[Entity], stream: RandomStream
) -> list[tuple[str, str]]:
    """Return a condition and a situation for every rule.

    Args:
        kinds: The type of each condition.
        met: Whether the condition holds in the situation.
        entities: Whom the situation is about.
        stream: Random stream of this use.
    """
    content = bank("conditional_harder")
    used: Counter[str] = Counter()
    made = []
    for kind, holds, entity in zip(kinds, met, entities, strict=True):
        if kind in content["bounds"]:
            made.append(_bounded(content["bounds"][kind], used[kind], holds, entity, stream))
        else:
            made.append(_observed(content["inferred"][kind], used[kind], holds, entity, stream))
        used[kind] += 1
    return made


def _bounded(
    scale: Mapping[str, Any], number: int, holds: bool, entity: Entity, stream: RandomStream
) -> tuple[str, str]:
    """Return a bound and a value at most `margin` away from it, on the side that the truth demands, never equal to it."""
    side = ("above", "below")[number % 2]
    bound = stream.between(scale["least"], scale["most"])
    distance = stream.between(1, scale["margin"])
    value = bound + distance if (side == "above") == holds else bound - distance
    return (
        scale[side].format(bound=bound),
        fill(stream.pick(scale["scenes"]), entity.words | {"value": str(value)}, stream),
    )


def _observed(
    scenes: Mapping[str, Sequence[str]], number: int, holds: bool, entity: Entity, stream: RandomStream
) -> tuple[str, str]:
    """Return a condition, and an observation that goes with it or with another condition of the type."""
    conditions = [*scenes]
    condition = conditions[number % len(conditions)]
    shown = condition if holds else stream.pick([other for other in conditions if other != condition])
    return condition, fill(stream.pick(scenes[shown]), entity.words, stream)
