"""The formulas of the metric `memory_failures`: the share of each stage, with an interval of success."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

LABELS = ("correct", "storage_error", "summary_error", "retrieval_error", "reasoning_error", "failed")
REVISED = ("stale", "resurrected", "lost_with_it")

_Z = statistics.NormalDist().inv_cdf(0.975)


def wilson(right: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval for a share of n > 0 independent questions.

    >>> [round(bound, 3) for bound in wilson(35, 100)]
    [0.264, 0.447]
    """
    share, spread = right / n, _Z * _Z / n
    middle = share + spread / 2
    half = _Z * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    low, high = ((middle + sign * half) / (1 + spread) for sign in (-1, 1))
    return (0.0 if right == 0 else low), (1.0 if right == n else high)


def rates(labels: Sequence[str]) -> dict[str, Any]:
    """Return what `MemoryFailures` returns for these labels, which must all be valid.

    >>> rates(["correct", "failed"])["success_rate"]
    1.0
    """
    counted = Counter(labels)
    revised = REVISED if any(label in counted for label in REVISED) else ()
    counts = {label: counted[label] for label in (*LABELS, *revised)}
    n = len(labels) - counts["failed"]
    low, high = wilson(counts["correct"], n) if n else (None, None)
    return {
        "success_rate": counts["correct"] / n if n else None,
        "ci_low": low,
        "ci_high": high,
        "counts": counts,
        "shares": {label: count / n if n else None for label, count in counts.items() if label != "failed"},
        "n": n,
        "n_failed": counts["failed"],
    }


def memory_failures(predictions: Sequence[Any], groups: Sequence[Any] | None = None) -> dict[str, Any]:
    """Return all values of the metric; see its description.

    Raises:
        ValueError: There are no rows, lengths differ, or a label is unknown.
    """
    _check(predictions, groups)
    result = rates(predictions)
    if groups is not None:
        names = sorted(set(groups))
        of_group = {name: [p for p, g in zip(predictions, groups, strict=True) if g == name] for name in names}
        result["by_group"] = {name: rates(labels) for name, labels in of_group.items()}
    return result


def check_column(name: str, values: Any) -> None:
    """Check that a column has one entry per question, in order: a list, a tuple, an array, or a column of a dataset."""
    if isinstance(values, (str, bytes, Mapping)) or not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        raise ValueError(f"{name}: expected a list with one entry per question, found {type(values).__name__}")
    if getattr(values, "shape", None) == ():
        raise ValueError(f"{name}: expected a list with one entry per question, found a single value")


def _check(predictions: Sequence[Any], groups: Sequence[Any] | None) -> None:
    if len(predictions) == 0:
        raise ValueError("predictions: expected at least one row, found none")
    for row, label in enumerate(predictions):
        if not isinstance(label, str) or label not in (*LABELS, *REVISED):
            known = ", ".join((*LABELS, *REVISED))
            raise ValueError(f"predictions, row {row}: expected one of {known}, found {label!r}")
    if groups is None:
        return
    if len(groups) != len(predictions):
        raise ValueError(f"groups: expected {len(predictions)} rows, as many as predictions, found {len(groups)}")
    for row, group in enumerate(groups):
        if not isinstance(group, str):
            raise ValueError(f"groups, row {row}: expected a string, found {group!r}")
