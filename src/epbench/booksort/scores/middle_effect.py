"""Are segments in the middle of an excerpt harder to order than others? (Appendix D.6)

The model is a logistic regression of right answers on whether both segments begin in the middle third of the excerpt, on
the length of the excerpt, on their interaction, and on the distance of the segments. Two segments of the middle third are
less than a third of the excerpt apart, and near segments are harder to order anyway. Without the distance in the model, its
effect would be taken for one of the middle; with it, only the nearer bins can separate the two. `confound` says how well.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

FEWEST_IN_A_CELL = 5
"""The fewest right, and wrong, answers on pairs in the middle, and on other pairs, for which the model is estimated."""

_MOST_STEPS, _SMALL_STEP = 35, 1e-8  # of Newton's method


def both_in_the_middle(rows: pd.DataFrame) -> pd.Series[bool]:
    """Whether the first words of both segments lie in the middle third of the excerpt."""
    third = rows["excerpt_length"] / 3
    return (third <= rows["seg1_pos"]) & (rows["seg2_pos"] < 2 * third)


def middle_effect(rows: pd.DataFrame) -> dict[str, Any]:
    """The effect of the middle on the odds of a right answer, over the questions that did not fail.

    Length and distance enter as logarithms, centred, so that `middle` is the effect at their means. Standard errors are
    clustered by excerpt.

    Returns:
        n and n_failed: the numbers of answered questions and of those left out. in_middle and elsewhere: n and accuracy
        of each. confound: the share of pairs in the middle by relative distance, and the correlation of both. Either
        terms (coefficient, low, high, odds_ratio and p of `middle`, `middle x length`, `length` and `distance`) or
        not_estimable, the reason why there are none. If all excerpts have one length, the terms of length are left out.
    """
    answered = rows[rows["right"].notna()]
    middle = both_in_the_middle(answered)
    parts = {"in_middle": answered[middle], "elsewhere": answered[~middle]}
    result: dict[str, Any] = {"n": len(answered), "n_failed": len(rows) - len(answered)}
    result |= {
        name: {"n": len(part), "accuracy": int(part["right"].sum()) / len(part) if len(part) else None}
        for name, part in parts.items()
    }
    result["confound"] = _confound(answered, middle)
    reason = _why_not(parts)
    return result | ({"not_estimable": reason} if reason else _fit(answered, middle))


def _confound(rows: pd.DataFrame, middle: pd.Series[bool]) -> dict[str, Any]:
    """The share of pairs in the middle by relative distance, and the correlation of both."""
    import pandas as pd

    inside, distance = middle.to_numpy(float), (rows["distance"] / rows["excerpt_length"]).to_numpy(float)
    varies = len(rows) > 1 and inside.std() > 0 and distance.std() > 0
    parts = pd.cut(pd.Series(distance), [0, 1 / 4, 1 / 3, 1 / 2, 1], labels=["up to 1/4", "to 1/3", "to 1/2", "more"])
    means = pd.Series(inside).groupby(parts, observed=False).mean()
    shares = {name: None if math.isnan(mean) else float(mean) for name, mean in means.items()}
    correlation = float(np.corrcoef(inside, distance)[0, 1]) if varies else None
    return {"share_in_middle_by_distance": shares, "correlation_with_distance": correlation}


def _why_not(parts: dict[str, pd.DataFrame]) -> str | None:
    """Why the model cannot be estimated: a cell of (middle or not) x (right or wrong) is nearly empty; None if it can."""
    names = {"in_middle": "pairs in the middle", "elsewhere": "other pairs"}
    for name, rows in parts.items():
        right = int(rows["right"].sum())
        for outcome, n in (("right", right), ("wrong", len(rows) - right)):
            if n < FEWEST_IN_A_CELL:
                return f"only {n} {outcome} answers on {names[name]}; at least {FEWEST_IN_A_CELL} are needed"
    return None


def _fit(rows: pd.DataFrame, middle: pd.Series[bool]) -> dict[str, Any]:
    from scipy.stats import norm

    inside = middle.to_numpy(float)
    length, distance = (np.log(rows[name].to_numpy(float)) for name in ("excerpt_length", "distance"))
    length, distance = length - length.mean(), distance - distance.mean()
    columns = {"middle": inside}
    if rows["excerpt_length"].nunique() > 1:
        columns |= {"middle x length": inside * length, "length": length}
    if rows["distance"].nunique() > 1:
        columns["distance"] = distance
    design: NDArray[np.float64] = np.column_stack([np.ones(len(rows)), *columns.values()])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return {"not_estimable": "middle, length and distance determine one another in these questions"}
    clusters = np.unique(rows["excerpt"].tolist(), return_inverse=True)[1]
    fit = _clustered_logit(design, rows["right"].to_numpy(float), clusters)
    if fit is None:
        return {"not_estimable": "the regression did not converge; right answers may follow one column exactly"}
    coefficients, errors = fit
    return {
        "terms": {
            name: {
                "coefficient": float(coefficients[i]),
                "low": float(coefficients[i] - norm.ppf(0.975) * errors[i]),
                "high": float(coefficients[i] + norm.ppf(0.975) * errors[i]),
                "odds_ratio": math.exp(float(coefficients[i])),
                # Without an error, as where the two orders of every pair cancel, there is no effect that varies.
                "p": float(2 * norm.sf(abs(coefficients[i] / errors[i]))) if errors[i] else 1.0,
            }
            for i, name in enumerate(columns, 1)
        }
    }


def _clustered_logit(
    design: NDArray[np.float64], right: NDArray[np.float64], clusters: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Coefficients and errors by cluster (Cameron & Miller, 2015, II.B), by Newton's method; None if none are finite."""
    from scipy.special import expit

    coefficients, step = np.zeros(design.shape[1]), np.full(design.shape[1], np.inf)
    n, k, n_clusters = *design.shape, clusters.max() + 1
    try:
        with np.errstate(all="ignore"):
            for _ in range(_MOST_STEPS):
                expected = expit(design @ coefficients)
                information = (design.T * (expected * (1 - expected))) @ design
                if np.abs(step).max() < _SMALL_STEP:
                    break
                step = np.linalg.solve(information, design.T @ (right - expected))
                coefficients = coefficients + step
            if np.linalg.matrix_rank(information) < k:  # right answers follow a column, whose coefficient has no end
                return None
            inverse = np.linalg.inv(information)
            by_cluster = np.zeros((n_clusters, k))
            np.add.at(by_cluster, clusters, design * (right - expected)[:, None])
            correction = np.float64(n_clusters) / (n_clusters - 1) * (n - 1) / (n - k)
            errors = np.sqrt(np.diag(correction * inverse @ by_cluster.T @ by_cluster @ inverse))
    except np.linalg.LinAlgError:
        return None
    finite = np.isfinite(errors).all() and np.isfinite(coefficients).all() and np.abs(step).max() < _SMALL_STEP
    return (coefficients, errors) if finite else None
