"""From answered questions to the scores of a run (Sections 4.3 and 5; Tables 1, 2, 11, 12).

Accuracy compares the probabilities of A and B, however small both are, so a model that would never write either still gets
an accuracy. Two numbers beside it show what it is worth: the greedy accuracy counts what the model would have written, and
the label mass is the probability that its first token is A or B.

A model that answers A whatever is asked has an accuracy of one half even if it holds A for more probable where A is right. The
AUC of its log odds and the accuracy with a calibrated threshold show this; the paper has neither.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.booksort.pairs import WHOLE_BOOK_EDGES
from epbench.booksort.scores.middle_effect import middle_effect
from epbench.booksort.scores.run_files import APART, LONG_EXCERPT, about_whole_books, share
from epbench.errors import NothingToScore
from epbench.metric_folders import formulas
from epbench.runs.usage import commonest

if TYPE_CHECKING:
    import pandas as pd

Summary = dict[str, Any]

LOW_MASS = 0.5
"""Below this label mass, something else is more probable than A and B together."""

ONE_LETTER = 0.6
"""From this accuracy on, always giving one letter is told as what an accuracy must be compared with."""


def score_run(rows: pd.DataFrame) -> dict[str, Any]:
    """The content of scores.json, from all questions of a run; NothingToScore if there is no answer.

    Returns:
        The fields of `summary` for all questions: accuracy, greedy_accuracy, greedy_invalid, label_mass, n_label_mass,
        low_mass, share_a, p_value, n_invalid, those of `APART`, and with failed questions incomplete.
        n_questions and n_failed: the numbers of answered and of failed questions.
        intervals: [low, high] of `accuracy`, `greedy_accuracy`, `consistency` and `auc`, 95 %, with excerpts as clusters.
        warnings: see `key_warnings` and `mass_warnings`.
        by_group: for each of `GROUPINGS`, a summary of each group in rising order.
        distances: accuracy by the distance in words, in ten parts of equal size.
        lost_in_the_middle: see `middle_effect`.
        With both orders also consistency and both_orders; see `both_orders_scores`.
        After retrieval also retrieval: the share of questions for which both segments were found, the share for which
        they were found in the order of the book, and a summary of the latter; see also `memory_scores`.
    """
    n_answered = int(rows["right"].notna().sum())
    if not n_answered:
        reasons = f"all {len(rows)} questions failed{commonest(rows['failure'].dropna())}"
        raise NothingToScore(f"nothing to score: {reasons}; start the run again to retry them")
    whole = summary(rows)
    ends = {"accuracy": (whole.pop("ci_low"), whole.pop("ci_high")), "greedy_accuracy": (None, None)}
    ends["auc"] = (whole.pop("auc_low"), whole.pop("auc_high"))
    if n_answered == len(rows):
        ends["greedy_accuracy"] = _interval_of(rows["written"] == rows["answer"], rows)
    scores: dict[str, Any] = {"accuracy": whole["accuracy"], "greedy_accuracy": whole["greedy_accuracy"]}
    scores |= {"n_questions": whole.pop("n"), "n_failed": whole.pop("n_failed")} | whole
    if rows["swapped"].any():
        pairs, askings = both_orders_scores(rows), _pairs_of(rows)
        ends["consistency"] = _interval_of(askings["same"], askings)
        scores |= {"consistency": pairs.pop("consistency"), "both_orders": pairs}
    scores["intervals"] = {name: [low, high] for name, (low, high) in ends.items() if low is not None}
    scores["warnings"] = [*key_warnings(rows), *mass_warnings(scores)]
    scores["by_group"] = {name: by_group(rows, columns) for name, columns in GROUPINGS.items()}
    scores["distances"] = by_distance(rows)
    scores["lost_in_the_middle"] = middle_effect(rows)
    retrieved = rows[rows["retrieved_both"].notna()]
    if len(retrieved):
        in_order = retrieved[retrieved["retrieved_order"].astype(bool)]
        scores["retrieval"] = {
            "n": len(retrieved),
            "both_found": share(retrieved["retrieved_both"].astype(bool)),
            "in_order": len(in_order) / len(retrieved),
            "where_in_order": summary(in_order) if len(in_order) else None,
        }
    return scores


def memory_scores(rows: pd.DataFrame, n_verbatim: int) -> dict[str, Any]:
    """What a memory system's finds were worth: found both segments (of `n_verbatim` word for word), kept their order.

    Returns:
        both_verbatim: the share of questions for which both segments were found word for word. order_kept: of those for
        which both were found, the share in the order of the book; None without any. where_both_found and where_not_found:
        a summary of the questions for which both were found, and of the others with memories; None without any.
    """
    known = rows[rows["retrieved_both"].notna()]
    found = known["retrieved_both"].astype(bool)
    parts = {"where_both_found": known[found], "where_not_found": known[~found]}
    return {
        "both_verbatim": n_verbatim / len(known),
        "order_kept": share(known[found]["retrieved_order"].astype(bool)),
        **{name: summary(part) if len(part) else None for name, part in parts.items()},
    }


def summary(rows: pd.DataFrame) -> Summary:
    """The scores of at least one question; failed ones may be among them.

    Returns:
        accuracy, ci_low and ci_high (95 %, drawing excerpts), share_a, n (answered questions), n_invalid and p_value: as
        the metric `sort_accuracy` computes them; with both orders p_value is that of `against_guessing`, one-sided, and
        None if no pair has two answers.
        auc, auc_low, auc_high, auc_p_value and calibrated_accuracy: how well log p(A) - log p(B) tells the questions
        apart, as the metric computes it; None unless the probabilities of all questions are known.
        greedy_accuracy, greedy_invalid, label_mass, n_label_mass and low_mass: see `label_scores`.
        n_failed: the number of failed questions. If there are any, accuracy, its interval, p_value, greedy_accuracy and
        the fields of the AUC are None, and incomplete has [low, high] for accuracy and greedy_accuracy: their values if
        all failed answers were wrong, and if all were right.
    """
    answered = rows[rows["right"].notna()]
    n_failed = len(rows) - len(answered)
    scores: Summary = {"accuracy": None, "ci_low": None, "ci_high": None, "share_a": None, "n": 0, "n_invalid": 0}
    scores |= dict.fromkeys(("p_value", *APART))
    if len(answered):
        predicted, answer, excerpt = (answered[name].tolist() for name in ("predicted", "answer", "excerpt"))
        odds = answered["log_odds"].tolist() if not n_failed and answered["log_odds"].notna().all() else None
        scores |= formulas("sort_accuracy").sort_accuracy(predicted, answer, None, excerpt, odds)
    if rows["swapped"].any():
        twice = answered["pair"].duplicated().any()
        scores["p_value"] = against_guessing(answered, "greater")[0] if twice else None
    scores |= label_scores(answered) | {"n_failed": n_failed}
    if n_failed:
        scores["incomplete"] = {
            "accuracy": _bounds(answered["right"], n_failed),
            "greedy_accuracy": _bounds(answered["written"] == answered["answer"], n_failed),
        }
        scores |= dict.fromkeys(("accuracy", "ci_low", "ci_high", "p_value", "greedy_accuracy"))
    return scores


def _bounds(right: pd.Series[Any], n_failed: int) -> list[float]:
    """The accuracy if all failed answers were wrong, and if all were right."""
    n_right, n = int(right.sum()), len(right) + n_failed
    return [n_right / n, (n_right + n_failed) / n]


def _interval_of(values: pd.Series[bool], rows: pd.DataFrame) -> tuple[float | None, float | None]:
    """95 % interval of a share, drawing excerpts; without ends for a single excerpt or without questions."""
    interval_of = formulas("sort_accuracy").accuracy_interval
    return (interval_of(values.tolist(), rows["excerpt"].tolist()) if len(values) else None) or (None, None)


def by_group(rows: pd.DataFrame, columns: Sequence[str]) -> dict[str, Summary]:
    """A summary of each group, in rising order; the name of a group has its values, such as `250` or `250 x 20`."""
    length, bin_ = rows["excerpt_length"], rows["distance_bin"]
    is_long = length >= LONG_EXCERPT
    edges = [(length // 4).mask(is_long, 1000), (length // 3).mask(is_long, length // 4), length // 2]
    numbers = bin_.map(lambda last: 1 + bisect_left(WHOLE_BOOK_EDGES, last))
    quarters = numbers.where(about_whole_books(rows), 1 + sum((bin_ > edge).astype(int) for edge in edges))
    groups = rows.assign(quarter=quarters).groupby(list(columns))
    return {" x ".join(map(str, values)): summary(members) for values, members in groups}


def by_distance(rows: pd.DataFrame, parts: int = 10) -> list[Summary]:
    """Summaries of about equal parts by distance, with `from`, `to` and `mean` of it in words from start to start."""
    import numpy as np

    distances = rows["distance"].to_numpy()
    edges = np.unique(np.quantile(distances, np.linspace(0, 1, parts + 1)[1:-1], method="higher"))
    part_of_row = np.searchsorted(edges, distances, side="left")
    return [
        {"from": int(far.min()), "to": int(far.max()), "mean": int(far.sum()) / len(far), **summary(part)}
        for _, part in rows.groupby(part_of_row)
        for far in [part["distance"]]
    ]


GROUPINGS: dict[str, Sequence[str]] = {
    "book": ["book_idx"],
    "distance_bin": ["excerpt_length", "distance_bin"],
    "distance": ["quarter"],
    "excerpt_length": ["excerpt_length"],
    "segment_length": ["segment_length"],
    "excerpt_length x segment_length": ["excerpt_length", "segment_length"],
    "part": ["part"],
    "part x segment_length": ["part", "segment_length"],
    "book x part x segment_length": ["book_idx", "part", "segment_length"],
}
"""How questions are grouped, by the name of the grouping. quarter is the number of the bin of Table 4 that the distance lies in,
from 1 (nearest) to 4, for any length of the excerpt; for whole books, of the bin in `WHOLE_BOOK_EDGES`, from 1 to 8. part is that
of the paper: `SORT` with excerpts of up to 2,500 words, `SORT-extend` with longer ones."""


def _pairs_of(rows: pd.DataFrame) -> pd.DataFrame:
    """Pairs answered both times, with `_again` columns of the second asking; `same` is whether both name the same segment."""
    answered = rows[rows["right"].notna()]
    first, second = answered[~answered["swapped"]], answered[answered["swapped"]]
    pairs = first.merge(second[["pair", "predicted", "right", "share"]], on="pair", suffixes=("", "_again"))
    named = (pairs["predicted"] != "X") & (pairs["predicted_again"] != "X")
    return pairs.assign(same=named & (pairs["right"] == pairs["right_again"]))


def both_orders_scores(rows: pd.DataFrame) -> dict[str, Any]:
    """The scores of pairs that were asked in both orders; failed askings may be among them.

    Returns:
        consistency: the share of the pairs whose two answers name the same segment, None without a pair.
        n_pairs: the number of pairs with two answers. n_incomplete: the number of pairs with a failed asking.
        always_a and always_b: the shares of the pairs that got the same label both times, an effect of the position.
        pair_accuracy: the accuracy if each pair is decided once, by the mean of p(segment) / (p(A) + p(B)) over its two
        askings (equal means count as wrong); None unless all probabilities are known.
    """
    pairs = _pairs_of(rows)
    n, shares = len(pairs), pairs["share"] + pairs["share_again"]
    first, again = pairs["predicted"], pairs["predicted_again"]
    return {
        "consistency": share(pairs["same"]),
        "n_pairs": n,
        "n_incomplete": rows["pair"].nunique() - n,
        "always_a": share((first == "A") & (again == "A")),
        "always_b": share((first == "B") & (again == "B")),
        "pair_accuracy": share(shares > 1) if shares.notna().all() else None,
    }


def against_guessing(answered: pd.DataFrame, alternative: str = "two-sided") -> tuple[float, int]:
    """The p-value of the binomial test of right answers against guessing, and the number of units that it counts.

    The two askings of a pair are not independent, so a test over all askings would take chance for skill. Where pairs
    were asked twice, those that are right both times are tested against those that are wrong both times. `greater` is for
    more right answers than by guessing.
    """
    from scipy.stats import binomtest

    right, units = int(answered["right"].sum()), len(answered)
    if answered["swapped"].any():
        times = answered.groupby("pair")["right"].agg(["sum", "size"])
        both = times[times["size"] == 2]["sum"]
        right, units = int((both == 2).sum()), int((both != 1).sum())
    return (float(binomtest(right, units, 0.5, alternative=alternative).pvalue) if units else 1.0), units


def label_scores(answered: pd.DataFrame) -> dict[str, Any]:
    """What the answers show beyond which label is more probable; see above. Failed questions are left out.

    Returns:
        greedy_accuracy: the share of questions whose written answer names the right segment. greedy_invalid: the share of
        those whose written answer names neither, which is wrong. Both are None without questions.
        label_mass: the mean probability of A and B together as the first token, over the n_label_mass questions whose
        probabilities are known. low_mass: the share of these below `LOW_MASS`. Both are None if no probabilities are
        known. Endpoints list only their most probable tokens, so their label mass is a lower bound.
    """
    masses = answered["label_mass"].dropna().astype("float64")
    return {
        "greedy_accuracy": share(answered["written"] == answered["answer"]),
        "greedy_invalid": share(answered["written"] == "X"),
        "label_mass": sum(masses.tolist()) / len(masses) if len(masses) else None,
        "n_label_mass": len(masses),
        "low_mass": share(masses < LOW_MASS),
    }


def key_warnings(rows: pd.DataFrame) -> list[str]:
    """What a reader of the accuracy must know if one letter is right much more often than the other, as with few questions."""
    key = rows["answer"][rows["right"].notna()]
    letter, n = key.mode()[0], int(key.value_counts().max())
    if n < ONE_LETTER * len(key):
        return []
    return [
        f"{letter} is right in {n} of the {len(key)} answered questions: who always answers {letter} has an accuracy of "
        f"{n / len(key):.3f}. Compare with that, not with 0.5, or ask in both orders."
    ]


def mass_warnings(scores: Mapping[str, Any]) -> list[str]:
    """What a reader of the accuracy must know, in full sentences; nothing if the label mass is high or unknown."""
    mass = scores["label_mass"]
    if mass is None or mass >= LOW_MASS:
        return []
    text = (
        f"A and B together have only {mass:.2g} of the probability of the answer's first token (label_mass). The accuracy "
        "is read from this small rest: it says which label the model holds for the more probable one, not what it "
        f"would answer. {scores['greedy_invalid']:.0%} of its most probable answers name neither segment"
    )
    if scores["greedy_accuracy"] is not None:
        text += f"; counted by these, its accuracy is {scores['greedy_accuracy']:.3f} (greedy_accuracy)"
    return [f"{text}. Check the prompt and the model's chat template."]
