"""How often the earlier of two segments is recognised, as an `evaluate` metric."""

import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import datasets
import evaluate
import numpy as np

_DESCRIPTION = """
How often an answer names the segment that came first in the text, with an interval that takes into account that
questions about one excerpt are not independent, a test against chance, and the share of answers that name A. With a score
for each question, also how well the scores tell the two answers apart, whatever letter the reader prefers.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions (list of str): the answers, "A" or "B"; anything else is counted as invalid, and wrong.
    references (list of str): the segment that came first, "A" or "B".
    groups (list of str, optional): the group of each question, such as the distance between its segments.
    clusters (list of str, optional): the excerpt of each question. The bootstrap draws clusters; without them, every
        question is a cluster of its own.
    scores (list of float, optional): a number for each question that is larger the more the reader holds A for the answer,
        such as p(A), or better log p(A) - log p(B), which has no ties. It may be infinite, but not NaN.

Returns:
    accuracy (float): the share of right answers, in [0, 1].
    ci_low, ci_high (float): its 95 % percentile interval from 2,000 bootstrap samples, the same on every call; the
        exact one where all answers are right, or all wrong; None with a single cluster.
    share_a (float): the share of A among the valid answers; None if there are none. Values far from 0.5 show a bias.
    n, n_invalid (int): the number of questions, and of answers that are neither A nor B.
    p_value (float): one-sided binomial test: the probability of at least as many right answers by guessing.
    auc (float): only with scores, as the next three: the probability that a question whose answer is A has a higher score
        than one whose answer is B, ties counting half; 0.5 for a reader that knows nothing, whatever letter it prefers.
        None if all answers are A, or all are B.
    auc_low, auc_high (float): its 95 % interval (Obuchowski 1997: questions of one cluster may depend on one another; taken
        on the scale of log odds). None with a single cluster, and where all questions are told apart, or none.
    auc_p_value (float): one-sided test against 0.5 by 2,000 draws that exchange the answers of whole clusters (A for B and
        B for A), whatever the questions of one cluster share. None with a single cluster.
    calibrated_accuracy (float): the accuracy if A is read from a score above a threshold, which is the median of the scores of
        all other clusters, never of the question's own; equality counts half. It supposes that A and B are right equally
        often, as in Book-SORT. None with a single cluster.
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

    A reader that prefers A, but is surer of it where it is right:

    >>> biased = metric.compute(predictions=["A"] * 4, references=["A", "A", "B", "B"], scores=[0.99, 0.9, 0.7, 0.6])
    >>> biased["accuracy"], biased["auc"], biased["calibrated_accuracy"]
    (0.5, 1.0, 1.0)
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

    If all answers are right or all wrong, no draw shows how far the true share may be from that, and the other end of the
    interval is that of Clopper and Pearson for as many clusters.

    >>> low, high = accuracy_interval([True, False] * 50)
    >>> 0.38 <= low < 0.5 < high <= 0.62
    True
    >>> [round(end, 2) for end in accuracy_interval([True, True, True])]
    [0.29, 1.0]
    >>> accuracy_interval([True, True], ["one", "one"]) is None
    True
    """
    of_question = _numbered(clusters, len(correct))
    k = int(of_question.max()) + 1
    if k < 2:
        return None
    right = np.bincount(of_question, weights=np.asarray(correct, dtype=float))
    size = np.bincount(of_question)
    means = []
    for block in np.array_split(_raw_draws(k), 20):  # in blocks: 2,000 draws of 10,000 clusters are large
        means.append(right[block].sum(axis=1) / size[block].sum(axis=1))
    if (share := float(np.mean(correct))) in (0, 1):
        unseen = 1 - 0.025 ** (1 / k)
        return (0.0, unseen) if share == 0 else (1 - unseen, 1.0)
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return float(low), float(high)


