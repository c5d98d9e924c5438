"""The headline score, corrected for what its judge misses and wrongly accepts according to its passport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epbench.judges.protocol import JudgeIdentity, about_judge, noted_judge
from epbench.tulving.calibration.passport import SHARES, Passport
from epbench.tulving.calibration.store import find_passport
from epbench.tulving.judging.protocol import ScoredAnswer
from epbench.tulving.scores.scoring import mean

FEWEST_ANSWERS = 20  # with one score from the judge, before readers are warned; fewer may all be right or all wrong
SMALLEST_DIFFERENCE = 0.05  # between the F1 of right and of wrong answers; nothing can be corrected below it


def corrected(f1_by_bin: Mapping[str, float], passport: Passport) -> dict[str, Any]:
    """Return the scores that a judge without error would have given, after Rogan and Gladen, on the scale of F1.

    A judge gives the mean F1 `r` to answers that are wholly right and `w` to wholly wrong ones; a true F1 of `f` is
    then observed as w + (r − w)·f, from which f follows. This assumes that errors on half-right answers lie in between,
    and that real answers are worded like those of the calibration set. `r` is taken from the calibration answers with a
    true F1 of 1, `w` from those with 0; for bin 0, from those to questions without a true item. Traps (paraphrases,
    guesses, denials, instructions) are left out: how often they occur in real answers is unknown, and an assumed share
    would move every score.

    Args:
        f1_by_bin: Observed mean F1, in [0, 1].
        passport: The judge's passport.

    Returns:
        f1_by_bin, clipped to [0, 1], and simple_recall_score, their mean. A bin is None if the F1 of right and of wrong
        answers differs by 0.05 or less, since the judge then hardly tells them apart; the mean is None if any bin is.
    """
    bins: dict[str, float | None] = {}
    for bin_, observed in f1_by_bin.items():
        where = "nothing_true" if bin_ == "0" else "something_true"
        right, wrong = passport["f1_when_right"][where], passport["f1_when_wrong"][where]
        if right is None or wrong is None or right - wrong <= SMALLEST_DIFFERENCE:
            bins[bin_] = None
        else:
            bins[bin_] = min(1.0, max(0.0, (observed - wrong) / (right - wrong)))
    known = [value for value in bins.values() if value is not None]
    return {"simple_recall_score": mean(known) if len(known) == len(bins) else None, "f1_by_bin": bins}


def judge_scores(judge: JudgeIdentity, f1_by_bin: Mapping[str, float] | None) -> dict[str, Any]:
    """Return what scores.json says about the judge.

    Args:
        judge: The judge.
        f1_by_bin: Observed mean F1, in [0, 1]; None if the headline is incomplete, so that nothing is corrected.

    Returns:
        judge: name, prompt_hash, setup (not of rules), sensitivity, specificity, order and their intervals, and passport: the
        calibration set that it was checked with (fingerprint, seed, n per kind, failed without a verdict), None without one;
        corrected: the recall corrected for the judge, None without a passport or for an incomplete headline.
    """
    passport = find_passport(judge)
    about: dict[str, Any] = {**about_judge(judge), "passport": None}
    if passport is None:
        return {"judge": about, "corrected": None}
    about["passport"] = {name: passport[name] for name in ("made_answers", "seed", "n", "failed")}
    for share in SHARES:
        about |= {name: passport[name] for name in (share, f"{share}_interval")}
    return {"judge": about, "corrected": None if f1_by_bin is None else corrected(f1_by_bin, passport)}


def one_score(rows: Sequence[ScoredAnswer]) -> dict[str, Any] | None:
    """Return the one score that a judge gave to every true item of every answer, or None if its scores differ.

    Such verdicts do not show that the judge reads the answers: a stuck judge gives the same ones. Questions without a true
    item say nothing about that, and neither do the missing answers of a file, which no judge has read.

    Args:
        rows: The judged answers.

    Returns:
        score (1 or 0) and answers, their number; None also for fewer than `FEWEST_ANSWERS`.
    """
    given = [row.scores for row in rows if row.scores and not row.missing]
    found = {score for scores in given for score in scores}
    if len(given) < FEWEST_ANSWERS or found not in ({0}, {1}):
        return None
    return {"score": int(found.pop()), "answers": len(given)}


def recall_to_correct(scores: Mapping[str, Any]) -> Mapping[str, float] | None:
    """Return f1_by_bin of a run's scores; None if a bin has lost questions."""
    f1_by_bin: Mapping[str, float] = scores["f1_by_bin"]
    return None if scores["failed_by_bin"] else f1_by_bin


def with_passport(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's scores with what is now known about its judge, as the passport may have been made after the run.

    Args:
        scores: Content of scores.json; what it says about the judge stays if the user's cache has no passport.
    """
    judge = scores.get("judge")
    if judge is None or judge["prompt_hash"] is None:  # no judge, or a published one
        return dict(scores)
    found = judge_scores(noted_judge(judge), recall_to_correct(scores))
    return dict(scores) | (found if found["judge"]["passport"] else {})
