"""What the replies of a judging model say.

Prose and fences around the JSON do not matter, and numbers may be given as text. A reply that could be read in two ways is
unusable: one with a repeated field, with two scores of one true item, or with fewer or more scores than true items. So is
one with a score outside 0 to 1: of a judge that gives 5 nobody knows whether it means 5 of 5 or 5 of 10.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from epbench.errors import UnusableReply
from epbench.models.json_replies import last_object_with, number_of


def read_verdict(reply: str, n: int) -> tuple[list[str], list[float], str]:
    """Read the reply to a first call: the items, stripped of blanks; one score for each of n true items, if any; the reason.

    Raises:
        UnusableReply: There is no such object, a field is repeated, an item is not a text, a score is not a number from 0
            to 1, or there is not exactly one score for each true item.
    """
    reply_object = last_object_with(reply, "items", *(["scores"] if n else []))
    items = _stripped(_list(reply_object, "items"))
    scores = _scores(_list(reply_object, "scores"), n) if n else []
    reason = reply_object.get("reason", "")
    return items, scores, reason if isinstance(reason, str) else ""


def read_named(reply: str, reference: Sequence[str], named: Mapping[str, str]) -> tuple[list[str], list[float], str]:
    """Read the reply to a first call in a form of which `named` names the fields; see `JudgePrompts.reply`.

    Raises:
        UnusableReply: There is no such object, an item is not a text, or there is not one object with a score from 0 to 1
            for each true item, repeats included. The first score of a repeated one counts.
    """
    found = last_object_with(reply, named["items"], named["scores"])
    listed, entries = _list(found, named["items"]), _list(found, named["scores"])
    items = _stripped(listed)
    values = [
        number_of(next(iter(entry.values()))) if isinstance(entry, dict) and len(entry) == 1 else None
        for entry in entries
    ]
    scores = [float(value) for value in values if value is not None and 0 <= value <= 1]
    if not len(scores) == len(entries) == len(reference):
        raise UnusableReply(
            f"{named['scores']} is {_shown(entries)}, {len(reference)} objects are expected, each with a true item and its "
            "score from 0 to 1"
        )
    by_item = dict(zip(reversed(reference), reversed(scores), strict=True))
    reason = found.get(named["reason"], "")
    return items, [by_item[item] for item in dict.fromkeys(reference)], reason if isinstance(reason, str) else ""


def read_indexes(reply: str, n: int, name: str) -> list[int]:
    """Read indexes from 0 in a field of the reply to a second call; whatever is none of n true items is left out."""
    numbers = [number_of(entry) for entry in _list(last_object_with(reply, name), name)]
    if any(number is None or number != int(number) for number in numbers):
        raise UnusableReply(f"{name} has something else than whole numbers")
    return [int(number) for number in dict.fromkeys(numbers) if number is not None and 0 <= number < n]


def read_order(reply: str, n: int) -> list[int]:
    """Read the reply to a second call: the numbers of the n true items, from 0, in the order of the answer, each once.

    UnusableReply if there is no such object, a field is repeated, or something in the order is not the number of a true item.
    """
    positions: list[int] = []
    for entry in _list(last_object_with(reply, "order"), "order"):
        number = _number_of_item(entry, n)
        if number is None:
            raise UnusableReply(f"the order has {_shown(entry)}, a whole number from 1 to {n} is expected")
        positions.append(number - 1)
    return list(dict.fromkeys(positions))


def _scores(entries: list[Any], n: int) -> list[float]:
    """The scores in the order of the true items, regardless of the order of the entries."""
    by_number: dict[int, float] = {}
    for entry in entries:
        number = _number_of_item(entry.get("number"), n) if isinstance(entry, dict) else None
        if number is None:
            raise UnusableReply(f"a score is {_shown(entry)}, an object with the number of a true item is expected")
        if number in by_number:
            raise UnusableReply(f"true item {number} has two scores, one is expected")
        score = number_of(entry.get("score"))
        if score is None or not 0 <= score <= 1:
            shown = _shown(entry.get("score"))
            raise UnusableReply(f"the score of true item {number} is {shown}, a number from 0 to 1 is expected")
        by_number[number] = score
    if len(by_number) != n:
        raise UnusableReply(f"{len(by_number)} scores were found, {n} are expected, one for each true item")
    return [float(by_number[number]) for number in range(1, n + 1)]


def _number_of_item(value: Any, n: int) -> int | None:
    """A whole number from 1 to n, or None."""
    number = number_of(value)
    return int(number) if number is not None and 1 <= number <= n and number == int(number) else None


def _stripped(items: list[Any]) -> list[str]:
    if wrong := [item for item in items if not isinstance(item, str)]:
        raise UnusableReply(f"an item is {_shown(wrong[0])}, a text is expected")
    return [item.strip() for item in items if item.strip()]


def _list(reply_object: dict[str, Any], key: str) -> list[Any]:
    if not isinstance(reply_object[key], list):
        raise UnusableReply(f"{key} is {_shown(reply_object[key])}, a list is expected")
    return list(reply_object[key])


def _shown(value: Any) -> str:
    """A value for a message, as JSON of at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
