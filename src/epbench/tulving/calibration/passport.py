"""A judge's passport: how often it is right on the calibration set, by kind (paper: Section 4.3, Appendix B.4).

It is shown beside every score that the judge gives, since whatever the judge misses or wrongly accepts is in the score
too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from epbench import __version__
from epbench.judges.protocol import JudgeIdentity, about_judge
from epbench.metric_folders import metric_module
from epbench.statistics.intervals import wilson
from epbench.tulving.calibration.answers import CalibrationAnswer, fingerprint_of_set
from epbench.tulving.calibration.kinds import KINDS, TRAPS
from epbench.tulving.judging.protocol import Verdict

PASSPORT = "passport.json"
SHARES = ("sensitivity", "specificity", "order")
CREDITED = 0.5  # a score from here on counts an item as found
NEAREST = 0.25  # largest difference from the right score of 0, 0.5 or 1

Passport = dict[str, Any]
Judged = tuple[CalibrationAnswer, Verdict]


def make_passport(
    judge: JudgeIdentity, calibration_set: Sequence[CalibrationAnswer], verdicts: Mapping[str, Verdict], seed: int
) -> Passport:
    """Return the content of passport.json.

    Args:
        judge: The judge that gave the verdicts.
        calibration_set: The calibration set.
        verdicts: By the id of the input. An answer without a verdict is one on which the judge failed: neither right nor
            wrong, and counted separately.
        seed: Seed of the calibration set.

    Returns:
        judge, prompt_hash, setup (not of rules), seed, n (answers per kind), made_answers (fingerprint of the
        calibration set), failed;
        sensitivity: share of the items named in full that the judge credits with 0.5 or more;
        specificity: share of the items not named that it does not credit. Where nothing true exists, the abstention
        takes the place of an item: a judge credits an answer with false items if it lists none of them.
        Items named in part count in neither;
        order: of the complete answers to chronological questions with all items credited, the share that it reads in
        their order;
        each with `_interval` (95 %, Wilson, items taken as independent); None where there is nothing to count;
        kinds: for each its name, n, right, rate, low, high, failed, and sensitivity, specificity where defined;
        f1_when_right, f1_when_wrong: see `correction.corrected`; versions.
    """
    judged = [
        (answer, verdicts[answer.judge_input.id]) for answer in calibration_set if answer.judge_input.id in verdicts
    ]
    kinds = []
    for kind in KINDS:
        of_kind = [pair for pair in judged if pair[0].kind == kind]
        right = [is_right(*pair) for pair in of_kind]
        rate, interval = _rate(right)
        low, high = interval or (None, None)
        failed = sum(answer.kind == kind for answer in calibration_set) - len(of_kind)
        about = {"kind": kind, "n": len(of_kind), "right": sum(right), "rate": rate, "low": low, "high": high}
        kinds.append(about | {"failed": failed} | _shares(of_kind))
    return {
        **about_judge(judge, "judge"),
        "seed": seed,
        "n": len(calibration_set) // len(KINDS),
        "made_answers": fingerprint_of_set(calibration_set),
        "failed": len(calibration_set) - len(judged),
        **_shares(judged),
        **_named_rate("order", [_order_is_right(*pair) for pair in judged if _order_counts(*pair)]),
        "kinds": kinds,
        "f1_when_right": _mean_f1(judged, 1.0),
        "f1_when_wrong": _mean_f1(judged, 0.0),
        "versions": {"epbench": __version__},
    }


def is_right(answer: CalibrationAnswer, verdict: Verdict) -> bool:
    """Return whether a verdict is right about a calibration answer.

    Every score must be nearest to the right one of 0, 0.5 and 1 (at most a quarter away). The number of items that it
    lists must lead to the right F1, given the right scores: as the published policy counts no more items than there are
    true ones, a surplus item matters only where a true one is missing or none exists. And the order must be that of the
    answer, if the answer is complete and order is asked for.
    """
    found = _first_scores(answer.judge_input.reference, verdict.scores)
    return (
        all(abs(found[item] - score) <= NEAREST for item, score in answer.decisions.items())
        and math.isclose(_f1(len(set(verdict.items)), answer.decisions), _true_f1(answer))
        and (answer.order is None or _order_is_right(answer, verdict))
    )


def _shares(judged: Sequence[Judged]) -> dict[str, Any]:
    """Sensitivity and specificity over everything that could be credited."""
    credited: dict[bool, list[bool]] = {True: [], False: []}  # by whether the answer names it
    for answer, verdict in judged:
        if not answer.judge_input.reference:
            credited[answer.n_items == 0].append(not verdict.items)
        found = _first_scores(answer.judge_input.reference, verdict.scores)
        for item, score in answer.decisions.items():
            if score in (0.0, 1.0):
                credited[score == 1.0].append(found[item] >= CREDITED)
    return _named_rate("sensitivity", credited[True]) | _named_rate("specificity", [not c for c in credited[False]])


def _named_rate(name: str, right: Sequence[bool]) -> dict[str, Any]:
    rate, interval = _rate(right)
    return {name: rate, f"{name}_interval": interval}


def _rate(right: Sequence[bool]) -> tuple[float | None, list[float] | None]:
    """Share and interval; None where there is nothing to count."""
    interval = wilson(sum(right), len(right))
    return (sum(right) / len(right), list(interval)) if interval else (None, None)


def _order_counts(answer: CalibrationAnswer, verdict: Verdict) -> bool:
    return answer.order is not None and min(verdict.scores) >= CREDITED


def _order_is_right(answer: CalibrationAnswer, verdict: Verdict) -> bool:
    """Items that are not true are ignored, as in the metric."""
    return tuple(dict.fromkeys(item for item in verdict.order if item in answer.decisions)) == answer.order


def _mean_f1(judged: Sequence[Judged], true_f1: float) -> dict[str, float | None]:
    """The judge's mean F1 of the answers with this true F1, separately for questions without and with a true item."""
    by_reference: dict[str, list[float]] = {"nothing_true": [], "something_true": []}
    for answer, verdict in judged:
        if _true_f1(answer) == true_f1 and answer.kind not in TRAPS:
            scores = _first_scores(answer.judge_input.reference, verdict.scores)
            where = "something_true" if answer.judge_input.reference else "nothing_true"
            by_reference[where].append(_f1(len(set(verdict.items)), scores))
    return {where: math.fsum(values) / len(values) if values else None for where, values in by_reference.items()}


def _true_f1(answer: CalibrationAnswer) -> float:
    return _f1(answer.n_items, answer.decisions)


def _f1(n_items: int, scores: Mapping[str, float]) -> float:
    """F1 of one answer, as the metric computes it."""
    f1: float = metric_module("episodic_f1").lenient_f1(n_items, len(scores), math.fsum(scores.values()))[2]
    return min(1.0, max(0.0, f1))


def _first_scores(reference: Sequence[str], scores: Sequence[float]) -> dict[str, float]:
    """The score of each different item; if one is repeated its first score counts, as in the metric."""
    return dict(reversed(list(zip(reference, scores, strict=True))))
