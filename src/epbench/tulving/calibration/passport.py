"""A judge's passport: how often it is right on the calibration set, by kind (paper: Section 4.3, Appendix B.4).

It is shown beside every score that the judge gives, since whatever the judge misses or wrongly accepts is in the score
too. Passports are kept by judge, for the reports of later runs; there the headline score is corrected for what the judge
misses and wrongly accepts.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epbench import __version__
from epbench.errors import BadInput
from epbench.files.cache import cache_folder
from epbench.files.json_files import read_json, write_json
from epbench.files.typed import Interval, Number, Whole, fields
from epbench.judges.protocol import PEOPLE, JudgeIdentity, about_judge, file_name_of, is_free, noted_judge, with_people
from epbench.metric_folders import formulas
from epbench.models.load import is_model_name
from epbench.statistics.intervals import wilson
from epbench.tulving.calibration.answers import (
    KINDS,
    TRAPS,
    CalibrationAnswer,
    fingerprint_of_set,
    make_calibration_set,
)
from epbench.tulving.judging.load import load_judge
from epbench.tulving.judging.similarity import SimilarityJudge
from epbench.tulving.judging.verdicts import ScoredAnswer, Verdict, first_scores

PASSPORT = "passport.json"
SHARES = ("sensitivity", "specificity", "order")
CREDITED = 0.5  # a score from here on counts an item as found
NEAREST = 0.25  # largest difference from the right score of 0, 0.5 or 1

Passport = dict[str, Any]
Judged = tuple[CalibrationAnswer, Verdict]


def make_passport(
    judge: JudgeIdentity, calibration_set: Sequence[CalibrationAnswer], verdicts: Mapping[str, Verdict], seed: int
) -> Passport:
    """Return the content of passport.json, from the verdicts by the id of the input; the judge has failed on those without.

    It has judge, prompt_hash, setup (not of rules), seed, n (answers per kind), made_answers (fingerprint of the set), failed;
    sensitivity: share of the items named in full that the judge credits with 0.5 or more;
    specificity: share of the items not named that it does not credit. Where nothing true exists, the abstention takes the place
    of an item: a judge credits an answer with false items if it lists none of them. Items named in part count in neither;
    order: of the complete answers to chronological questions with all items credited, the share read in their order;
    each with `_interval` (95 %, Wilson, items taken as independent); None where there is nothing to count;
    kinds: for each its name, n, right, rate, low, high, failed, and sensitivity, specificity where defined;
    f1_when_right, f1_when_wrong: see `corrected`; versions.
    """
    judged = [(one, verdicts[one.judge_input.id]) for one in calibration_set if one.judge_input.id in verdicts]
    complete = [pair for pair in judged if pair[0].order is not None and min(pair[1].scores) >= CREDITED]
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
        **_named_rate("order", [_order_is_right(*pair) for pair in complete]),
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
    given = first_scores(answer.judge_input.reference, verdict.scores)
    return (
        all(abs(given[item] - score) <= NEAREST for item, score in answer.decisions.items())
        and math.isclose(_f1(len(set(verdict.items)), answer.decisions), _f1(answer.n_items, answer.decisions))
        and (answer.order is None or _order_is_right(answer, verdict))
    )


def _shares(judged: Sequence[Judged]) -> dict[str, Any]:
    credited: dict[bool, list[bool]] = {True: [], False: []}  # by whether the answer names it
    for answer, verdict in judged:
        if not answer.judge_input.reference:
            credited[answer.n_items == 0].append(not verdict.items)
        given = first_scores(answer.judge_input.reference, verdict.scores)
        for item, score in answer.decisions.items():
            if score in (0.0, 1.0):
                credited[score == 1.0].append(given[item] >= CREDITED)
    return _named_rate("sensitivity", credited[True]) | _named_rate("specificity", [not c for c in credited[False]])


def _named_rate(name: str, right: Sequence[bool]) -> dict[str, Any]:
    rate, interval = _rate(right)
    return {name: rate, f"{name}_interval": interval}


def _rate(right: Sequence[bool]) -> tuple[float | None, list[float] | None]:
    interval = wilson(sum(right), len(right))
    return (sum(right) / len(right), list(interval)) if interval else (None, None)


def _order_is_right(answer: CalibrationAnswer, verdict: Verdict) -> bool:
    """Items that are not true are ignored, as in the metric."""
    return tuple(dict.fromkeys(item for item in verdict.order if item in answer.decisions)) == answer.order


def _mean_f1(judged: Sequence[Judged], true_f1: float) -> dict[str, float | None]:
    """The judge's mean F1 of the answers with this true F1, separately for questions without and with a true item."""
    by_reference: dict[str, list[float]] = {"nothing_true": [], "something_true": []}
    for answer, verdict in judged:
        if _f1(answer.n_items, answer.decisions) == true_f1 and answer.kind not in TRAPS:
            scores = first_scores(answer.judge_input.reference, verdict.scores)
            where = "something_true" if answer.judge_input.reference else "nothing_true"
            by_reference[where].append(_f1(len(set(verdict.items)), scores))
    return {where: math.fsum(values) / len(values) if values else None for where, values in by_reference.items()}


def _f1(n_items: int, scores: Mapping[str, float]) -> float:
    f1: float = formulas("episodic_f1").lenient_f1(n_items, len(scores), math.fsum(scores.values()))[2]
    return min(1.0, max(0.0, f1))


_log = logging.getLogger(__name__)

_FIGURES = fields(dict.fromkeys(("nothing_true", "something_true"), Number | None))
_PASSPORT = fields(
    {
        **dict.fromkeys(SHARES, Number | None),
        **{f"{share}_interval": Interval | None for share in SHARES},
        **dict.fromkeys(("f1_when_right", "f1_when_wrong"), _FIGURES),
        "kinds": list[dict[str, Any]],
        "made_answers": str,
        **dict.fromkeys(("seed", "n", "failed"), Whole),
    }
)


