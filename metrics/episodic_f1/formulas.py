"""The formulas of the metric `episodic_f1`: items as words, and lenient F1."""

import functools
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_MONTHS = {name: i for i, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
_MONTH = rf"({'|'.join(_MONTHS)})[a-z]*\.?"
_ORDINAL = r"(\d{1,2})(?:st|nd|rd|th)?"
# One scan for all spellings: 2024-05-07 | May 7th, 2024 | the 7th of May 2024
_DATE = re.compile(
    rf"\b(?:(\d{{4}})-(\d{{1,2}})-(\d{{1,2}})"
    rf"|{_MONTH}\s+{_ORDINAL}\s*,?\s+(\d{{4}})"
    rf"|(?:the\s+)?{_ORDINAL}\s+(?:of\s+)?{_MONTH}\s*,?\s+(\d{{4}}))\b"
)
# The day of the week before a date, both as `words_of` writes them
_WEEKDAY = re.compile(r"(?:mon|tues?|wed(?:nes|s)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)? (?=\d{4} \d{2} \d{2}\b)")
_BETWEEN_WORDS = re.compile(r"[\W_]+")
_LONGEST_ITEM = 1_000  # characters; longer texts are answers, which would fill the memory if their words were kept


def normalise(item: str) -> str:
    """Return what is compared: the words of an item (see `words_of`), without a day of the week before a date.

    >>> normalise("Tuesday, May 7, 2024"), normalise("Tue 7 May 2024"), normalise("Taco Tuesday")
    ('2024 05 07', '2024 05 07', 'taco tuesday')
    """
    words = words_of(words_of(item))  # the second time it finds dates with other signs in them, such as 7-May-2024
    weekday = _WEEKDAY.match(words)
    return words[weekday.end() :] if weekday else words


def words_of(text: str) -> str:
    """Return a text with Unicode (NFKC) and case folded, dates as year, month and day, and punctuation as a blank.

    >>> words_of("  The 7th of May, 2024 "), words_of("Café “Zoë”")
    ('2024 05 07', 'café zoë')
    """
    return _words_of(text) if len(text) <= _LONGEST_ITEM else _words_of.__wrapped__(text)


@functools.lru_cache(maxsize=1 << 16)
def _words_of(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _BETWEEN_WORDS.sub(" ", _DATE.sub(_iso, folded)).strip()


def _iso(match: "re.Match[str]") -> str:
    y1, m1, d1, month2, d2, y2, d3, month3, y3 = match.groups()
    year = y1 or y2 or y3
    month = int(m1) if m1 else _MONTHS[month2 or month3]
    return f"{year}-{month:02d}-{int(d1 or d2 or d3):02d}"


def lenient_f1(n_predicted: int, n_true: int, found: float) -> tuple[float | None, float | None, float]:
    """Return precision, recall and F1 of one question, before clipping (paper: Appendix B.3.2).

    Args:
        n_predicted: The number of different items in the answer.
        n_true: The number of different true items.
        found: The sum of the matching scores of the true items.

    Returns:
        Precision is None if nothing was predicted, recall if there are no true items. F1 is 1 if both are undefined (a
        correct abstention), and 0 if only one is.
    """
    counted = min(n_predicted, n_true) if n_true else n_predicted
    precision = found / counted if counted else None
    recall = found / n_true if n_true else None
    if precision is None or recall is None:
        return precision, recall, 1.0 if precision is recall else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _lenient_f1(n_predicted: Any, n_true: Any, matched: Any) -> tuple[Any, Any, Any]:
    """The same for many questions at once, as arrays; nan stands for what is undefined."""
    counted = np.where(n_true > 0, np.minimum(n_predicted, n_true), n_predicted)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(counted > 0, matched / counted, np.nan)
        recall = np.where(n_true > 0, matched / n_true, np.nan)
        f1 = 2 * precision * recall / (precision + recall)
    undefined = np.isnan(precision), np.isnan(recall)
    abstained = undefined[0] & undefined[1]
    return precision, recall, np.where(abstained, 1.0, np.where(undefined[0] | undefined[1] | np.isnan(f1), 0.0, f1))


def episodic_f1(
    predictions: Sequence[Any],
    references: Sequence[Any],
    matching_scores: Sequence[Any] | None = None,
    bins: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Return all values of the metric; see its description.

    Raises:
        ValueError: There are no rows, lengths differ, or a value has a wrong type.
    """
    _check_lengths(len(predictions), references=references, matching_scores=matching_scores, bins=bins)
    n_predicted, n_true, matched = [], [], []
    for i, (predicted, true) in enumerate(zip(predictions, references, strict=False)):
        _check_items(predicted, "predictions", i)
        _check_items(true, "references", i)
        if matching_scores is None:
            expected = set(map(normalise, true))
            named = set(map(normalise, predicted))
            n_predicted.append(len(named))
            n_true.append(len(expected))
            matched.append(float(len(expected & named)))
        else:
            scores = _checked_scores(matching_scores[i], len(true), i)
            first_scores = dict(zip(true[::-1], scores[::-1], strict=True))  # the first of a repeated item counts
            n_predicted.append(len(set(predicted)))
            n_true.append(len(first_scores))
            matched.append(float(sum(first_scores.values())))
    precision, recall, f1 = map(_clipped, _lenient_f1(*map(np.array, (n_predicted, n_true, matched))))
    rows = [
        {"f1": of_all, "precision": of_given, "recall": of_true}
        for of_all, of_given, of_true in zip(f1, precision, recall, strict=True)
    ]
    result: dict[str, Any] = {"f1": _mean(f1), "precision": _mean(precision), "recall": _mean(recall)}
    result["per_question"] = rows
    if bins is not None:
        by_bin: dict[str, list[float | None]] = {}
        for bin_, row in zip(bins, rows, strict=False):
            by_bin.setdefault(str(bin_), []).append(row["f1"])
        result["f1_by_bin"] = {bin_: _mean(by_bin[bin_]) for bin_ in sorted(by_bin)}
        result["simple_recall_score"] = _mean(list(result["f1_by_bin"].values()))
    return result


def check_column(name: str, values: Any) -> None:
    """Check that a column has one entry per question, in order: a list, a tuple, an array, or a column of a dataset."""
    if isinstance(values, (str, bytes, Mapping)) or not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        raise ValueError(f"{name}: expected a list with one entry per question, found {type(values).__name__}")
    if getattr(values, "shape", None) == ():
        raise ValueError(f"{name}: expected a list with one entry per question, found a single value")


def _check_lengths(n: int, **others: Sequence[Any] | None) -> None:
    if n == 0:
        raise ValueError("predictions: expected at least one row, found none")
    for name, values in others.items():
        if values is not None and len(values) != n:
            raise ValueError(f"{name}: expected {n} rows, as many as predictions, found {len(values)}")


def _check_items(items: Any, name: str, row: int) -> None:
    if type(items) is list and set(map(type, items)) <= {str}:  # the usual case, seen at once
        return
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise ValueError(f"{name}, row {row}: expected a list of strings, found {items!r}")
    for item in items:
        if not isinstance(item, str):
            raise ValueError(f"{name}, row {row}: expected a list of strings, found {item!r} in it")


def _checked_scores(scores: Any, n: int, row: int) -> list[float]:
    where = f"matching_scores, row {row}"
    if isinstance(scores, (str, Mapping)) or not isinstance(scores, Sequence):
        raise ValueError(f"{where}: expected a list of numbers, found {scores!r}")
    if len(scores) != n:
        raise ValueError(f"{where}: expected {n} scores, one per true item, found {len(scores)}")
    for score in scores:
        if isinstance(score, bool) or not isinstance(score, (int, float)) or not 0 <= score <= 1 or math.isnan(score):
            raise ValueError(f"{where}: expected numbers from 0 to 1, found {score!r}")
    return [float(score) for score in scores]


def _clipped(values: Any) -> list[float | None]:
    """Numbers from 0 to 1, None for nan."""
    clipped: list[float | None] = np.clip(values, 0.0, 1.0).tolist()
    for i in np.flatnonzero(np.isnan(values)):
        clipped[i] = None
    return clipped


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None
