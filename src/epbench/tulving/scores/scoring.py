"""From judged answers to the scores of a run (paper: Section 4.3, Appendix B.3; Tables 3 and 4)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from epbench.errors import NothingToScore
from epbench.metric_folders import formulas
from epbench.statistics.intervals import cluster_bootstrap, ratio_of_sums
from epbench.tulving.judging.verdicts import QuestionToScore, ScoredAnswer, first_scores
from epbench.tulving.questions.generate import BINS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


NAMING = ("items_ratio", "latest_several", "harsh_simple_recall_score")
"""Fields of scores.json about how many items the answers name."""


class Result(NamedTuple):
    """What a score is the mean of: a question, its F1, and its tau, which is None if not all true items were found."""

    question: QuestionToScore
    f1: float
    tau: float | None


def score_run(rows: Sequence[ScoredAnswer], lost: Sequence[QuestionToScore] = ()) -> dict[str, Any]:
    """The content of scores.json.

    A score is the mean over all questions that the run asked for it. If some of them were lost, there is no such mean,
    and the mean over the others would hide the lost ones: the score is None, or missing from f1_by_bin, and `incomplete`
    has its bounds.

    Lost are questions without an answer or a verdict, which are neither right nor wrong. A question that was asked several
    times appears once for each time that it was lost. NothingToScore if there is no judged answer.

    Returns:
        simple_recall_score and f1_by_bin (get = all), latest (get = latest, two or more chapters), all_matched and
        kendall_tau (get = chronological, two or more true items), and chronological_awareness: all 0 to 1, tau -1 to 1;
        None for a score that the run asked no question for.
        f1_by_links: for a book of level 2 or higher, the mean F1 of the questions with get = all and an answer, by the number
        of links; a number that lost a question is left out. n_by_links: their numbers, lost ones included.
        over_repeats: for a run that asked questions with get = all several times, about those of which no answer was lost:
        n (how many), repeats (the most times that one was asked), f1_sd (the standard deviation of F1 within a question,
        its mean over questions), any_right and all_right (the share of which one answer, or every one, has an F1 of 1;
        the latter is known as pass^k). [low, high] of the last two, drawing cues, are in intervals.
        items_ratio: how many items the answers name for each true one, over the answers that name something to questions with
        true items; None without any. latest_several: the share of the answers to questions of latest that name several items,
        which costs them nothing. harsh_simple_recall_score: simple recall by `harsh_f1_of`; None if a question of it was lost.
        n_questions and n_failed: the numbers of all and of lost questions. n_by_bin and failed_by_bin: the same for
        questions with get = all, by bin.
        incomplete: [low, high] for each score that lost a question: its value if all lost questions were answered wrong
        (no item found, or all in reverse order, whichever is lower), and if all were answered right (all found, in order).
        coverage: the number of different questions; how often they were asked, each repeat counted, which is the sum of
            answered, missing (no answer, which is wrong; only in a file of answers) and failed.
        possible: [low, high] for each score that has missing or lost questions: its lowest and its highest value, whatever
            the answers to these would be.
        intervals: [low, high] for each complete score, 95 %, drawing cues. The names in the last three are those of the
        scores, and `f1_by_bin.<bin>`.
    """
    if not rows:
        raise NothingToScore(f"nothing to score: all {len(lost)} questions failed; start the run again to retry them")
    return scores_or_bounds(rows, lost)


def scores_or_bounds(rows: Sequence[ScoredAnswer], lost: Sequence[QuestionToScore]) -> dict[str, Any]:
    """The same as `score_run`, for a run that may have no judged answer: then every score has its bounds alone."""
    seen = _results(rows)
    means, incomplete = _means(seen), _bounds(seen, lost)
    absent = [row for row in rows if row.missing]
    answered = [result for result, row in zip(seen, rows, strict=True) if not row.missing]
    n_by_bin, failed_by_bin = _count_by_bin([*rows, *lost]), _count_by_bin(lost)
    complete = {name: None if name in incomplete else means[name] for name in _COUNTS_FOR}
    return {
        "simple_recall_score": complete.pop("simple_recall_score"),
        "f1_by_bin": {bin_: means[f"f1_by_bin.{bin_}"] for bin_ in n_by_bin if bin_ not in failed_by_bin},
        **complete,
        **_naming(rows, is_complete="simple_recall_score" not in incomplete),
        **_by_links(seen, lost),
        **_over_repeats(seen, lost),
        "n_questions": len(rows) + len(lost),
        "n_failed": len(lost),
        "n_by_bin": n_by_bin,
        "failed_by_bin": failed_by_bin,
        "incomplete": incomplete,
        "coverage": {
            "questions": len({question.id for question in (*rows, *lost)}),
            "asked": len(rows) + len(lost),
            "answered": len(rows) - len(absent),
            "missing": len(absent),
            "failed": len(lost),
        },
        "possible": _bounds(answered, [*absent, *lost]),
        "intervals": {name: ends for name, ends in _intervals(seen, lost).items() if name not in incomplete},
    }


def means_of(rows: Sequence[ScoredAnswer]) -> dict[str, float | None]:
    """The scores of judged answers as in `score_run`, bins among them, without intervals, bounds and counts."""
    return _means(_results(rows)) | _naming(rows, is_complete=True)


def _results(rows: Sequence[ScoredAnswer]) -> list[Result]:
    f1 = question_f1(rows) if rows else []
    return [Result(row, value, tau_of(row) if has_order(row) else None) for row, value in zip(rows, f1, strict=True)]


def _naming(rows: Sequence[ScoredAnswer], *, is_complete: bool) -> dict[str, float | None]:
    """How many items the answers name, and the simple recall if each of them counted; None where it is not complete."""
    given = [row for row in rows if not row.missing]
    harsh = f1_by_bin(rows, list(map(harsh_f1_of, rows))) if is_complete else {}
    return {
        "items_ratio": items_ratio((row.items, row.reference) for row in given),
        "latest_several": mean([len(set(row.items)) > 1 for row in given if is_latest(row)]),
        "harsh_simple_recall_score": mean(list(harsh.values())),
    }


def items_ratio(answers: Iterable[tuple[Sequence[str], Sequence[str]]]) -> float | None:
    """How many items answers name for each true one, of those that name any to questions that have any; None without."""
    counts = [(len(set(items)), len(set(true))) for items, true in answers]
    named = [(n, n_true) for n, n_true in counts if n and n_true]
    return sum(n for n, _ in named) / sum(n_true for _, n_true in named) if named else None


def _bounds(known: Sequence[Result], unknown: Sequence[QuestionToScore]) -> dict[str, list[float]]:
    """[low, high] for each score that unknown answers count for: all of these wrong, in whatever way is worst, or all right."""
    nothing_found, reversed_, best = (
        _means([*known, *(Result(question, value, tau) for question in unknown)])
        for value, tau in ((0.0, None), (0.0, -1.0), (1.0, 1.0))
    )
    names = {name for name, counts in _COUNTS_FOR.items() if any(map(counts, unknown))}
    names |= {f"f1_by_bin.{question.bin}" for question in unknown if question.get == "all"}
    return {
        name: [min(low for low in (nothing_found[name], reversed_[name]) if low is not None), high]
        for name, high in best.items()
        if name in names and high is not None
    }


def _means(results: Sequence[Result]) -> dict[str, float | None]:
    """The scores of these results by name; None for a score that no result counts for."""
    recall = f1_by_bin([result.question for result in results], [result.f1 for result in results])
    by_bin = {f"f1_by_bin.{bin_}": value for bin_, value in recall.items()}
    latest = [result.f1 for result in results if is_latest(result.question)]
    taus = [result.tau for result in results if has_order(result.question)]
    return {"simple_recall_score": mean(list(recall.values())), **by_bin, **awareness_of(latest, taus)}


def awareness_of(latest: Sequence[float], taus: Sequence[float | None]) -> dict[str, float | None]:
    """The scores about order, from F1 of questions of latest and tau (None where incomplete); None without such questions.

    Chronological awareness is the mean of the latest state and of the order, where a negative order counts as 0.
    """
    complete = [tau for tau in taus if tau is not None]
    state, all_matched, tau = mean(latest), len(complete) / len(taus) if taus else None, mean(complete)
    awareness = None if state is None or all_matched is None else (state + max(0.0, all_matched * (tau or 0.0))) / 2
    return {"latest": state, "all_matched": all_matched, "kendall_tau": tau, "chronological_awareness": awareness}


def _by_links(seen: Sequence[Result], lost: Sequence[QuestionToScore]) -> dict[str, dict[str, Any]]:
    """F1 by number of links; nothing for a book of level 1, whose questions have none."""
    of_links: dict[int, list[float]] = defaultdict(list)
    for question, f1, _ in [*seen, *(Result(question, math.nan, None) for question in lost)]:
        if question.links is not None and question.get == "all" and question.n_chapters > 0:
            of_links[question.links].append(f1)
    means = {str(n): math.fsum(values) / len(values) for n, values in sorted(of_links.items())}
    f1_by_links = {n: value for n, value in means.items() if not math.isnan(value)}
    return {"f1_by_links": f1_by_links, "n_by_links": {n: len(of_links[int(n)]) for n in means}} if means else {}


OVER_REPEATS: Mapping[str, Callable[[Sequence[float]], float]] = {"any_right": max, "all_right": min}
"""Scores of several answers to one question, each with the F1 that decides whether they are right."""


def _over_repeats(seen: Sequence[Result], lost: Sequence[QuestionToScore]) -> dict[str, dict[str, Any]]:
    """What several answers to one question have in common; nothing for a run that asked each question once."""
    several = list(_f1_by_question(seen, lost).values())
    if not several:
        return {}
    right = {name: mean([decisive(values) == 1 for values in several]) for name, decisive in OVER_REPEATS.items()}
    about = {"n": len(several), "repeats": max(map(len, several)), "f1_sd": mean(list(map(stdev, several)))}
    return {"over_repeats": about | right}


def _f1_by_question(seen: Sequence[Result], lost: Sequence[QuestionToScore]) -> dict[str, list[float]]:
    """The values of the answers to each question with get = all that was asked several times and lost none."""
    lost_ids, of_question = {question.id for question in lost}, defaultdict(list)
    for question, f1, _ in seen:
        if question.get == "all" and question.id not in lost_ids:
            of_question[question.id].append(f1)
    return {id_: values for id_, values in of_question.items() if len(values) > 1}


def _count_by_bin(questions: Sequence[QuestionToScore]) -> dict[str, int]:
    """The number of questions with get = all by bin; bins without questions are left out."""
    counts = Counter(question.bin for question in questions if question.get == "all")
    return {bin_: counts[bin_] for bin_ in BINS if counts[bin_]}


def question_f1(rows: Sequence[ScoredAnswer]) -> list[float]:
    """F1 of each question, 0 to 1, by the metric `episodic_f1`."""
    return [question["f1"] for question in question_measures(rows)]


def question_measures(rows: Sequence[ScoredAnswer]) -> list[dict[str, Any]]:
    """f1, precision and recall of each question, 0 to 1 or None where undefined, by the metric `episodic_f1`."""
    items, true, scores = ([list(getattr(row, name)) for row in rows] for name in ("items", "reference", "scores"))
    measures: list[dict[str, Any]] = formulas("episodic_f1").episodic_f1(items, true, scores)["per_question"]
    return measures


def harsh_f1_of(row: ScoredAnswer) -> float:
    """F1 of one question in which every item of the answer counts for precision (paper: Appendix B.3.2).

    The lenient F1 of the scores counts at most as many items as there are true ones. This one tells how much a reader that
    names too many owes to that: the harmonic mean of found / n_items and found / n_true (of different items, with the first
    score of a repeated one), clipped to 1, since a judge may credit one item with several true ones. It is 1 if there are
    neither items nor true ones, and 0 if one of the two is missing.
    """
    score_of = first_scores(row.reference, row.scores)
    n_items, n_true, found = len(set(row.items)), len(score_of), sum(score_of.values())
    if not n_items or not n_true:
        return 1.0 if n_items == n_true else 0.0
    precision, recall = found / n_items, found / n_true  # as the metric does, so that equal counts give equal numbers
    return min(1.0, 2 * precision * recall / (precision + recall)) if found else 0.0


def is_latest(row: QuestionToScore) -> bool:
    """Whether the question counts for `latest`: with a single chapter, there is no other state to confuse it with."""
    return row.get == "latest" and row.n_chapters >= 2


def has_order(row: QuestionToScore) -> bool:
    """Whether the question counts for Kendall's tau."""
    return row.get == "chronological" and len(set(row.reference)) >= 2


