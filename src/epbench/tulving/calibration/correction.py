"""The headline corrected for what its judge misses and lets pass, by the judge's passport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from epbench.tulving.calibration.passport import SHARES, Passport
from epbench.tulving.calibration.store import find_passport
from epbench.tulving.judging.protocol import Judge, PastJudge
from epbench.tulving.scores.scoring import mean

LEAST_DIFFERENCE = 0.05  # between the F1 of right and of wrong answers; below, nothing can be corrected


def corrected(f1_by_bin: Mapping[str, float], passport: Passport) -> dict[str, Any]:
    """Scores as a judge without error would have given them, after Rogan and Gladen, on the scale of F1.

    A judge gives the mean F1 `r` to answers that are wholly right and `w` to wholly wrong ones; a true F1 of `f` is
    then seen as w + (r − w)·f, from which f follows. That takes it that errors on half-right answers lie between, and
    that real answers are worded like the made ones. `r` is of the made answers whose true F1 is 1, `w` of those where
    it is 0, for bin 0 of those to which nothing true exists. Traps (paraphrases, guesses, denials, instructions) are
    left out: how often real answers set them is unknown, and to take a share for granted would move every score.

    Args:
        f1_by_bin: observed mean F1, in [0, 1].
        passport: of the judge.

    Returns:
        f1_by_bin, clipped to [0, 1], and simple_recall_score, their mean; None where right and wrong answers get an
        F1 that differs by 0.05 or less, so that the judge tells nothing, and in the mean if any bin is None.
    """
    bins: dict[str, float | None] = {}
    for bin_, observed in f1_by_bin.items():
        where = "nothing_true" if bin_ == "0" else "something_true"
        right, wrong = passport["f1_when_right"][where], passport["f1_when_wrong"][where]
        if right is None or wrong is None or right - wrong <= LEAST_DIFFERENCE:
            bins[bin_] = None
        else:
            bins[bin_] = min(1.0, max(0.0, (observed - wrong) / (right - wrong)))
    known = [value for value in bins.values() if value is not None]
    return {"simple_recall_score": mean(known) if len(known) == len(bins) else None, "f1_by_bin": bins}


def judge_scores(judge: Judge, f1_by_bin: Mapping[str, float] | None) -> dict[str, Any]:
    """What scores.json says of the judge.

    Args:
        judge: who judged.
        f1_by_bin: observed mean F1, in [0, 1]; None where the headline is incomplete, so that nothing is corrected.

    Returns:
        judge: name, prompt_hash, sensitivity, specificity, order and their intervals, and passport: the made answers
        that it was checked with (fingerprint, seed, n per kind, failed without a verdict), None without a passport;
        corrected: the recall corrected for it, None without a passport or for an incomplete headline.
    """
    passport = find_passport(judge)
    about: dict[str, Any] = {"name": judge.name, "prompt_hash": judge.prompt_hash, "passport": None}
    if passport is None:
        return {"judge": about, "corrected": None}
    about["passport"] = {name: passport[name] for name in ("made_answers", "seed", "n", "failed")}
    for share in SHARES:
        about |= {name: passport[name] for name in (share, f"{share}_interval")}
    return {"judge": about, "corrected": None if f1_by_bin is None else corrected(f1_by_bin, passport)}


def recall_to_correct(scores: Mapping[str, Any]) -> Mapping[str, float] | None:
    """f1_by_bin of a run's scores; None where a bin lost questions."""
    f1_by_bin: Mapping[str, float] = scores["f1_by_bin"]
    return None if scores["failed_by_bin"] else f1_by_bin


def with_passport(scores: Mapping[str, Any]) -> dict[str, Any]:
    """A run's scores with what is known of its judge by now, as the passport may have been made after the run.

    Args:
        scores: content of scores.json; what it says of the judge stays where no passport is kept here.
    """
    judge = scores.get("judge")
    if judge is None or judge["prompt_hash"] is None:  # nobody, or a published one
        return dict(scores)
    found = judge_scores(PastJudge(judge["name"], judge["prompt_hash"]), recall_to_correct(scores))
    return dict(scores) | (found if found["judge"]["passport"] else {})
