"""The replies of a published archive's own judge: `evaluated_answers/<q>.json` and `chronological_answers/<q>.json`.

The first holds the items that the judge found in the answer and a score for each true item, under the name that the
judge gave it; the second, for chronological questions, the order of those items in the answer. What is a score and
what is none follows the code of the paper: numbers, numbers written as text and booleans are scores, and a score
beyond 0 to 1 counts as it stands. NaN, infinity, null and any other text are no scores.

That code does not compare names, only their number. Here a score goes to the true item of its name, and by position
only where its name is that of no true item, so that a list in another order cannot credit the wrong item.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.metric_folders import metric_module
from epbench.tulving.questions.generate import Question
from epbench.tulving.released.files import Files

_SCORES = "matching_groundtruth_items_score"
_NO_LIMIT = 1e100  # a score from here on is as good as infinite: products of such scores are
_NO_INDEX = 2**31  # no list of items is so long, and statistics cannot hold a number of any size


@dataclass(frozen=True)
class PublishedVerdict:
    """What the published judge said of one answer.

    Attributes:
        items: found in the answer, repeats included.
        scores: one per true item of the question, as published; repeats of an item share the first score given to it.
        order: the true items that were found, as the answer orders them; only where get is chronological.
        reason: in the words of the judge.
        indexes: the true items and those found, by the judge's numbers for them; only where get is chronological.
        n_by_position: different true items whose score was taken by its position, as its name fits none.
    """

    items: list[str]
    scores: list[float]
    order: list[str]
    reason: str
    indexes: tuple[list[int], list[int]]
    n_by_position: int

    def record(self) -> dict[str, Any]:
        """In the shape of our journal."""
        return {"items": self.items, "scores": self.scores, "order": self.order, "reason": self.reason}


def read_published_verdict(files: Files, run: str, number: int, question: Question) -> PublishedVerdict:
    """The judge's replies on one answer.

    Args:
        files: of the archive.
        run: path of the run's folder.
        number: of the answer in the run.
        question: that was asked.

    Raises:
        BadInput: a file is missing or truncated, a value is no score, or there are not as many names as true items.
    """
    path = f"{run}/evaluated_answers/{number}.json"
    where = f"{files.where(path)}, question {question.id}"
    evaluated = files.json(path, dict)
    items = _items(evaluated.get("predicted_items"), where)
    score_of = _scores(evaluated.get(_SCORES), where)
    truth = list(dict.fromkeys(question.answer))
    if len(score_of) != len(truth):
        raise BadInput(
            f"{where}, field {_SCORES!r}: scores for {len(score_of)} different items found, {len(truth)} expected, "
            "one for each true item"
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
        raise BadInput(f"{where}, field 'predicted_items': {shown(found)} found, a list of texts expected")
    return [str(item) for item in found]


def _scores(entries: Any, where: str) -> dict[str, float]:
    """Scores by the names that the judge gave; of repeated names the first counts, and of an entry the first name."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) and entry for entry in entries):
        raise BadInput(
            f"{where}, field {_SCORES!r}: {shown(entries)} found, a list of objects {{item: score}} expected"
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
                f"{where}, field {_SCORES!r}: {shown(value)} found for {shown(name)}, a finite number expected"
            )
        scores.setdefault(name, score)
    return scores


def _names(question: Question, truth: Sequence[str], names: Sequence[str]) -> tuple[dict[str, str], int]:
    """The judge's name for each true item, and for how many it stands at its place only."""
    normalise = metric_module("episodic_f1").normalise
    known = {item: [item] for item in truth}
    if question.trace == "full_details":  # the judge is shown "Full chapter 7" for the text
        for item, chapter in zip(question.answer, question.chapters, strict=True):
            known[item].append(f"Full chapter {chapter}")
    found: dict[str, str] = {}
    left = list(names)
    for spelling in (str, normalise):  # another date format or case is the same name, unless another item has it
        for item in truth:
            wanted = [spelling(name) for name in known[item]]
            name = next((name for name in left if spelling(name) in wanted), None)
            if item not in found and name is not None:
                found[item] = name
                left.remove(name)
    nameless = [item for item in truth if item not in found]
    return found | dict(zip(nameless, left, strict=True)), len(nameless)


def _indexes(files: Files, run: str, number: int, question: Question) -> tuple[list[int], list[int]]:
    """The judge's second reply: its numbers for the true items, and those of the items of the answer in their order."""
    path = f"{run}/chronological_answers/{number}.json"
    reply = files.json(path, dict)
    found = []
    for field in ("groundtruth_indexes", "predicted_indexes"):
        indexes = reply.get(field)
        if not isinstance(indexes, list) or not all(type(index) is int and abs(index) < _NO_INDEX for index in indexes):
            raise BadInput(
                f"{files.where(path)}, question {question.id}, field {field!r}: {shown(indexes)} found, "
                f"a list of whole numbers expected, each below {_NO_INDEX:,}"
            )
        found.append(indexes)
    return found[0], found[1]


def _picked(names: Sequence[str], indexes: Sequence[int]) -> list[str]:
    """-1 says that an item of the answer is no true one, and so does a number without a name."""
    return [names[index] for index in indexes if 0 <= index < len(names)]
