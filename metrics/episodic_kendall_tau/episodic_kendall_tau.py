"""Chronological awareness of recalled lists, as an `evaluate` metric."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from .formulas import check_column, kendall_tau

_DESCRIPTION = """
Whether lists of remembered items are complete and in the right order: the share of questions for which all true items
were found, and Kendall's tau-b between the two orders for these questions.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of list of str): the items of each answer, in the order of the answer. Only the first of repeated
        items counts; items that are not among the true ones are ignored.
    references (list of list of str): the true items in their order; only the first of repeated items counts.
        Questions with fewer than two different true items have no order and are left out.

Returns:
    kendall_tau (float or None): the mean tau-b, in [-1, 1], over the questions for which all true items were found;
        None if there are none.
    all_matched (float or None): the share of questions, in [0, 1], for which all true items were found; None if no
        question has an order.
    score (float or None): the mean over the questions of tau if all items were found, and 0 otherwise.
    n_questions (int): the number of questions with an order.

Examples:
    >>> import evaluate
    >>> metric = evaluate.load("episodic_kendall_tau")
    >>> metric.compute(predictions=[["a", "b", "c"], ["b", "x"]], references=[["a", "c", "b"], ["a", "b"]])
    {'kendall_tau': 0.333..., 'all_matched': 0.5, 'score': 0.166..., 'n_questions': 2}
"""

_CITATION = """
@inproceedings{huet2025episodic,
  title = {Episodic Memories Generation and Evaluation Benchmark for Large Language Models},
  author = {Huet, Alexis and Ben Houidi, Zied and Rossi, Dario},
  booktitle = {International Conference on Learning Representations},
  year = {2025}
}
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class EpisodicKendallTau(evaluate.Metric):
    _columns = ("predictions", "references")

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            # Json passes every value through unchanged, so that bad ones cause the errors below and not Arrow's.
            features=datasets.Features({"predictions": datasets.Json(), "references": datasets.Json()}),
            reference_urls=["https://github.com/ahstat/episodic-memory-benchmark"],
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

    def _compute(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, Any]:
        return kendall_tau(predictions, references)
