"""The formulas of the metric `sort_accuracy`: accuracy and AUC with intervals by cluster, and a test against chance."""

import numbers
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

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


def check_column(name: str, values: Any) -> None:
    """Check that a column has one entry per question, in order: a list, a tuple, an array, or a column of a dataset."""
    if isinstance(values, (str, bytes, Mapping)) or not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        raise ValueError(f"{name}: expected a list with one entry per question, found {type(values).__name__}")
    if getattr(values, "shape", None) == ():
        raise ValueError(f"{name}: expected a list with one entry per question, found a single value")


def _check(columns: Mapping[str, Sequence[Any] | None]) -> None:
    for name, values in columns.items():
        if values is not None:
            check_column(name, values)
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
