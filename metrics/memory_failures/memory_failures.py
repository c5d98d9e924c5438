"""Where a memory system fails, by question: an `evaluate` metric."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

_DESCRIPTION = """
Share of questions that a memory system gets through every stage (stored, faithful, retrieved, used), and the share
that it loses at each of them.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of str): one label per question: correct, storage_error, summary_error, retrieval_error,
        reasoning_error, or failed where there is no answer or no verdict on it.
    groups (list of str, optional): the group of each question, such as its number of hops.

Returns:
    success_rate (float): share of correct among the judged questions, those that did not fail; None without any.
    ci_low, ci_high (float): its 95 % interval after Wilson; None without a judged question.
    counts (dict): number of questions by label, all six labels.
    shares (dict): share of each of the five labels among the judged questions, which sum to 1; None without any.
    n, n_failed (int): number of judged and of failed questions.
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

_Z = statistics.NormalDist().inv_cdf(0.975)


def wilson(right: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of n > 0 independent questions.

    >>> [round(bound, 3) for bound in wilson(35, 100)]
    [0.264, 0.447]
    """
    share, spread = right / n, _Z * _Z / n
    middle = share + spread / 2
    half = _Z * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    low, high = ((middle + sign * half) / (1 + spread) for sign in (-1, 1))
    return (0.0 if right == 0 else low), (1.0 if right == n else high)


def rates(labels: Sequence[str]) -> dict[str, Any]:
    """What `MemoryFailures` returns for these labels, all of which must be known.

    >>> rates(["correct", "failed"])["success_rate"]
    1.0
    """
    found = Counter(labels)
    counts = {label: found[label] for label in LABELS}
    n = len(labels) - counts["failed"]
    low, high = wilson(counts["correct"], n) if n else (None, None)
    return {
        "success_rate": counts["correct"] / n if n else None,
        "ci_low": low,
        "ci_high": high,
        "counts": counts,
        "shares": {label: counts[label] / n if n else None for label in LABELS if label != "failed"},
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
            # Json lets every value through as it is, so that bad ones meet the messages below and not Arrow's.
            features=datasets.Features({"predictions": datasets.Json()}),
            reference_urls=["https://github.com/ishirgarg/MemFail"],
        )

    def compute(self, **columns: Any) -> dict[str, Any] | None:
        """See the description of the metric.

        Raises:
            ValueError: a column is no list, or see `_compute`.
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
    """A column is something with one entry per question, in order: a list, a tuple, an array, a dataset's column."""
    if isinstance(values, (str, bytes, Mapping)) or not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        raise ValueError(f"{name}: expected a list with one entry per question, found {type(values).__name__}")
    if getattr(values, "shape", None) == ():
        raise ValueError(f"{name}: expected a list with one entry per question, found a single value")


def _check(predictions: Sequence[Any], groups: Sequence[Any] | None) -> None:
    if len(predictions) == 0:
        raise ValueError("predictions: expected at least one row, found none")
    for row, label in enumerate(predictions):
        if not isinstance(label, str) or label not in LABELS:
            raise ValueError(f"predictions, row {row}: expected one of {', '.join(LABELS)}, found {label!r}")
    if groups is None:
        return
    if len(groups) != len(predictions):
        raise ValueError(f"groups: expected {len(predictions)} rows, as many as predictions, found {len(groups)}")
    for row, group in enumerate(groups):
        if not isinstance(group, str):
            raise ValueError(f"groups, row {row}: expected a string, found {group!r}")
