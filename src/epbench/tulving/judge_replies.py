"""From a judge's reply to items, scores and order; prose and fences around the JSON are nothing to stumble over."""

from __future__ import annotations

import json
import math
from typing import Any, TypeGuard

from epbench.models.replied_json import objects_in


class Unusable(Exception):
    """A reply that is no verdict; the message says why, in words that the judge is told."""


def read_verdict(reply: str, n: int) -> tuple[list[str], list[float], str]:
    """Items, scores and reason of a first call.

    Args:
        reply: as it came.
        n: number of different true items, from 0; without any, scores are not looked at.

    Returns:
        The items, without blanks; one score per true item, in their order, clipped to [0, 1]; the reason.

    Raises:
        Unusable: no such object, an item that is no text, a score that is no finite number, or not one for each.
    """
    found = _object_with(reply, "items", *(["scores"] if n else []))
    items = _list(found, "items")
    for item in items:
        if not isinstance(item, str):
            raise Unusable(f"an item is {_shown(item)}, a text is expected")
    scores = _scores(_list(found, "scores"), n) if n else []
    reason = found.get("reason", "")
    return [item.strip() for item in items if item.strip()], scores, reason if isinstance(reason, str) else ""


def read_order(reply: str, n: int) -> list[int]:
    """Places of the true items, from 0, as a second call orders them; of a repeated one the first place.

    Args:
        reply: as it came.
        n: number of different true items.

    Raises:
        Unusable: no such object, or something in it that is no number of a true item.
    """
    order = _list(_object_with(reply, "order"), "order")
    for number in order:
        if not _is_number_of_item(number, n):
            raise Unusable(f"the order has {_shown(number)}, a whole number from 1 to {n} is expected")
    return [number - 1 for number in dict.fromkeys(order)]


def _scores(entries: list[Any], n: int) -> list[float]:
    """The scores in the order of the true items, whatever the order of the entries."""
    by_number: dict[int, float] = {}
    for entry in entries:
        number, score = (entry.get("number"), entry.get("score")) if isinstance(entry, dict) else (None, None)
        if not _is_number_of_item(number, n):
            raise Unusable(f"a score is {_shown(entry)}, an object with the number of a true item is expected")
        if number in by_number:
            raise Unusable(f"true item {number} has two scores, one is expected")
        if isinstance(score, bool) or not isinstance(score, int | float) or not _is_finite(score):
            raise Unusable(f"the score of true item {number} is {_shown(score)}, a number from 0 to 1 is expected")
        by_number[number] = min(1.0, max(0.0, score))
    if len(by_number) != n:
        raise Unusable(f"{len(by_number)} scores were found, {n} are expected, one for each true item")
    return [float(by_number[number]) for number in range(1, n + 1)]


def _is_number_of_item(number: Any, n: int) -> TypeGuard[int]:
    return isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= n


def _is_finite(score: float) -> bool:
    return isinstance(score, int) or math.isfinite(score)  # isfinite cannot take very large integers


def _list(found: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(found[key], list):
        raise Unusable(f"{key} is {_shown(found[key])}, a list is expected")
    return list(found[key])


def _object_with(reply: str, *keys: str) -> dict[str, Any]:
    """The last JSON object in the reply that has these keys: what comes before it is thinking aloud."""
    found = [candidate for candidate in objects_in(reply) if all(key in candidate for key in keys)]
    if not found:
        raise Unusable(f"no JSON object with {' and '.join(keys)} was found")
    return found[-1]


def _shown(value: Any) -> str:
    """A value in a message: JSON of bearable length."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
