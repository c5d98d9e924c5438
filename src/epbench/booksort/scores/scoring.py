"""From answered questions to the scores of a run (Sections 4.3 and 5; Tables 1, 2, 11, 12)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from epbench.booksort.judging.answers import ScoredPair
from epbench.booksort.scores.middle_effect import middle_effect
from epbench.errors import NothingToScore
from epbench.metric_folders import metric_module
from epbench.runs.usage import commonest

Summary = dict[str, Any]
Key = Callable[[ScoredPair], tuple[int | str, ...]]

DISTANCE_QUANTILES = 10
LONG_EXCERPT = 5000  # words; longer excerpts have other bins of distance, and the paper calls them SORT-extend

LOW_MASS = 0.5
"""Below this label mass, something else is more probable than A and B together."""


def score_run(rows: Sequence[ScoredPair]) -> dict[str, Any]:
    """The content of scores.json.

    Args:
        rows: All questions. Those whose request failed are neither right nor wrong.

    Returns:
        The fields of `summary` for all questions: accuracy, greedy_accuracy, greedy_invalid, label_mass, n_label_mass,
        low_mass, share_a, p_value, n_invalid, and with failed questions incomplete.
        n_questions and n_failed: the numbers of answered and of failed questions.
        intervals: [low, high] of `accuracy`, `greedy_accuracy` and `consistency`, 95 %, drawing excerpts.
        warnings: see `mass_warnings`.
        by_group: for each of `GROUPINGS`, a summary of each group in rising order.
        distances: accuracy by the distance in words, in ten parts of equal size.
        lost_in_the_middle: see `middle_effect`.
        With both orders also consistency and both_orders; see `both_orders_scores`.
        After retrieval also retrieval: the share of questions for which both segments were found, the share for which
        they were found in the order of the book, and a summary of the latter.

    Raises:
        NothingToScore: There is no answer.
    """
    answered = [row for row in rows if not row.failed]
    if not answered:
        reasons = commonest(row.failure for row in rows if row.failure)
        raise NothingToScore(
            f"nothing to score: all {len(rows)} questions failed{reasons}; start the run again to retry them"
        )
    whole = summary(rows)
    ends = {"accuracy": (whole.pop("ci_low"), whole.pop("ci_high")), "greedy_accuracy": (None, None)}
    if len(answered) == len(rows):
        ends["greedy_accuracy"] = interval_of([row.written == row.answer for row in rows], rows) or (None, None)
    scores: dict[str, Any] = {"accuracy": whole["accuracy"], "greedy_accuracy": whole["greedy_accuracy"]}
    scores |= {"n_questions": whole.pop("n"), "n_failed": whole.pop("n_failed")} | whole
    if any(row.swapped for row in rows):
        pairs = both_orders_scores(rows)
        ends["consistency"] = interval_of(*consistent(rows)) or (None, None)
        scores |= {"consistency": pairs.pop("consistency"), "both_orders": pairs}
    scores["intervals"] = {name: [low, high] for name, (low, high) in ends.items() if low is not None}
    scores["warnings"] = mass_warnings(scores)
    scores["by_group"] = {name: by_group(rows, key) for name, key in GROUPINGS.items()}
    scores["distances"] = by_distance(rows)
    scores["lost_in_the_middle"] = middle_effect(rows)
    retrieved = [row for row in rows if row.retrieved_both is not None]
    if retrieved:
        in_order = [row for row in retrieved if row.retrieved_order]
        scores["retrieval"] = {
            "n": len(retrieved),
            "both_found": sum(bool(row.retrieved_both) for row in retrieved) / len(retrieved),
            "in_order": len(in_order) / len(retrieved),
            "where_in_order": summary(in_order) if in_order else None,
        }
    return scores


def summary(rows: Sequence[ScoredPair]) -> Summary:
    """The scores of some questions.

    Args:
        rows: At least one question; failed ones may be among them.

    Returns:
        accuracy, ci_low and ci_high (95 %, drawing excerpts), share_a, n (answered questions), n_invalid and p_value: as
        the metric `sort_accuracy` computes them; with both orders p_value is that of `sign_test`.
        greedy_accuracy, greedy_invalid, label_mass, n_label_mass and low_mass: see `label_scores`.
        n_failed: the number of failed questions. If there are any, accuracy, its interval, p_value and greedy_accuracy
        are None, and incomplete has [low, high] for accuracy and greedy_accuracy: their values if all failed answers were
        wrong, and if all were right.
    """
    answered = [row for row in rows if not row.failed]
    n_failed = len(rows) - len(answered)
    found: Summary = {"accuracy": None, "ci_low": None, "ci_high": None, "share_a": None, "n": 0, "n_invalid": 0}
    found |= {"p_value": None}
    if answered:
        found = metric_module("sort_accuracy").sort_accuracy(
            [row.predicted for row in answered],
            [row.answer for row in answered],
            None,
            [row.excerpt for row in answered],
        )
    if any(row.swapped for row in rows):
        found["p_value"] = sign_test(rows)
    found |= label_scores(answered) | {"n_failed": n_failed}
    if n_failed:
        found["incomplete"] = {
            "accuracy": _bounds(sum(row.correct for row in answered), rows, n_failed),
            "greedy_accuracy": _bounds(sum(row.written == row.answer for row in answered), rows, n_failed),
        }
        found |= dict.fromkeys(("accuracy", "ci_low", "ci_high", "p_value", "greedy_accuracy"))
    return found


def _bounds(right: int, rows: Sequence[ScoredPair], n_failed: int) -> list[float]:
    """The accuracy if all failed answers were wrong, and if all were right."""
    return [right / len(rows), (right + n_failed) / len(rows)]


def interval_of(values: Sequence[bool], rows: Sequence[ScoredPair]) -> tuple[float, float] | None:
    """95 % interval of a share, drawing excerpts; None with a single excerpt or without questions."""
    if not values:
        return None
    found: tuple[float, float] | None = metric_module("sort_accuracy").accuracy_interval(
        values, [row.excerpt for row in rows]
    )
    return found


def by_group(rows: Sequence[ScoredPair], key: Key) -> dict[str, Summary]:
    """A summary of each group, in rising order; the name of a group has its values, such as `250` or `250 x 20`."""
    groups: dict[tuple[int | str, ...], list[ScoredPair]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return {" x ".join(map(str, values)): summary(groups[values]) for values in sorted(groups)}


def by_distance(rows: Sequence[ScoredPair], parts: int = DISTANCE_QUANTILES) -> list[Summary]:
    """Accuracy by the distance of the segments, in parts of about equal numbers of questions.

    Returns:
        A summary of each part, with the distances `from`, `to` and `mean`, in words from start to start.
    """
    import numpy as np

    distances = np.array([row.distance for row in rows])
    edges = np.unique(np.quantile(distances, np.linspace(0, 1, parts + 1)[1:-1], method="higher"))
    part_of_row = np.searchsorted(edges, distances, side="left")
    curve = []
    for part in np.unique(part_of_row):
        members = [row for row, of in zip(rows, part_of_row, strict=True) if of == part]
        far = [row.distance for row in members]
        curve.append({"from": min(far), "to": max(far), "mean": sum(far) / len(far), **summary(members)})
    return curve


def _quarter(row: ScoredPair) -> int:
    """The number of the bin of Table 4 that a distance lies in, 1 to 4, for any length of the excerpt."""
    left = [row.excerpt_length // 4, row.excerpt_length // 3, row.excerpt_length // 2]
    if row.excerpt_length >= LONG_EXCERPT:
        left = [1000, row.excerpt_length // 4, row.excerpt_length // 2]
    return 1 + sum(row.distance_bin > edge for edge in left)


def _part(row: ScoredPair) -> str:
    return "SORT" if row.excerpt_length < LONG_EXCERPT else "SORT-extend"


GROUPINGS: dict[str, Key] = {
    "book": lambda row: (row.book_idx,),
    "distance_bin": lambda row: (row.excerpt_length, row.distance_bin),
    "distance": lambda row: (_quarter(row),),
    "excerpt_length": lambda row: (row.excerpt_length,),
    "segment_length": lambda row: (row.segment_length,),
    "excerpt_length x segment_length": lambda row: (row.excerpt_length, row.segment_length),
    "part": lambda row: (_part(row),),
    "part x segment_length": lambda row: (_part(row), row.segment_length),
    "book x part x segment_length": lambda row: (row.book_idx, _part(row), row.segment_length),
}
"""How questions are grouped, by the name of the grouping. `distance` is the bin, from 1 (nearest) to 4, over all lengths of
excerpts. `part` is that of the paper: `SORT` with excerpts of up to 2,500 words, `SORT-extend` with longer ones."""


def pairs_of(rows: Sequence[ScoredPair]) -> list[tuple[ScoredPair, ScoredPair]]:
    """The two askings of each pair that was answered both times: as in the dataset, and with its segments swapped."""
    swapped = {row.pair: row for row in rows if row.swapped and not row.failed}
    return [(row, swapped[row.pair]) for row in rows if not row.swapped and not row.failed and row.pair in swapped]


def same_segment(first: ScoredPair, second: ScoredPair) -> bool:
    """Whether both answers name the same segment; an answer that names neither agrees with none."""
    return first.correct == second.correct and "X" not in (first.predicted, second.predicted)


def consistent(rows: Sequence[ScoredPair]) -> tuple[list[bool], list[ScoredPair]]:
    """For each pair with two answers, whether they name the same segment, and its first asking."""
    pairs = pairs_of(rows)
    return [same_segment(*pair) for pair in pairs], [first for first, _ in pairs]


def both_orders_scores(rows: Sequence[ScoredPair]) -> dict[str, Any]:
    """The scores of pairs that were asked in both orders.

    Args:
        rows: Both askings of each pair; failed ones may be among them.

    Returns:
        consistency: the share of the pairs whose two answers name the same segment, None without a pair.
        n_pairs: the number of pairs with two answers. n_incomplete: the number of pairs with a failed asking.
        always_a and always_b: the shares of the pairs that got the same label both times, which shows an effect of the
        position.
        pair_accuracy: the accuracy if each pair is decided once, by the mean of p(segment) / (p(A) + p(B)) over its two
        askings (equal means count as wrong); None unless all probabilities are known.
    """
    pairs = pairs_of(rows)
    n = len(pairs)
    decided = [_decided_right(*pair) for pair in pairs]
    known = [right for right in decided if right is not None]
    return {
        "consistency": sum(same_segment(*pair) for pair in pairs) / n if n else None,
        "n_pairs": n,
        "n_incomplete": len({row.pair for row in rows}) - n,
        "always_a": sum(one.predicted == other.predicted == "A" for one, other in pairs) / n if n else None,
        "always_b": sum(one.predicted == other.predicted == "B" for one, other in pairs) / n if n else None,
        "pair_accuracy": sum(known) / n if n and len(known) == n else None,
    }


def sign_test(rows: Sequence[ScoredPair]) -> float | None:
    """Test pairs that were asked twice against guessing: right both times against wrong both times, one-sided.

    The two askings of a pair are not independent, so a test over all askings would take chance for skill.

    Returns:
        The p-value; None if no pair has two answers.
    """
    from scipy.stats import binomtest

    pairs = pairs_of(rows)
    if not pairs:
        return None
    right = sum(one.correct and other.correct for one, other in pairs)
    wrong = sum(not one.correct and not other.correct for one, other in pairs)
    return float(binomtest(right, right + wrong, 0.5, alternative="greater").pvalue) if right + wrong else 1.0


def _decided_right(first: ScoredPair, second: ScoredPair) -> bool | None:
    """Whether the probabilities of both askings together choose the earlier segment; None if any are unknown."""
    shares = [_share_right(first), _share_right(second)]
    return None if None in shares else sum(share for share in shares if share is not None) > 1


def _share_right(row: ScoredPair) -> float | None:
    if row.p_a is None or row.p_b is None or row.p_a + row.p_b == 0:
        return None
    return (row.p_a if row.answer == "A" else row.p_b) / (row.p_a + row.p_b)


def label_scores(answered: Sequence[ScoredPair]) -> dict[str, Any]:
    """What the answers show beyond which label is more probable: how much of them is A or B at all.

    Accuracy compares the probabilities of A and B, however small both are, so a model that would never write either still
    gets an accuracy. The greedy accuracy counts what the model would have written, and the label mass is the probability
    that its first token is A or B.

    Args:
        answered: The questions that did not fail.

    Returns:
        greedy_accuracy: the share of questions whose written answer names the right segment. greedy_invalid: the share of
        those whose written answer names neither, which is wrong. Both are None without questions.
        label_mass: the mean probability of A and B together as the first token, over the n_label_mass questions whose
        probabilities are known. low_mass: the share of these below `LOW_MASS`. Both are None if no probabilities are
        known. Endpoints list only their most probable tokens, so their label mass is a lower bound.
    """
    n = len(answered)
    masses = [row.label_mass for row in answered if row.label_mass is not None]
    return {
        "greedy_accuracy": sum(row.written == row.answer for row in answered) / n if n else None,
        "greedy_invalid": sum(row.written == "X" for row in answered) / n if n else None,
        "label_mass": sum(masses) / len(masses) if masses else None,
        "n_label_mass": len(masses),
        "low_mass": sum(mass < LOW_MASS for mass in masses) / len(masses) if masses else None,
    }


def mass_warnings(scores: Mapping[str, Any]) -> list[str]:
    """What a reader of the accuracy must know, in full sentences; nothing if the label mass is high or unknown.

    Args:
        scores: Scores with label_mass, greedy_accuracy, greedy_invalid and n_failed.
    """
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
