"""A judge's passport: how often it is right on made answers of known truth, by kind (paper: Section 4.3, Appendix B.4).

It stands beside every score that the judge gives: what is missed and what is let pass by whoever reads the answers is
in the score as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from epbench import __version__
from epbench.metric_folders import metric_module
from epbench.statistics.proportions import wilson
from epbench.tulving.calibration.answers import MadeAnswer, fingerprint_of_answers
from epbench.tulving.calibration.kinds import KINDS, TRAPS
from epbench.tulving.judging.protocol import Judge, Verdict
from epbench.tulving.scores.scoring import mean

PASSPORT = "passport.json"
SHARES = ("sensitivity", "specificity", "order")
CREDITED = 0.5  # a score from here on counts an item as found
NEAREST = 0.25  # how far a score may lie from the true one of 0, 0.5 and 1

Passport = dict[str, Any]
Outcome = tuple[MadeAnswer, Verdict]


def make_passport(judge: Judge, made: Sequence[MadeAnswer], verdicts: Mapping[str, Verdict], seed: int) -> Passport:
    """The content of passport.json.

    Args:
        judge: who gave the verdicts.
        made: the made answers.
        verdicts: by the id of the case. Where there is none the judge failed: neither right nor wrong, counted apart.
        seed: of the made answers.

    Returns:
        judge, prompt_hash, seed, n (made answers per kind), made_answers (their fingerprint), failed;
        sensitivity: share of what the answers name in full that the judge credits with 0.5 or more;
        specificity: share of what they do not name that it does not credit. Where nothing true exists, what is there
        to be credited is the abstention: an answer with false items is credited by a judge that lists none of them.
        Items named in part are in neither;
        order: share of the complete answers to chronological questions, all of whose items it credits, that it reads
        in their order;
        each with `_interval` (95 %, Wilson, items taken as independent); None where there is nothing to count;
        kinds: for each its name, n, right, rate, low, high, failed, and sensitivity, specificity where defined;
        f1_when_right, f1_when_wrong: see `correction.corrected`; versions.
    """
    judged = [(answer, verdicts[answer.case.id]) for answer in made if answer.case.id in verdicts]
    kinds = []
    for kind in KINDS:
        there = [outcome for outcome in judged if outcome[0].kind == kind]
        right = [is_right(*outcome) for outcome in there]
        rate, interval = _rate(right)
        low, high = interval or (None, None)
        failed = sum(answer.kind == kind for answer in made) - len(there)
        about = {"kind": kind, "n": len(there), "right": sum(right), "rate": rate, "low": low, "high": high}
        kinds.append(about | {"failed": failed} | _shares(there))
    return {
        "judge": judge.name,
        "prompt_hash": judge.prompt_hash,
        "seed": seed,
        "n": len(made) // len(KINDS),
        "made_answers": fingerprint_of_answers(made),
        "failed": len(made) - len(judged),
        **_shares(judged),
        **_named_rate("order", [_order_is_right(*outcome) for outcome in judged if _order_counts(*outcome)]),
        "kinds": kinds,
        "f1_when_right": _mean_f1(judged, 1.0),
        "f1_when_wrong": _mean_f1(judged, 0.0),
        "versions": {"epbench": __version__},
    }


def is_right(made: MadeAnswer, verdict: Verdict) -> bool:
    """Whether a verdict says of a made answer what is true of it.

    It does when the score of every true item is nearest to the true one of 0, 0.5 and 1 (a quarter away at most);
    when the number of items that it lists leads to the true F1, given the true scores: as the published policy counts
    no more items than there are true ones, a surplus item matters only where a true one is missing or none exists;
    and when the order is that of the answer, where the answer is complete and order is asked for.
    """
    found = _first_scores(made.case.truth, verdict.scores)
    return (
        all(abs(found[item] - score) <= NEAREST for item, score in made.decisions.items())
        and math.isclose(_f1(len(set(verdict.items)), made.decisions), _true_f1(made))
        and (made.order is None or _order_is_right(made, verdict))
    )


def _shares(judged: Sequence[Outcome]) -> dict[str, Any]:
    """Sensitivity and specificity over all that could be credited."""
    credited: dict[bool, list[bool]] = {True: [], False: []}  # by whether it is there
    for made, verdict in judged:
        if not made.case.truth:
            credited[made.n_items == 0].append(not verdict.items)
        found = _first_scores(made.case.truth, verdict.scores)
        for item, score in made.decisions.items():
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


def _order_counts(made: MadeAnswer, verdict: Verdict) -> bool:
    return made.order is not None and min(verdict.scores) >= CREDITED


def _order_is_right(made: MadeAnswer, verdict: Verdict) -> bool:
    """Items that are not true are ignored, as the metric does."""
    return tuple(dict.fromkeys(item for item in verdict.order if item in made.decisions)) == made.order


def _mean_f1(judged: Sequence[Outcome], true_f1: float) -> dict[str, float | None]:
    """Mean F1 by this judge of the answers whose true F1 is this, apart for questions without and with a true item."""
    seen: dict[str, list[float]] = {"nothing_true": [], "something_true": []}
    for made, verdict in judged:
        if _true_f1(made) == true_f1 and made.kind not in TRAPS:
            scores = _first_scores(made.case.truth, verdict.scores)
            where = "something_true" if made.case.truth else "nothing_true"
            seen[where].append(_f1(len(set(verdict.items)), scores))
    return {where: mean(values) for where, values in seen.items()}


def _true_f1(made: MadeAnswer) -> float:
    return _f1(made.n_items, made.decisions)


def _f1(n_items: int, scores: Mapping[str, float]) -> float:
    """F1 of one answer by the metric."""
    f1: float = metric_module("episodic_f1").lenient_f1(n_items, len(scores), math.fsum(scores.values()))[2]
    return min(1.0, max(0.0, f1))


def _first_scores(truth: Sequence[str], scores: Sequence[float]) -> dict[str, float]:
    """The score of each different item; of a repeated one the first counts, as in the metric."""
    return dict(reversed(list(zip(truth, scores, strict=True))))
