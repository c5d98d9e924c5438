"""How often the earlier of two segments is recognised, as an `evaluate` metric."""

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate
import numpy as np

_DESCRIPTION = """
How often an answer names the segment that came first in the text, with an interval that takes into account that
questions about one excerpt are not independent, a test against chance, and the share of answers that name A.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of str): the answers, "A" or "B"; anything else is counted as invalid, and wrong.
    references (list of str): the segment that came first, "A" or "B".
    groups (list of str, optional): the group of each question, such as the distance between its segments.
    clusters (list of str, optional): the excerpt of each question. The bootstrap draws clusters; without them, every
        question is a cluster of its own.

Returns:
    accuracy (float): the share of right answers, in [0, 1].
    ci_low, ci_high (float): its 95 % percentile interval from 2,000 bootstrap samples, the same on every call; None
        with a single cluster.
    share_a (float): the share of A among the valid answers; None if there are none. Values far from 0.5 show a bias.
    n, n_invalid (int): the number of questions, and of answers that are neither A nor B.
    p_value (float): one-sided binomial test: the probability of at least as many right answers by guessing.
    by_group (dict): the same values for each group; only with groups.

Examples:
    >>> import evaluate
    >>> metric = evaluate.load("sort_accuracy")
    >>> result = metric.compute(predictions=["A", "B", "B", "?"], references=["A", "B", "A", "A"])
    >>> result["accuracy"], result["n_invalid"], round(result["share_a"], 3), round(result["p_value"], 4)
    (0.5, 1, 0.333, 0.6875)
    >>> grouped = metric.compute(predictions=["A", "B"], references=["A", "A"], groups=["near", "far"])["by_group"]
    >>> grouped["near"]["accuracy"], grouped["far"]["accuracy"]
    (1.0, 0.0)
"""

_CITATION = """
@article{pink2024sort,
  title = {Assessing Episodic Memory in {LLMs} with Sequence Order Recall Tasks},
  author = {Pink, Mathis and Vo, Vy A. and Wu, Qinyuan and Mu, Jianing and Turek, Javier S. and Hasson, Uri and
            Norman, Kenneth A. and Michelmann, Sebastian and Huth, Alexander and Toneva, Mariya},
  journal = {arXiv preprint arXiv:2410.08133},
  year = {2024}
}
"""

_LABELS = ("A", "B")
_RESAMPLES = 2000
_SEED = 20241010


def accuracy_interval(correct: Sequence[bool], clusters: Sequence[str] | None = None) -> tuple[float, float] | None:
    """Return the 95 % percentile interval of the share of right answers, drawing whole clusters with replacement.

    >>> low, high = accuracy_interval([True, False] * 50)
    >>> 0.38 <= low < 0.5 < high <= 0.62
    True
    >>> accuracy_interval([True, True], ["one", "one"]) is None
    True
    """
    names = {name: i for i, name in enumerate(dict.fromkeys(clusters or range(len(correct))))}
    if len(names) < 2:
        return None
    of_question = np.array([names[name] for name in clusters or range(len(correct))])
    right = np.bincount(of_question, weights=np.asarray(correct, dtype=float))
    size = np.bincount(of_question)
    means = []
    for block in np.array_split(_raw_draws(len(names)), 20):  # in blocks: 2,000 draws of 10,000 clusters are large
        means.append(right[block].sum(axis=1) / size[block].sum(axis=1))
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return float(low), float(high)


def _raw_draws(k: int) -> "np.ndarray[Any, np.dtype[np.int32]]":
    """The cluster numbers of every resample, from the generator's raw output, which is the same in every numpy version."""
    raw = np.random.PCG64(_SEED).random_raw(_RESAMPLES * k)
    units = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (units * k).astype(np.int32).reshape(_RESAMPLES, k)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class SortAccuracy(evaluate.Metric):
    _columns = ("predictions", "references", "groups", "clusters")

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            # Json passes every value through unchanged, so that bad ones cause the errors below and not Arrow's.
            features=datasets.Features({"predictions": datasets.Json(), "references": datasets.Json()}),
            reference_urls=["https://arxiv.org/abs/2410.08133", "https://github.com/bridge-ai-neuro/SORT"],
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

    def _compute(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        groups: Sequence[Any] | None = None,
        clusters: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        return sort_accuracy(predictions, references, groups, clusters)


def sort_accuracy(
    predictions: Sequence[Any],
    references: Sequence[Any],
    groups: Sequence[Any] | None = None,
    clusters: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Return all values of the metric; see its description.

    Raises:
        ValueError: There are no rows, lengths differ, or a value has a wrong type.
    """
    _check(predictions, references, groups, clusters)
    result = _summary(predictions, references, clusters)
    if groups is not None:
        rows: dict[str, list[int]] = {}
        for i, group in enumerate(groups):
            rows.setdefault(group, []).append(i)
        result["by_group"] = {
            group: _summary(
                [predictions[i] for i in members],
                [references[i] for i in members],
                None if clusters is None else [clusters[i] for i in members],
            )
            for group, members in rows.items()
        }
    return result


def _summary(predictions: Sequence[str], references: Sequence[str], clusters: Sequence[str] | None) -> dict[str, Any]:
    from scipy.stats import binomtest

    correct = [predicted == true for predicted, true in zip(predictions, references, strict=True)]
    valid = [predicted for predicted in predictions if predicted in _LABELS]
    low, high = accuracy_interval(correct, clusters) or (None, None)
    return {
        "accuracy": sum(correct) / len(correct),
        "ci_low": low,
        "ci_high": high,
        "share_a": valid.count("A") / len(valid) if valid else None,
        "n": len(correct),
        "n_invalid": len(correct) - len(valid),
        "p_value": float(binomtest(sum(correct), len(correct), 0.5, alternative="greater").pvalue),
    }


def _check_column(name: str, values: Any) -> None:
    """Check that a column has one entry per question, in order: a list, a tuple, an array, or a column of a dataset."""
    if isinstance(values, (str, bytes, Mapping)) or not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        raise ValueError(f"{name}: expected a list with one entry per question, found {type(values).__name__}")
    if getattr(values, "shape", None) == ():
        raise ValueError(f"{name}: expected a list with one entry per question, found a single value")


def _check(
    predictions: Sequence[Any], references: Sequence[Any], groups: Sequence[Any] | None, clusters: Sequence[Any] | None
) -> None:
    columns = {"predictions": predictions, "references": references, "groups": groups, "clusters": clusters}
    for name, values in columns.items():
        if values is not None:
            _check_column(name, values)
    n = len(predictions)
    if n == 0:
        raise ValueError("predictions: expected at least one row, found none")
    for name, values in columns.items():
        if values is None:
            continue
        if len(values) != n:
            raise ValueError(f"{name}: expected {n} rows, as many as predictions, found {len(values)}")
        for row, value in enumerate(values):
            if not isinstance(value, str):
                raise ValueError(f"{name}, row {row}: expected a string, found {value!r}")
            if name == "references" and value not in _LABELS:
                raise ValueError(f"references, row {row}: expected 'A' or 'B', found {value!r}")
