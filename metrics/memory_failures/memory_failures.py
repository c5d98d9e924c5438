"""Where a memory system fails, by question: an `evaluate` metric."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

_DESCRIPTION = """
The share of questions that a memory system brings through every stage (stored, kept faithfully, retrieved, used), and
the share that it loses at each stage.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of str): one label per question: correct, storage_error, summary_error, retrieval_error,
        reasoning_error, or failed if there is no answer or no verdict on it. About facts that were corrected or withdrawn
        also stale (the old value was answered), resurrected (a withdrawn one was answered) or lost_with_it (a neighbour
        of a withdrawn one is gone).
    groups (list of str, optional): the group of each question, such as its number of hops.

Returns:
    success_rate (float): the share of correct among the judged questions, which are those that did not fail; None if
        there are none.
    ci_low, ci_high (float): its 95 % Wilson interval; None without judged questions.
    counts (dict): the number of questions for each of the six labels, and for the three others where one of them occurs.
    shares (dict): the shares of the labels but failed among the judged questions, which sum to 1; None without such
        questions.
    n, n_failed (int): the numbers of judged and of failed questions.
    by_group (dict): only with groups: the same values for each group.

Examples:
    >>> import evaluate
    >>> metric = evaluate.load("memory_failures")
    >>> result = metric.compute(predictions=["correct", "retrieval_error", "correct", "correct", "failed"])
    >>> result["success_rate"], result["n"], result["n_failed"], result["shares"]["retrieval_error"]
    (0.75, 4, 1, 0.25)
    >>> metric.compute(predictions=["correct", "storage_error"], groups=["2", "3"])["by_group"]["2"]["success_rate"]
    1.0
"""

_CITATION = """
@misc{garg2026memfail,
  title = {MemFail: Stress-Testing Failure Modes of LLM Memory Systems},
  author = {Garg, Ishir and Kolhe, Neel and Song, Dawn and Zhao, Xuandong},
  eprint = {2605.26667},
  archivePrefix = {arXiv},
  year = {2026}
}
"""

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


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class MemoryFailures(evaluate.Metric):
    _columns = ("predictions", "groups")

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            # Json passes every value through unchanged, so that bad ones cause the errors below and not Arrow's.
            features=datasets.Features({"predictions": datasets.Json()}),
            reference_urls=["https://github.com/ishirgarg/MemFail"],
        )

    def compute(self, **columns: Any) -> dict[str, Any] | None:
        """Compute the metric; its description says what it takes and returns.

        Raises:
            ValueError: A column is not a list, or has a wrong length or a wrong value.
        """
        added_before = self.writer is not None and all(columns.get(name) is None for name in self.features)
        for name in self._columns:
            if columns.get(name) is not None or (name in self.features and not added_before):
                _check_column(name, columns.get(name))
        result: dict[str, Any] | None = super().compute(**columns)
        return result

    def _compute(self, predictions: Sequence[Any], groups: Sequence[Any] | None = None) -> dict[str, Any]:
        _check(predictions, groups)
        result = rates(predictions)
        if groups is not None:
            names = sorted(set(groups))
            of_group = {name: [p for p, g in zip(predictions, groups, strict=True) if g == name] for name in names}
            result["by_group"] = {name: rates(labels) for name, labels in of_group.items()}
        return result


def _check_column(name: str, values: Any) -> None:
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