_COUNTS_FOR: Mapping[str, Callable[[QuestionToScore], bool]] = {
    "simple_recall_score": lambda question: question.get == "all",
    "latest": is_latest,
    "all_matched": has_order,
    "kendall_tau": has_order,
    "chronological_awareness": lambda question: is_latest(question) or has_order(question),
}
"""The scores in scores.json beside F1 by bin, each with the questions that count for it.

A score that is not in this table is not written, so that none can hide the questions that it lost.
"""


def tau_of(row: ScoredAnswer) -> float | None:
    """Kendall's tau-b, -1 to 1, by the metric `episodic_kendall_tau`; None if not all true items were found."""
    tau: float | None = formulas("episodic_kendall_tau").tau_if_all_found(row.order, row.reference)
    return tau


def f1_by_bin(rows: Sequence[QuestionToScore], f1: Sequence[float]) -> dict[str, float]:
    """The mean F1 of the questions with get = all by bin; bins without questions are left out."""
    by_bin: dict[str, list[float]] = {bin_: [] for bin_ in BINS}
    for row, value in zip(rows, f1, strict=True):
        if row.get == "all":
            by_bin[row.bin].append(value)
    return {bin_: math.fsum(values) / len(values) for bin_, values in by_bin.items() if values}


def mean(values: Sequence[float]) -> float | None:
    """The mean of some values; None without values."""
    return math.fsum(values) / len(values) if values else None


