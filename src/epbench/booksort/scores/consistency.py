"""What the two askings of a pair say together: whether they name the same segment, and which one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epbench.booksort.judging.answers import ScoredPair


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