def discrimination(
    scores: Sequence[float], references: Sequence[str], clusters: Sequence[str] | None = None
) -> dict[str, float | None]:
    """Return how well scores tell questions whose answer is A from those whose answer is B; see the metric's description.

    Returns:
        auc, auc_low, auc_high, auc_p_value and calibrated_accuracy.

    >>> discrimination([0.9, 0.8, 0.2], ["A", "B", "B"])["auc"]
    1.0
    >>> discrimination([0.5, 0.5], ["A", "B"])["auc"]
    0.5
    """
    of_question, is_a = _numbered(clusters, len(scores)), np.array([answer == "A" for answer in references])
    values, k = np.asarray(scores, dtype=float), int(of_question.max()) + 1
    result: dict[str, float | None] = dict.fromkeys(("auc", "auc_low", "auc_high", "auc_p_value"))
    result["calibrated_accuracy"] = _calibrated(values, is_a, of_question) if k > 1 else None
    if is_a.all() or not is_a.any():
        return result
    auc, influence = area(scores, references)
    result["auc"] = auc
    if k < 2:
        return result
    error = float(np.sqrt(k / (k - 1) * np.square(np.bincount(of_question, weights=influence)).sum()))
    if error > 1e-12 and 0 < auc < 1:  # the interval is that of the log odds, which do not end at 0 or 1
        middle, half = np.log(auc / (1 - auc)), 1.959964 * error / (auc * (1 - auc))
        result["auc_low"], result["auc_high"] = (
            float(1 / (1 + np.exp(-end))) for end in (middle - half, middle + half)
        )
    result["auc_p_value"] = _exchange_test(_ranks(values), is_a, of_question)
    return result


def area(scores: Sequence[float], references: Sequence[str]) -> tuple[float, "np.ndarray[Any, np.dtype[np.float64]]"]:
    """Return the AUC of scores, and what each question contributes to its error.

    Args:
        scores: One number for each question, larger the more the answer is A.
        references: `A` or `B` for each question; both occur.

    Returns:
        The AUC in [0, 1], and an array with a number for each question: summed by cluster, squared and summed, times
        k / (k - 1), they are the variance of the AUC over k clusters.
    """
    values, is_a = np.asarray(scores, dtype=float), np.array([answer == "A" for answer in references])
    n_a, n_b = int(is_a.sum()), int((~is_a).sum())
    rank, within = _ranks(values), np.empty(len(values))
    within[is_a], within[~is_a] = _ranks(values[is_a]), _ranks(values[~is_a])
    # For each question, the share of those with the other answer that its score lies on the right side of.
    share = np.where(is_a, (rank - within) / n_b, 1 - (rank - within) / n_a)
    auc = float(share[is_a].mean())
    return auc, (share - auc) * np.where(is_a, 1 / n_a, 1 / n_b)


def _exchange_test(rank: Any, is_a: Any, of_question: Any) -> float:
    """The share of draws, the given answers among them, whose AUC is as high: each exchanges the answers of some clusters."""
    sums = [np.bincount(of_question, weights=values) for values in (rank * is_a, rank * ~is_a, is_a, ~is_a)]
    rank_a, rank_b, n_a, n_b = sums
    areas = []
    for kept in [np.ones((1, len(n_a))), *_coins(len(n_a))]:
        n = kept @ (n_a - n_b) + n_b.sum()
        above = kept @ (rank_a - rank_b) + rank_b.sum() - n * (n + 1) / 2
        with np.errstate(invalid="ignore"):  # one answer alone, in a draw
            areas.append(np.nan_to_num(above / (n * (len(rank) - n)), nan=0.5))
    drawn = np.concatenate(areas)
    return float((drawn >= drawn[0] - 1e-12).mean())


def _ranks(values: Any) -> Any:
    """The rank of each value from 1, and the mean rank of equal ones."""
    from scipy.stats import rankdata

    return rankdata(values)