def _intervals(seen: Sequence[Result], lost: Sequence[QuestionToScore]) -> dict[str, list[float]]:
    in_order = [(question.cue, tau) for question, _, tau in seen if has_order(question)]
    latest = _sums((question.cue, f1) for question, f1, _ in seen if is_latest(question))
    matched = _sums((cue, float(tau is not None)) for cue, tau in in_order)
    taus = _sums((cue, tau) for cue, tau in in_order if tau is not None)
    asked = [(question.bin, question.cue, f1) for question, f1, _ in seen if question.get == "all"]
    of_bin = {bin_: _sums((cue, f1) for of, cue, f1 in asked if of == bin_) for bin_ in BINS}
    bins = {f"f1_by_bin.{bin_}": sums for bin_, sums in of_bin.items() if sums}
    intervals = {name: _interval([sums], sums) for name, sums in (bins | {"latest": latest}).items()}
    intervals |= {"all_matched": _interval([matched], matched), "kendall_tau": _interval([taus], taus, least=-1.0)}
    several, cue_of = _f1_by_question(seen, lost), {question.id: question.cue for question, _, _ in reversed(seen)}
    for name, decisive in OVER_REPEATS.items():
        right = _sums((cue_of[id_], float(decisive(values) == 1)) for id_, values in several.items())
        intervals[f"over_repeats.{name}"] = _interval([right], right)
    cues = dict.fromkeys(result.question.cue for result in seen)
    state_and_order = latest, _sums((cue, tau or 0.0) for cue, tau in in_order)
    intervals["simple_recall_score"] = _interval([*bins.values()], cues)
    awareness = _interval(state_and_order, cues, lambda means: (means[0] + means[1].clip(0)) / 2)
    intervals["chronological_awareness"] = awareness
    return {name: list(interval) for name, interval in intervals.items() if interval is not None}


