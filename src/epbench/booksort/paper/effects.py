"""What changes answers: a memory (Table 11), longer segments (Appendix D.2), a label (C.3) and the middle of an excerpt (D.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.rates import (
    CHANCE,
    FAILED,
    GAINED,
    MEMORY,
    MODEL,
    POWER,
    RUN,
    Group,
    N,
    P,
    about,
    accuracies,
    by,
    paired_with,
    share_of_excerpts,
    tested,
)
from epbench.booksort.paper.results import TABLE_11
from epbench.booksort.scores.middle_effect import middle_effect
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, counted, difference, interval, mean_half, p_value
from epbench.reports.plots import points
from epbench.statistics.estimate import Estimate, Value, corrected, framed
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.statistics.paired import holm, paired_outcomes
from epbench.statistics.smallest_difference import smallest_difference_of_means, smallest_difference_of_rates

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

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
    columns, notes = [*made.columns], [*made.notes]
    if rows[-1]["source"] == "reported":
        notes.append(_REPORTED)
    if gained:
        columns.append(Column("gain: {}", difference("gain_", 2)))
    notes.append(_GAIN if gained else _NO_GAIN)
    if shown := [(row["gain_n"], row["gain_smallest"]) for row in rows if row["gain_smallest"]]:
        n, least = min(shown)
        notes.append(
            f"The smallest group has n = {n:,}, which shows a difference of {least:.2f} with 80 % power at .05."
        )
    return replace(made, frame=framed(rows), columns=columns, notes=notes)


def _gains(run: PaperRun, baselines: Sequence[PaperRun]) -> dict[tuple[Value, ...], Group]:
    """The gain of a run over the first of some runs without memory that has its questions, by label, book and group."""
    for baseline in baselines:
        both = paired_with(run.questions, [baseline.questions])
        if len(both) == len(run.questions):
            groups, parts = zip(*TABLE_11.split(both), strict=True)
            gains = corrected([_gain(part) for part in parts])
            return {
                (run.label, group["book_idx"], group["group"]): {
                    "baseline": baseline.label,
                    **gain.columns(*GAINED, prefix="gain_"),
                }
                for group, gain in zip(groups, gains, strict=True)
            }
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
    name, title = "Segment lengths", "Accuracy by the length of segments, and what longer ones gain (Appendix D.2)"
    runs = [run for run in inputs.runs if run.questions["segment_length"].nunique() > 1]
    if not runs:
        return Missing(name, title, "a run with segments of 20 and of 50 words, on several configs")
    rows: list[Row] = []
    gains = corrected([_longer(run.questions) for run in runs])
    for run, gain in zip(runs, gains, strict=True):
        first, *_, last = tested(accuracies(run, by("segment_length")))
        rows += [{**row, **gain.columns(*GAINED, prefix="gain_")} for row in (first, last)]
    least = [gain.smallest for gain in gains if gain.smallest is not None]
    notes = [
        "Gain of the longer segments with its 95 % interval, by drawing excerpts, which the lengths do not share.",
        "p: Fisher's exact test, two-sided, by Holm for all runs; none for runs in both orders, whose askings are no independent "
        "questions. * p < .05, ** p < .01."
        + (
            f" The run with the fewest questions shows a difference of {max(least):.3f} with 80 % power."
            if least
            else ""
        ),
    ]
    gained = (Column("gain", difference("gain_")), Column("p", p_value("gain_p_holm")))
    columns = [RUN, MODEL, MEMORY, *gained, Column("{} words", counted(mean_half()))]
    shown = {n: f"{n}" for n in sorted({row["segment_length"] for row in rows})}
    drawn = [{**row, "what": f"segments of {row['segment_length']} words"} for row in rows]

    def plot() -> Figure:
        return points(drawn, "label", "what", "accuracy", guess=CHANCE)

    return Exhibit(name, title, framed(rows), columns, notes, plot, across="segment_length", names=shown)


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
    name, title = "Share of A", "How often the answer is A, and how often A is right (Appendix C.3)"
    rows = tested([one for one in map(_share, inputs.runs) if one[1].mean is not None])
    if not rows:
        return Missing(name, title, "at least one run")
    least = max(row["smallest"] or 0.0 for row in rows)
    notes = [
        "Over the answers that name a segment; interval: 95 %, by drawing excerpts.",
        "p: exact binomial test against 0.5, two-sided, by Holm for all runs. * p < .05, ** p < .01. The fewest answers of a "
        f"run show a share {least:.3f} away from 0.5 with 80 % power.",
        "A model that prefers a label is right less often than it could be; asking in both orders cancels this.",
    ]
    said = (Column("share of A", "mean"), Column("95 %", interval()), Column("A is right", "share_a_right"))
    columns = [RUN, MODEL, MEMORY, *said, P, N, Column("neither", "n_neither"), FAILED]

    def plot() -> Figure:
        none = {"low": None, "high": None, "what": "questions where A is right"}
        right = [{**row, **none, "mean": row["share_a_right"]} for row in rows]
        answers = [{**row, "what": "answers that are A"} for row in rows]
        return points([*answers, *right], "label", "what", "share of A", guess=CHANCE)

    return Exhibit(name, title, framed(rows), columns, notes, plot)


def _share(run: PaperRun) -> tuple[Group, Estimate]:
    """What a run is, how often A is right and what answers do not count; and the share of A among those that count."""
    from scipy.stats import binomtest

    answered = run.questions[run.questions["right"].notna()]
    named = answered[answered["predicted"].isin(["A", "B"])]
    share = share_of_excerpts(
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
    name = "Figure 11, regression"
    title = "Odds of a right answer if both segments begin in the middle third, at equal distance"
    effects = [(run, middle_effect(run.questions)) for run in inputs.runs if run.memory == "in-context"]
    if not effects:
        return Missing(name, title, "in-context runs")
    terms = ("middle", "middle x length")
    rows = [_term(run, effect, term) for run, effect in effects for term in terms]
    for term in terms:
        known = [row for row in rows if row["term"] == term and row["p"] is not None]
        for row, p in zip(known, holm([row["p"] for row in known]), strict=True):
            row["p_holm"] = p
    reasons = [f"{run.label}: {effect['not_estimable']}." for run, effect in effects if "not_estimable" in effect]
    counts = (Column("pairs", "n"), Column("in the middle", "n_in_middle"), FAILED)
    columns = [RUN, MODEL, *counts, Column("{}", _odds), Column("{}: p", p_value())]
    return Exhibit(name, title, framed(rows), columns, [*_REGRESSION, *reasons], across="term")


def _term(run: PaperRun, effect: dict[str, Any], term: str) -> dict[str, Any]:
    found = effect.get("terms", {}).get(term, {})
    return {
        **about(run),
        "term": term,
        **{name: found.get(name) for name in ("coefficient", "low", "high", "odds_ratio", "p")},
        "n": effect["n"],
        "n_failed": effect["n_failed"],
        "n_in_middle": effect["in_middle"]["n"],
        "accuracy_in_middle": effect["in_middle"]["accuracy"],
        "accuracy_elsewhere": effect["elsewhere"]["accuracy"],
        "p_holm": None,
    }


def _odds(row: Row) -> str:
    if row["coefficient"] is None:
        return "–"
    return f"{row['odds_ratio']:.2f} ({math.exp(row['low']):.2f}–{math.exp(row['high']):.2f})"
