"""From a judge's reply to items, scores and order.

Prose and fences around the JSON do not matter, and numbers may be given as text. A reply that could be read in two ways
is unusable: a field that is named twice, two scores of one true item, fewer or more scores than true items.
"""

from __future__ import annotations

import json
from typing import Any

from epbench.models.json_replies import Unusable, last_object_with, number_of


def read_verdict(reply: str, n: int) -> tuple[list[str], list[float], str]:
    """Items, scores and reason of a first call.

    Args:
        reply: as it came.
        n: number of different true items, from 0; without any, scores are not looked at.

    Returns:
        The items, without blanks; one score per true item, in their order, clipped to [0, 1]; the reason.

    Raises:
        Unusable: there is no such object, it names a field twice, an item is no text, a score is no finite number, or
            there is not exactly one score for each true item.
    """
    found = last_object_with(reply, "items", *(["scores"] if n else []))
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
        Unusable: there is no such object, it names a field twice, or something in the order is no number of a true
            item.
    """
    places: list[int] = []
    for entry in _list(last_object_with(reply, "order"), "order"):
        number = _number_of_item(entry, n)
        if number is None:
            raise Unusable(f"the order has {_shown(entry)}, a whole number from 1 to {n} is expected")
        places.append(number - 1)
    return list(dict.fromkeys(places))


def _scores(entries: list[Any], n: int) -> list[float]:
    """The scores in the order of the true items, whatever the order of the entries."""
    by_number: dict[int, float] = {}
    for entry in entries:
        number = _number_of_item(entry.get("number"), n) if isinstance(entry, dict) else None
        if number is None:
            raise Unusable(f"a score is {_shown(entry)}, an object with the number of a true item is expected")
        if number in by_number:
            raise Unusable(f"true item {number} has two scores, one is expected")
        score = number_of(entry.get("score"))
        if score is None:
            shown = _shown(entry.get("score"))
            raise Unusable(f"the score of true item {number} is {shown}, a number from 0 to 1 is expected")
        by_number[number] = min(1.0, max(0.0, score))
    if len(by_number) != n:
        raise Unusable(f"{len(by_number)} scores were found, {n} are expected, one for each true item")
    return [float(by_number[number]) for number in range(1, n + 1)]


def _number_of_item(value: Any, n: int) -> int | None:
    """A whole number from 1 to n, or None."""
    number = number_of(value)
    return int(number) if number is not None and 1 <= number <= n and number == int(number) else None


def _list(found: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(found[key], list):
        raise Unusable(f"{key} is {_shown(found[key])}, a list is expected")
    return list(found[key])


def _shown(value: Any) -> str:
    """A value in a message: JSON of bearable length."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
