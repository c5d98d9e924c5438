"""Chronological awareness of recalled lists, as an `evaluate` metric."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate
from scipy.stats import kendalltau

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
                _check_column(name, columns.get(name))
        result: dict[str, Any] | None = super().compute(**columns)
        return result

    def _compute(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, Any]:
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


def _check_column(name: str, values: Any) -> None:
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