def _calibrated(values: Any, is_a: Any, of_question: Any) -> float:
    """The accuracy with the median of all other clusters' scores as the threshold of a cluster's questions."""
    order = np.argsort(values, kind="stable")
    places: list[list[int]] = [
        [] for _ in range(int(of_question.max()) + 1)
    ]  # of each cluster's questions, in this order
    for place, cluster in enumerate(of_question[order].tolist()):
        places[cluster].append(place)
    others = [len(values) - len(cluster_places) for cluster_places in places]
    middle = [
        [_nth_other(cluster_places, n) for n in ((k - 1) // 2, k // 2)]
        for cluster_places, k in zip(places, others, strict=True)
    ]
    with np.errstate(invalid="ignore"):  # the middle of two opposite infinities is 0
        threshold = np.nan_to_num(values[order][np.array(middle)].mean(axis=1), nan=0.0, posinf=np.inf, neginf=-np.inf)
    limit = threshold[of_question]
    says_a = (values > limit) + (values == limit) / 2
    return float(np.where(is_a == 1, says_a, 1 - says_a).mean())


def _nth_other(left_out: Sequence[int], n: int) -> int:
    """The n-th of the places 0, 1, 2, … that are not in `left_out`, which is sorted."""
    for place in left_out:
        n += place <= n
    return n


def _numbered(clusters: Sequence[str] | None, n: int) -> Any:
    """The number of each question's cluster, from 0 in the order in which they first appear."""
    names = {name: i for i, name in enumerate(dict.fromkeys(clusters or range(n)))}
    return np.array([names[name] for name in clusters or range(n)])


def _raw_draws(k: int) -> "np.ndarray[Any, np.dtype[np.int32]]":
    """The cluster numbers of every resample, from the generator's raw output, which is the same in every numpy version."""
    raw = np.random.PCG64(_SEED).random_raw(_RESAMPLES * k)
    units = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (units * k).astype(np.int32).reshape(_RESAMPLES, k)


def _coins(k: int) -> Iterator[Any]:
    """The draws of the exchange test in blocks: for each draw and cluster 1, or 0 if its answers are exchanged."""
    bits = np.random.PCG64(_SEED + 1)
    for _ in range(20):
        yield (bits.random_raw(_RESAMPLES // 20 * k) >> np.uint64(63)).astype(np.float64).reshape(-1, k)


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class SortAccuracy(evaluate.Metric):
    _columns = ("predictions", "references", "groups", "clusters", "scores")

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
        scores: Sequence[Any] | None = None,
    ) -> dict[str, Any]:
        return sort_accuracy(predictions, references, groups, clusters, scores)


def sort_accuracy(
    predictions: Sequence[Any],
    references: Sequence[Any],
    groups: Sequence[Any] | None = None,
    clusters: Sequence[Any] | None = None,
    scores: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Return all values of the metric; see its description.

    Raises:
        ValueError: There are no rows, lengths differ, or a value has a wrong type.
    """
    columns = {"references": references, "groups": groups, "clusters": clusters, "scores": scores}
    _check({"predictions": predictions, **columns})
    result = _summary(predictions, references, clusters, scores)
    if groups is not None:
        rows: dict[str, list[int]] = {}
        for i, group in enumerate(groups):
            rows.setdefault(group, []).append(i)
        parts = [None if column is None else list(column) for column in (predictions, references, clusters, scores)]
        result["by_group"] = {
            group: _summary(*(part and [part[i] for i in members] for part in parts))  # type: ignore[arg-type]
            for group, members in rows.items()
        }
    return result


def _summary(
    predictions: Sequence[str],
    references: Sequence[str],
    clusters: Sequence[str] | None,
    scores: Sequence[float] | None,
) -> dict[str, Any]:
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
        **(discrimination(scores, references, clusters) if scores is not None else {}),
    }


def _check_column(name: str, values: Any) -> None:
    """Check that a column has one entry per question, in order: a list, a tuple, an array, or a column of a dataset."""
    if isinstance(values, (str, bytes, Mapping)) or not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        raise ValueError(f"{name}: expected a list with one entry per question, found {type(values).__name__}")
    if getattr(values, "shape", None) == ():
        raise ValueError(f"{name}: expected a list with one entry per question, found a single value")


def _check(columns: Mapping[str, Sequence[Any] | None]) -> None:
    for name, values in columns.items():
        if values is not None:
            _check_column(name, values)
    n = len(columns["predictions"] if columns["predictions"] is not None else ())
    if n == 0:
        raise ValueError("predictions: expected at least one row, found none")
    for name, values in columns.items():
        if values is None:
            continue
        if len(values) != n:
            raise ValueError(f"{name}: expected {n} rows, as many as predictions, found {len(values)}")
        for row, value in enumerate(values):
            if name == "scores":
                if isinstance(value, bool) or not isinstance(value, numbers.Real) or value != value:
                    raise ValueError(f"scores, row {row}: expected a number that is not NaN, found {value!r}")
            elif not isinstance(value, str):
                raise ValueError(f"{name}, row {row}: expected a string, found {value!r}")
            elif name == "references" and value not in _LABELS:
                raise ValueError(f"references, row {row}: expected 'A' or 'B', found {value!r}")
