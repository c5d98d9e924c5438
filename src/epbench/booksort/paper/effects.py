"""What changes answers: a memory (Table 11), longer segments (Appendix D.2), a label (C.3) and the middle of an excerpt (D.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.rates import (
    CHANCE,
    GAINED,
    POWER,
    Group,
    about,
    accuracies,
    by,
    named,
    of_excerpts,
    paired_with,
    tested,
)
from epbench.booksort.paper.results import TABLE_11
from epbench.booksort.scores.middle_effect import middle_effect
from epbench.reports.exhibit import (
    Exhibit,
    Missing,
    Row,
    columns_of,
    counted,
    difference,
    exhibit,
    interval,
    mean_margin,
    p_value,
)
from epbench.reports.plots import points
from epbench.statistics.estimate import Estimate, Value, corrected, framed
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.statistics.paired import holm, paired_outcomes
from epbench.statistics.smallest_difference import smallest_difference_of_means, smallest_difference_of_rates

if TYPE_CHECKING:
    import pandas as pd

_REPORTED = (
    "The reported values of one model hardly differ between books, and SORT-extend has values for a book that is shorter than "
    "its excerpts; they look like running means, so that they are no targets for single books."
)
_NO_GAIN = "No run with memory none and the same model on the same pairs was given, so that no difference is shown."
_GAIN = (
    "Gain: in-context minus without memory, the same model on the same questions, with its 95 % interval by drawing excerpts. "
    "p: McNemar's exact test, two-sided, by Holm for all groups of a run. * p < .05, ** p < .01."
)


def table_11(inputs: Inputs) -> Exhibit | Missing:
    """In-context accuracy by book, part and length of segments, and its gain over the same model without memory."""
    made = TABLE_11.make(inputs)
    if isinstance(made, Missing):
        return made
    gained: dict[tuple[Value, ...], Group] = {}
    for run in TABLE_11.shown(inputs):
        gained |= _gains(run, [one for one in inputs.runs if (one.memory, one.model) == ("none", run.model)])
    none = {"baseline": None, **Estimate(None).columns(*GAINED, prefix="gain_")}
    rows = [{**row, **gained.get((row["label"], row["book_idx"], row["group"]), none)} for row in made.records]
    notes = [*made.notes, *([_REPORTED] if rows[-1]["source"] == "reported" else []), _GAIN if gained else _NO_GAIN]
    if shown := [(row["gain_n"], row["gain_smallest"]) for row in rows if row["gain_smallest"]]:
        least = "The smallest group has n = {:,}, which shows a difference of {:.2f} with 80 % power at .05."
        notes.append(least.format(*min(shown)))
    columns = [*made.columns, *columns_of({"gain: {}": difference("gain_", 2)} if gained else {})]
    return replace(made, frame=framed(rows), columns=columns, notes=notes)


def _gains(run: PaperRun, baselines: Sequence[PaperRun]) -> dict[tuple[Value, ...], Group]:
    """The gain of a run over the first of some runs without memory that has its questions, by label, book and group."""
    for baseline in baselines:
        both = paired_with([run.questions, baseline.questions])
        if len(both) == len(run.questions):
            groups, parts = zip(*TABLE_11.split(both), strict=True)
            keys = [(run.label, group["book_idx"], group["group"]) for group in groups]
            gains = [gain.columns(*GAINED, prefix="gain_") for gain in corrected(list(map(_gain, parts)))]
            return {key: {"baseline": baseline.label, **gain} for key, gain in zip(keys, gains, strict=True)}
    return {}


def _gain(questions: pd.DataFrame) -> Estimate:
    first, second = questions["right"], questions["right_1"]
    if first.isna().any() or second.isna().any():
        return Estimate(None)
    units = questions["pair"].tolist() if questions["swapped"].any() else None
    found = paired_outcomes(first.tolist(), second.tolist(), questions["excerpt"].tolist(), units)
    low, high = found.interval or (None, None)
    smallest = smallest_difference_of_means((first - second).tolist(), paired=True)
    return Estimate(found.n, 0, found.difference, low=low, high=high, p=found.p, smallest=smallest)


def segment_lengths(inputs: Inputs) -> Exhibit | Missing:
    """The accuracy of each run on segments of each length, and what the longest gain over the shortest (Appendix D.2)."""
    runs = [run for run in inputs.runs if run.questions["segment_length"].nunique() > 1]
    rows: list[Row] = []
    gains = corrected([_longer(run.questions) for run in runs])
    for run, gain in zip(runs, gains, strict=True):
        first, *_, last = tested(accuracies(run, by("segment_length")))
        rows += [{**row, **gain.columns(*GAINED, prefix="gain_")} for row in (first, last)]
    least = max((gain.smallest for gain in gains if gain.smallest is not None), default=None)
    shows = f" The run with the fewest questions shows a difference of {least:.3f} with 80 % power." if least else ""
    notes = [
        "Gain of the longer segments with its 95 % interval, by drawing excerpts, which the lengths do not share.",
        "p: Fisher's exact test, two-sided, by Holm for all runs; none for runs in both orders, whose askings are no independent "
        f"questions. * p < .05, ** p < .01.{shows}",
    ]
    shown = columns_of({"gain": difference("gain_"), "p": p_value("gain_p_holm"), "{} words": counted(mean_margin())})
    columns = [*named("run model memory"), *shown]
    names = {n: f"{n}" for n in sorted({row["segment_length"] for row in rows})}
    drawn = [{**row, "what": f"segments of {row['segment_length']} words"} for row in rows]
    plot = partial(points, drawn, "label", "what", "accuracy", guess=CHANCE)
    title = "Accuracy by the length of segments, and what longer ones gain (Appendix D.2)"
    needs = "a run with segments of 20 and of 50 words, on several configs"
    more: dict[str, Any] = {"needs": needs, "across": "segment_length", "names": names}
    return exhibit("Segment lengths", title, rows, columns, notes, plot, **more)


def _longer(questions: pd.DataFrame) -> Estimate:
    """What the longest segments of a run gain over its shortest; nothing if questions failed."""
    from scipy.stats import fisher_exact

    lengths, right = questions["segment_length"], questions["right"].to_numpy()
    long, short = ((lengths == end).to_numpy() for end in (lengths.max(), lengths.min()))
    if questions["right"].isna().to_numpy()[long | short].any():
        return Estimate(None)
    low, high = cluster_bootstrap(
        lambda weights: weighted_mean(weights * long, right) - weighted_mean(weights * short, right),
        questions["excerpt"].tolist(),
    ) or (None, None)
    counts = [[int(right[one].sum()), int((1 - right[one]).sum())] for one in (long, short)]
    n = int(min(long.sum(), short.sum()))
    smallest = smallest_difference_of_rates(float(right[long | short].mean()), n, paired=False)
    p = None if questions["swapped"].any() else float(fisher_exact(counts).pvalue)
    gain = float(right[long].mean() - right[short].mean())
    return Estimate(int(long.sum() + short.sum()), 0, gain, low=low, high=high, p=p, smallest=smallest)


def share_of_a(inputs: Inputs) -> Exhibit | Missing:
    """How often each run answers A, beside how often A is right (Appendix C.3)."""
    rows = tested([one for one in map(_share, inputs.runs) if one[1].mean is not None])
    least = max((row["smallest"] or 0.0 for row in rows), default=0.0)
    notes = [
        "Over the answers that name a segment; interval: 95 %, by drawing excerpts.",
        "p: exact binomial test against 0.5, two-sided, by Holm for all runs. * p < .05, ** p < .01. The fewest answers of a "
        f"run show a share {least:.3f} away from 0.5 with 80 % power.",
        "A model that prefers a label is right less often than it could be; asking in both orders cancels this.",
    ]
    said = columns_of({"share of A": "mean", "95 %": interval(), "A is right": "share_a_right"})
    counts = columns_of({"n": "n", "neither": "n_neither", "failed": "n_failed"})
    columns = [*named("run model memory"), *said, *named("p"), *counts]
    answers = [{**row, "what": "answers that are A"} for row in rows]
    none = {"low": None, "high": None, "what": "questions where A is right"}
    right = [{**row, **none, "mean": row["share_a_right"]} for row in rows]
    plot = partial(points, [*answers, *right], "label", "what", "share of A", guess=CHANCE)
    title = "How often the answer is A, and how often A is right (Appendix C.3)"
    return exhibit("Share of A", title, rows, columns, notes, plot, needs="at least one run")


def _share(run: PaperRun) -> tuple[Group, Estimate]:
    """What a run is, how often A is right and what answers do not count; and the share of A among those that count."""
    from scipy.stats import binomtest

    answered = run.questions[run.questions["right"].notna()]
    named = answered[answered["predicted"].isin(["A", "B"])]
    share = of_excerpts(
        named.assign(said=(named["predicted"] == "A").astype(float)),
        "said",
        test=lambda rows: (float(binomtest(int(rows["said"].sum()), len(rows)).pvalue), len(rows)),
        smallest=lambda n: POWER * CHANCE / math.sqrt(n),
    )
    n_failed = len(run.questions) - len(answered)
    right = float((named["answer"] == "A").mean()) if len(named) else None
    counts = {"share_a_right": right, "n_neither": len(answered) - len(named), "n_failed": n_failed}
    return {**about(run), **counts}, replace(share, n_failed=n_failed)


_REGRESSION = (
    "A logistic regression of right answers on whether both segments begin in the middle third, on the length of the "
    "excerpt, on both together, and on the distance of the segments, with errors clustered by excerpt; failed questions "
    "are left out. An odds ratio below 1 says that the middle is harder. Wald tests, corrected by Holm for the number of "
    "runs, for each of the two terms. * p < .05, ** p < .01.",
    "The paper found an effect of the middle in nine of ten models, and in seven one that depends on the length.",
)


def regression(inputs: Inputs) -> Exhibit | Missing:
    """Whether answers are worse in the middle at equal distance, which Figure 11 alone does not say (Appendix D.6)."""
    effects = [(run, middle_effect(run.questions)) for run in inputs.runs if run.memory == "in-context"]
    terms = ("middle", "middle x length")
    rows = [_term(run, effect, term) for run, effect in effects for term in terms]
    for term in terms:
        known = [row for row in rows if row["term"] == term and row["p"] is not None]
        for row, p in zip(known, holm([row["p"] for row in known]), strict=True):
            row["p_holm"] = p
    reasons = [f"{run.label}: {effect['not_estimable']}." for run, effect in effects if "not_estimable" in effect]
    counts = columns_of({"pairs": "n", "in the middle": "n_in_middle", "failed": "n_failed"})
    columns = [*named("run model"), *counts, *columns_of({"{}": _odds, "{}: p": p_value()})]
    title = "Odds of a right answer if both segments begin in the middle third, at equal distance"
    more: dict[str, Any] = {"needs": "in-context runs", "across": "term"}
    return exhibit("Figure 11, regression", title, rows, columns, [*_REGRESSION, *reasons], **more)


def _term(run: PaperRun, effect: dict[str, Any], term: str) -> dict[str, Any]:
    found, inside, outside = effect.get("terms", {}).get(term, {}), effect["in_middle"], effect["elsewhere"]
    numbers = {name: found.get(name) for name in ("coefficient", "low", "high", "odds_ratio", "p")}
    counts = {"n": effect["n"], "n_failed": effect["n_failed"], "n_in_middle": inside["n"]}
    shares = {"accuracy_in_middle": inside["accuracy"], "accuracy_elsewhere": outside["accuracy"]}
    return {**about(run), "term": term, **numbers, **counts, **shares, "p_holm": None}


def _odds(row: Row) -> str:
    if row["coefficient"] is None:
        return "–"
    return f"{row['odds_ratio']:.2f} ({math.exp(row['low']):.2f}–{math.exp(row['high']):.2f})"