def passport_path(judge: JudgeIdentity) -> Path:
    """Return where a passport is kept: folder `passports` of `$EPBENCH_CACHE`, or of `~/.cache/epbench`."""
    return cache_folder("passports") / f"{file_name_of(judge)}.json"


def store_passport(judge: JudgeIdentity, passport: Passport) -> None:
    """Keep a passport for the reports of later runs, in place of an older one of the same judge."""
    path = passport_path(judge)
    write_json(path, with_people(path, passport))


def find_passport(judge: JudgeIdentity) -> Passport | None:
    """Return the stored passport of this judge, with its prompts and setup; a judge that costs nothing gets a new one.

    It is stored if the judge has weights, which take seconds to load. A stored file that is no passport, or that of another
    judge, only gets a warning.
    """
    path = passport_path(judge)
    if path.is_file():
        try:
            passport = read_json(path, _PASSPORT)
            for field, expected in (about_judge(judge, "judge") | {"setup": judge.setup}).items():
                if passport.get(field, "") != expected:
                    raise BadInput(f"{path}, field {field!r}: expected {expected!r}, got {passport.get(field)!r}")
            return passport
        except BadInput as error:
            _log.warning("%s; the passport is ignored until this judge is checked again", error)
    return _passport_by_rules(judge)


def _passport_by_rules(judge: JudgeIdentity) -> Passport | None:
    """A new passport of a judge that follows rules; None for a model, and for rules that we do not have."""
    if is_model_name(judge.name):  # loading it would import its libraries
        return None
    try:
        rules = load_judge(judge.name)
        if not is_free(rules) or rules.prompt_hash != judge.prompt_hash:
            return None
    except BadInput:  # there is no such judge, or its weights are not installed
        return None
    calibration_set = make_calibration_set()
    inputs = [answer.judge_input for answer in calibration_set]
    verdict_of = {judgement.key: judgement.verdict for judgement in rules.judge(inputs)}
    verdicts = {input_.id: verdict for input_ in inputs if (verdict := verdict_of.get(input_.key(rules))) is not None}
    passport = make_passport(rules, calibration_set, verdicts, 0)
    if isinstance(rules, SimilarityJudge):
        store_passport(rules, passport)
    return passport


FEWEST_ANSWERS = 20  # with one score from the judge, before readers are warned; fewer may all be right or all wrong
SMALLEST_DIFFERENCE = 0.05  # between the F1 of right and of wrong answers; nothing can be corrected below it


def corrected(f1_by_bin: Mapping[str, float], passport: Passport) -> dict[str, Any]:
    """Return the scores that a judge without error would have given, after Rogan and Gladen, on the scale of F1.

    A judge gives the mean F1 `r` to answers that are wholly right and `w` to wholly wrong ones; a true F1 of `f` is then
    observed as w + (r − w)·f, from which f follows. This assumes that errors on half-right answers lie in between, and
    that real answers are worded like those of the calibration set. `r` is taken from the calibration answers with a true
    F1 of 1, `w` from those with 0; for bin 0, from those to questions without a true item. Traps (paraphrases, guesses,
    denials, instructions) are left out: how often they occur in real answers is unknown, and an assumed share would move
    every score.

    Returns f1_by_bin, clipped to [0, 1], and simple_recall_score, their mean. A bin is None if the F1 of right and of wrong
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
    recall = math.fsum(known) / len(known) if known and len(known) == len(bins) else None
    return {"simple_recall_score": recall, "f1_by_bin": bins}


def judge_scores(judge: JudgeIdentity, scores: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what scores.json says about the judge, from its other content; None if there is none to correct.

    That is judge: name, prompt_hash, setup (not of rules), sensitivity, specificity, order and their intervals, and passport:
    the calibration set that it was checked with (fingerprint, seed, n per kind, failed without a verdict), None without one;
    with labels of people also people, what they said of it. And corrected: the recall corrected for the judge, None without a
    passport or if a bin has lost questions.
    """
    passport = find_passport(judge)
    if passport is None:
        return {"judge": {**about_judge(judge), "passport": None}, "corrected": None}
    about_set = {name: passport[name] for name in ("made_answers", "seed", "n", "failed")}
    kept = [name for share in SHARES for name in (share, f"{share}_interval")]
    kept += [PEOPLE] if PEOPLE in passport else []
    about = {**about_judge(judge), "passport": about_set, **{name: passport[name] for name in kept}}
    if scores is None or scores["failed_by_bin"]:
        return {"judge": about, "corrected": None}
    return {"judge": about, "corrected": corrected(scores["f1_by_bin"], passport)}


def one_score(rows: Sequence[ScoredAnswer]) -> dict[str, Any] | None:
    """Return the `score` (1 or 0) that a judge gave to every true item of all `answers`; None if they differ or are few.

    Such verdicts do not show that the judge reads the answers: a stuck judge gives the same ones. Questions without a
    true item say nothing about that, and neither do the missing answers of a file, which no judge has read.
    """
    score_lists = [row.scores for row in rows if row.scores and not row.missing]
    distinct = {score for scores in score_lists for score in scores}
    if len(score_lists) < FEWEST_ANSWERS or distinct not in ({0}, {1}):
        return None
    return {"score": int(distinct.pop()), "answers": len(score_lists)}


def with_passport(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run's scores with what is known about its judge by now, or as they are if the cache has no passport."""
    judge = scores.get("judge")
    if judge is None or judge["prompt_hash"] is None:  # no judge, or a published one
        return dict(scores)
    known = judge_scores(noted_judge(judge), scores)
    return dict(scores) | (known if known["judge"]["passport"] else {})
