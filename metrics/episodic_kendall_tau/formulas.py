"""The formulas of the metric `episodic_kendall_tau`: the order of items that were all found."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from scipy.stats import kendalltau


def tau_if_all_found(predicted: Sequence[str], true: Sequence[str]) -> float | None:
    """Return tau-b between the order of the answer and the true one, or None if the answer lacks a true item.

    Args:
        predicted: The items of the answer, in order.
        true: The true items, in order; at least two different ones.

    >>> tau_if_all_found(["b", "a", "z"], ["a", "b"])
    -1.0
    """
    order = {item: place for place, item in enumerate(dict.fromkeys(true))}
    places = [order[item] for item in dict.fromkeys(predicted) if item in order]
    if len(places) < len(order):
        return None
    return float(kendalltau(range(len(places)), places).statistic)


def kendall_tau(predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, Any]:
    """Return all values of the metric; see its description.

    Raises:
        ValueError: There are no rows, lengths differ, or a value has a wrong type.
    """
    if len(predictions) == 0:
        raise ValueError("predictions: expected at least one row, found none")
    if len(predictions) != len(references):
        raise ValueError(
            f"references: expected {len(predictions)} rows, as many as predictions, found {len(references)}"
        )
    taus = []
    for i, (predicted, true) in enumerate(zip(predictions, references, strict=False)):
        _check_items(predicted, "predictions", i)
        _check_items(true, "references", i)
        if len(set(true)) > 1:
            taus.append(tau_if_all_found(predicted, true))
    complete = [tau for tau in taus if tau is not None]
    n = len(taus)
    return {
        "kendall_tau": math.fsum(complete) / len(complete) if complete else None,
        "all_matched": len(complete) / n if n else None,
        "score": math.fsum(complete) / n if n else None,
        "n_questions": n,
    }


def check_column(name: str, values: Any) -> None:
    """Check that a column has one entry per question, in order: a list, a tuple, an array, or a column of a dataset."""
    if isinstance(values, (str, bytes, Mapping)) or not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        raise ValueError(f"{name}: expected a list with one entry per question, found {type(values).__name__}")
    if getattr(values, "shape", None) == ():
        raise ValueError(f"{name}: expected a list with one entry per question, found a single value")


def _check_items(items: Any, name: str, row: int) -> None:
    if isinstance(items, str) or not isinstance(items, Sequence):
        raise ValueError(f"{name}, row {row}: expected a list of strings, found {items!r}")
    for item in items:
        if not isinstance(item, str):
            raise ValueError(f"{name}, row {row}: expected a list of strings, found {item!r} in it")