Cue = tuple[str | None, ...]
Sums = dict[Cue, tuple[float, int]]
"""The sum and the number of values by cue, which is all that the draws of cues need to know of the questions."""


def _sums(values: Iterable[tuple[Cue, float]]) -> Sums:
    sums: Sums = {}
    for cue, value in values:
        total, n = sums.get(cue, (0.0, 0))
        sums[cue] = total + value, n + 1
    return sums


def _interval(
    parts: Sequence[Sums],
    cues: Iterable[Cue],
    combined: Callable[[Sequence[NDArray[np.float64]]], NDArray[np.float64]] | None = None,
    least: float = 0.0,
) -> tuple[float, float] | None:
    """The interval of what is combined from the means of parts of the questions, from least to 1; by default their mean."""
    import numpy as np

    names = list(cues)
    if not parts or not names:
        return None
    arrays = [np.array([part.get(cue, (0.0, 0)) for cue in names], dtype=float) for part in parts]

    def statistic(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        means = [ratio_of_sums(weights, of_part[:, 0], of_part[:, 1]) for of_part in arrays]
        of_parts: NDArray[np.float64] = combined(means) if combined else np.mean(means, axis=0)
        return of_parts

    seen = min(map(len, filter(None, parts)), default=None)
    return cluster_bootstrap(statistic, names, bounds=(least, 1.0), seen=seen)
