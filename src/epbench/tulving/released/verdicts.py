"""The replies of a published archive's own judge: `evaluated_answers/<q>.json` and `chronological_answers/<q>.json`.

The first holds the items that the judge found in the answer, and a score for each true item under the name that the
judge gave it. The second holds, for chronological questions, the order of those items in the answer. As in the code of
the paper, numbers, numbers written as text and booleans are scores, and a score outside 0 to 1 counts as it is. NaN,
infinity, null and any other text are not scores.

That code does not compare names, it only counts them. Here a score goes to the true item of its name. It goes by
position only if no true item has that name, so that a list in another order cannot credit the wrong item.

The scores of a run as that code prints them differ from ours in three ways: F1 is not clipped to [0, 1], bin means are
rounded to two decimals before they are averaged, and the order is judged by the numbers that the published judge gave to
the items. As in ours, repeats are removed from the true items and from the items of the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct

from epbench.errors import BadInput
from epbench.files.text import shown
from epbench.files.typed import typed
from epbench.metric_folders import formulas
from epbench.tulving.judging.verdicts import ScoredAnswer, first_scores
from epbench.tulving.questions.generate import BINS, Question
from epbench.tulving.released.archive import Files
from epbench.tulving.scores.scoring import is_latest

_SCORES = "matching_groundtruth_items_score"
_NO_LIMIT = 1e100  # scores from here on count as infinite, since their products are
_Index = Annotated[int, Meta(gt=-(2**31), lt=2**31)]  # no list of items is longer, and statistics hold no larger ones


class _Order(Struct, frozen=True):
    groundtruth_indexes: list[_Index]
    predicted_indexes: list[_Index]


@dataclass(frozen=True)
class PublishedVerdict:
    """What the published judge said about one answer."""

    items: list[str]  # the items found in the answer, repeats included
    # One for each true item of the question, as published; repeats of an item share its first score
    scores: list[float]
    order: list[str]  # the true items that were found, as the answer orders them; empty unless get is chronological
    reason: str  # the judge's explanation
    # The judge's numbers for the true items, and for the items found; empty unless get is chronological
    indexes: tuple[list[int], list[int]]
    n_by_position: int  # the number of distinct true items that got their score by position, since no name fits them

    def record(self) -> dict[str, Any]:
        """The verdict in the form of a record of our journal."""
        return {"items": self.items, "scores": self.scores, "order": self.order, "reason": self.reason}


def read_published_verdict(files: Files, run: str, number: int, question: Question) -> PublishedVerdict:
    """Read the judge's replies on the answer to a question, which has this number in the run, from 0; BadInput if faulty."""
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
        path = f"{run}/chronological_answers/{number}.json"
        second = typed(f"{files.where(path)}, question {question.id}", files.json(path, dict[str, Any]), _Order)
        indexes = second.groundtruth_indexes, second.predicted_indexes
        names = list(score_of)  # -1, or a number without a name, stands for an item that is not a true one
        order = [item_of[names[index]] for index in indexes[1] if 0 <= index < len(names)]
    scores, reason = [score_of[name_of[item]] for item in question.answer], evaluated.get("explanation", "")
    reason = reason if isinstance(reason, str) else shown(reason)
    return PublishedVerdict(items, scores, order, reason, indexes, n_by_position)


def _items(items: Any, where: str) -> list[str]:
    if not isinstance(items, list) or not all(isinstance(item, (str, int, float)) for item in items):
        raise BadInput(f"{where}, field 'predicted_items': expected a list of texts, found {shown(items)}")
    return [str(item) for item in items]


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
    normalise = formulas("episodic_f1").words_of
    known = {item: [item] for item in truth}
    if question.trace == "full_details":  # the judge saw "Full chapter 7" instead of the text
        for item, chapter in zip(question.answer, question.chapters, strict=True):
            known[item].append(f"Full chapter {chapter}")
    name_of: dict[str, str] = {}
    left = list(names)
    for spelling in (str, normalise):  # another date format or case is the same name, unless another item has that name
        for item in truth:
            wanted = [spelling(name) for name in known[item]]
            name = next((name for name in left if spelling(name) in wanted), None)
            if item not in name_of and name is not None:
                name_of[item] = name
                left.remove(name)
    nameless = [item for item in truth if item not in name_of]
    return name_of | dict(zip(nameless, left, strict=True)), len(nameless)


Indexes = tuple[Sequence[int], Sequence[int]]


def reference_numbers(rows: Sequence[ScoredAnswer], indexes: Sequence[Indexes]) -> dict[str, Any]:
    """Compute the numbers of one run, from rows whose scores are not clipped and the judge's numbers for their items.

    Returns:
        `simple_recall` and `chronological_awareness` with three decimals, `latest` and `all` as text such as `63.4%`,
        and `kendall_tau` with two decimals. A number is None if no question counts for it.
    """
    f1 = [unclipped_f1(row) for row in rows]
    recall = _bin_means(rows, f1, lambda row: row.get == "all")
    latest_means = _bin_means(rows, f1, is_latest)
    n = sum(count for _, count in latest_means)
    latest = _rounded([100 * sum(mean * count for mean, count in latest_means) / n], 2) if n else None
    all_found, tau = _order([both for row, both in zip(rows, indexes, strict=True) if row.get == "chronological"])
    awareness = None
    if latest is not None and all_found is not None:  # both in percent
        awareness = _rounded([latest / 100, max(0.0, all_found / 100 * (tau or 0.0))], 3)
    return {
        "simple_recall": _rounded([mean for mean, _ in recall], 3) if recall else None,
        "chronological_awareness": awareness,
        "latest": None if latest is None else f"{latest:g}%",
        "all": None if all_found is None else f"{all_found:g}%",
        "kendall_tau": tau,
    }


def unclipped_f1(row: ScoredAnswer) -> float:
    """F1 of one question; the first score of a repeated true item counts, and a repeated item of the answer counts once."""
    first = first_scores(row.reference, row.scores)
    f1: float = formulas("episodic_f1").lenient_f1(len(set(row.items)), len(first), sum(first.values()))[2]
    return f1


def _bin_means(
    rows: Sequence[ScoredAnswer], f1: Sequence[float], counted: Callable[[ScoredAnswer], bool]
) -> list[tuple[float, int]]:
    """The rounded mean and the number of questions of every bin that has any."""
    pairs = [(row.bin, value) for row, value in zip(rows, f1, strict=True) if counted(row)]
    parts = [[value for of, value in pairs if of == bin_] for bin_ in BINS]
    return [(_rounded(values, 2), len(values)) for values in parts if values]


def _order(indexes: Sequence[Indexes]) -> tuple[float | None, float | None]:
    """How often all items were found, in percent, and the mean tau of those questions."""
    tau_of = formulas("episodic_kendall_tau").tau_if_all_found
    # If the judge repeats a number, an answer cannot have all of its numbers.
    several = [(true, predicted) for true, predicted in indexes if len(true) > 1]
    taus = [tau_of(predicted, true) if len(set(true)) == len(true) else None for true, predicted in several]
    all_found = [tau for tau in taus if tau is not None]
    share = _rounded([len(all_found) / len(taus) * 100], 2) if taus else None
    return share, _rounded(all_found, 2) if all_found else None


def _rounded(values: Sequence[float], digits: int) -> float:
    import numpy as np

    return float(np.round(np.mean(values), digits))
