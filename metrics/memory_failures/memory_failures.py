"""Where a memory system fails, by question: an `evaluate` metric."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from .formulas import check_column, memory_failures

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
                check_column(name, columns.get(name))
        result: dict[str, Any] | None = super().compute(**columns)
        return result

    def _compute(self, predictions: Sequence[Any], groups: Sequence[Any] | None = None) -> dict[str, Any]:
        return memory_failures(predictions, groups)
