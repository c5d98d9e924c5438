"""The replies of a published archive's own judge: `evaluated_answers/<q>.json` and `chronological_answers/<q>.json`.

The first holds the items that the judge found in the answer, and a score for each true item under the name that the
judge gave it. The second holds, for chronological questions, the order of those items in the answer. As in the code of
the paper, numbers, numbers written as text and booleans are scores, and a score outside 0 to 1 counts as it is. NaN,
infinity, null and any other text are not scores.

That code does not compare names, it only counts them. Here a score goes to the true item of its name. It goes by
position only if no true item has that name, so that a list in another order cannot credit the wrong item.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.files.typed import typed
from epbench.metric_folders import metric_module
from epbench.tulving.questions.generate import Question
from epbench.tulving.released.files import Files

_SCORES = "matching_groundtruth_items_score"
_NO_LIMIT = 1e100  # scores from here on count as infinite, since their products are
_Index = Annotated[int, Meta(gt=-(2**31), lt=2**31)]  # no list of items is longer, and statistics hold no larger ones


class _Order(Struct, frozen=True):
    groundtruth_indexes: list[_Index]
    predicted_indexes: list[_Index]


@dataclass(frozen=True)
class PublishedVerdict:
    """What the published judge said about one answer.

    Attributes:
        items: The items found in the answer, repeats included.
        scores: One score per true item of the question, as published. Repeats of an item share its first score.
        order: The true items that were found, as the answer orders them; empty unless get is chronological.
        reason: The judge's explanation.
        indexes: The judge's numbers for the true items, and for the items found; empty unless get is chronological.
        n_by_position: The number of distinct true items that got their score by position, since no name fits them.
    """

    items: list[str]
    scores: list[float]
    order: list[str]
    reason: str
    indexes: tuple[list[int], list[int]]
    n_by_position: int

    def record(self) -> dict[str, Any]:
        """The verdict in the form of a record of our journal."""
        return {"items": self.items, "scores": self.scores, "order": self.order, "reason": self.reason}


def read_published_verdict(files: Files, run: str, number: int, question: Question) -> PublishedVerdict:
    """Read the judge's replies on one answer.

    Args:
        files: The files of the archive.
        run: The path of the run's folder.
        number: The number of the answer in the run, from 0.
        question: The question that was asked.

    Raises:
        BadInput: A file is missing or truncated, a value is not a score, or the number of names is not that of the
            true items.
    """
    path = f"{run}/evaluated_answers/{number}.json"
    where = f"{files.where(path)}, question {question.id}"
    evaluated = files.json(path, dict[str, Any])
    items = _items(evaluated.get("predicted_items"), where)
    score_of = _scores(evaluated.get(_SCORES), where)
    truth = list(dict.fromkeys(question.answer))
    if len(score_of) != len(truth):
        raise BadInput(
            f"{where}, field {_SCORES!r}: expected scores for {len(truth)} different items, one for each true item, "
            f"found {len(score_of)}"
        )
    name_of, n_by_position = _names(question, truth, list(score_of))
    order: list[str] = []
    indexes: tuple[list[int], list[int]] = ([], [])
    if question.get == "chronological":
        item_of = {name: item for item, name in name_of.items()}
        indexes = _indexes(files, run, number, question)
        order = [item_of[name] for name in _picked(list(score_of), indexes[1])]
    reason = evaluated.get("explanation", "")
    return PublishedVerdict(
        items=items,
        scores=[score_of[name_of[item]] for item in question.answer],
        order=order,
        reason=reason if isinstance(reason, str) else shown(reason),
        indexes=indexes,
        n_by_position=n_by_position,
    )


def _items(found: Any, where: str) -> list[str]:
    if not isinstance(found, list) or not all(isinstance(item, (str, int, float)) for item in found):
        raise BadInput(f"{where}, field 'predicted_items': expected a list of texts, found {shown(found)}")
    return [str(item) for item in found]


def _scores(entries: Any, where: str) -> dict[str, float]:
    """The scores by the names that the judge gave; the first of repeated names counts, and the first name of an entry."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and entry for entry in entries):
        raise BadInput(
            f"{where}, field {_SCORES!r}: expected a list of objects {{item: score}}, found {shown(entries)}"
        )
    scores: dict[str, float] = {}
    for entry in entries:
        name, value = next(iter(entry.items()))
        try:
            score = float(value)
        except (TypeError, ValueError, OverflowError):
            score = math.nan
        if not abs(score) < _NO_LIMIT:
            raise BadInput(
                f"{where}, field {_SCORES!r}: expected a finite number for {shown(name)}, found {shown(value)}"
            )
        scores.setdefault(name, score)
    return scores


def _names(question: Question, truth: Sequence[str], names: Sequence[str]) -> tuple[dict[str, str], int]:
    """The judge's name for each true item, and the number of items that got a name by position only."""
    normalise = metric_module("episodic_f1").words_of
    known = {item: [item] for item in truth}
    if question.trace == "full_details":  # the judge saw "Full chapter 7" instead of the text
        for item, chapter in zip(question.answer, question.chapters, strict=True):
            known[item].append(f"Full chapter {chapter}")
    found: dict[str, str] = {}
    left = list(names)
    for spelling in (str, normalise):  # another date format or case is the same name, unless another item has that name
        for item in truth:
            wanted = [spelling(name) for name in known[item]]
            name = next((name for name in left if spelling(name) in wanted), None)
            if item not in found and name is not None:
                found[item] = name
                left.remove(name)
    nameless = [item for item in truth if item not in found]
    return found | dict(zip(nameless, left, strict=True)), len(nameless)


def _indexes(files: Files, run: str, number: int, question: Question) -> tuple[list[int], list[int]]:
    """The judge's second reply: its numbers for the true items, and for the items of the answer in their order."""
    path = f"{run}/chronological_answers/{number}.json"
    reply = typed(f"{files.where(path)}, question {question.id}", files.json(path, dict[str, Any]), _Order)
    return reply.groundtruth_indexes, reply.predicted_indexes


def _picked(names: Sequence[str], indexes: Sequence[int]) -> list[str]:
    """The names by their numbers; -1, or a number without a name, stands for an item that is not a true one."""
    return [names[index] for index in indexes if 0 <= index < len(names)]
