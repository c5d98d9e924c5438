"""Lenient F1 of recalled items, as an `evaluate` metric."""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate

from .formulas import check_column, episodic_f1

_DESCRIPTION = """
How well the items of an answer (dates, places, people, events) agree with the true items of an episodic memory
question. The metric is lenient: naming more items than there are true ones costs no precision, unless there are none.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of list of str): the items found in each answer; an abstention is an empty list.
    references (list of list of str): the true items of each question; empty if nothing matches the cue.
    matching_scores (list of list of float, optional): a judge's scores in [0, 1] for each question, one per true
        item. Without them, an item counts as found if a predicted item equals it after Unicode, case, punctuation
        and date normalisation.
    bins (list of str, optional): the bin of each question, such as 0, 1, 2, 3-5, 6+.

Returns:
    f1, precision, recall (float): means over the questions, in [0, 1]. Precision and recall are means over the
        questions for which they are defined (None if there are none).
    per_question (list of dict): f1, precision and recall of each question; None if undefined.
    f1_by_bin (dict), simple_recall_score (float): the mean F1 of every bin present, and their mean; only with bins.

Examples:
    >>> import evaluate
    >>> metric = evaluate.load("episodic_f1")
    >>> result = metric.compute(predictions=[["May 7, 2024"], []], references=[["May 07, 2024", "June 1, 2025"], []])
    >>> [round(row["f1"], 3) for row in result["per_question"]]
    [0.667, 1.0]
    >>> metric.compute(predictions=[["a hackathon", "a talk"]], references=[["Tech Hackathon"]],
    ...                matching_scores=[[1.0]], bins=["1"])["simple_recall_score"]
    1.0
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
class EpisodicF1(evaluate.Metric):
    _columns = ("predictions", "references", "matching_scores", "bins")

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
        if self._is_in_memory(columns):  # what need not go through a file of Arrow and back takes a fifth of the time
            return self._compute(**columns)
        result: dict[str, Any] | None = super().compute(**columns)
        return result

    def _is_in_memory(self, columns: Mapping[str, Any]) -> bool:
        """Whether all rows are here as lists, and nothing was added before or in other processes."""
        rows = [column for name, column in columns.items() if name != "bins" and column is not None]
        return (
            self.writer is None
            and self.num_process == 1
            and columns.keys() <= set(self._columns)
            and all(type(column) is list and set(map(type, column)) <= {list} for column in rows)
        )

    def _compute(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        matching_scores: Sequence[Any] | None = None,
        bins: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        return episodic_f1(predictions, references, matching_scores, bins)
