"""What two askings of a pair say together: do they name the same segment, and which one by both?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epbench.booksort.answers.answer import ScoredPair


def pairs_of(rows: Sequence[ScoredPair]) -> list[tuple[ScoredPair, ScoredPair]]:
    """The two askings of each pair that has an answer to both, as shown first and the other way round."""
    swapped = {row.pair: row for row in rows if row.swapped and not row.failed}
    return [(row, swapped[row.pair]) for row in rows if not row.swapped and not row.failed and row.pair in swapped]


def same_segment(first: ScoredPair, second: ScoredPair) -> bool:
    """Whether both answers name the same segment; one that names neither agrees with nothing."""
    return first.correct == second.correct and "X" not in (first.predicted, second.predicted)


def consistent(rows: Sequence[ScoredPair]) -> tuple[list[bool], list[ScoredPair]]:
    """For each pair with two answers, whether they name the same segment, and its first asking."""
    pairs = pairs_of(rows)
    return [same_segment(*pair) for pair in pairs], [first for first, _ in pairs]


def both_orders_scores(rows: Sequence[ScoredPair]) -> dict[str, Any]:
    """What the pairs say that were asked both ways round.

    Args:
        rows: both askings of each pair; failed ones may be among them.

    Returns:
        consistency: share of the pairs whose two answers name the same segment, None without a pair; n_pairs: those
        with two answers; n_incomplete: pairs left out because an asking failed; always_a and always_b: shares of the
        pairs that got the same label both times, which is the position's doing; pair_accuracy: accuracy of the pairs
        when each is decided once, by the mean of p(segment)/(p(A)+p(B)) over its two askings (equal is wrong), None
        unless probabilities are known for all of them.
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
    """One-sided test against guessing where pairs were asked twice: right both times against wrong both times.

    The two askings of a pair are not independent, so that a test over all askings would take chance for skill. None
    without a pair that has two answers.
    """
    from scipy.stats import binomtest

    pairs = pairs_of(rows)
    if not pairs:
        return None
    right = sum(one.correct and other.correct for one, other in pairs)
    wrong = sum(not one.correct and not other.correct for one, other in pairs)
    return float(binomtest(right, right + wrong, 0.5, alternative="greater").pvalue) if right + wrong else 1.0


def _decided_right(first: ScoredPair, second: ScoredPair) -> bool | None:
    """Whether the probabilities of both askings together choose the earlier segment; None where one has none."""
    shares = [_share_right(first), _share_right(second)]
    return None if None in shares else sum(share for share in shares if share is not None) > 1


def _share_right(row: ScoredPair) -> float | None:
    if row.p_a is None or row.p_b is None or row.p_a + row.p_b == 0:
        return None
    return (row.p_a if row.answer == "A" else row.p_b) / (row.p_a + row.p_b)
