"""What answers are like: how often they are A (Appendix C.3), and how much longer segments help (Appendix D.2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.lines import CHANCE
from epbench.booksort.paper.rates import (
    FAILED,
    GAINED,
    MEMORY,
    MODEL,
    NUMBERS,
    POWER,
    RUN,
    N,
    P,
    about,
    by,
    counted,
    difference,
    prepared,
    rated,
)
from epbench.metric_folders import metric_module
from epbench.reports.exhibit import Column, Exhibit, Missing, Row, interval, mean_half, p_value
from epbench.reports.plots import points
from epbench.statistics.estimate import Estimate, Value, corrected, estimate, framed
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.statistics.smallest_difference import smallest_difference_of_rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAN = "A model that prefers a label is right less often than it could be; asking in both orders cancels this."


def share_of_a(inputs: Inputs) -> Exhibit | Missing:
    """How often each run answers A, beside how often A is right (Appendix C.3)."""
    name, title = "Share of A", "How often the answer is A, and how often A is right (Appendix C.3)"
    found = [one for one in map(_share, inputs.runs) if one[1].mean is not None]
    if not found:
        return Missing(name, title, "at least one run")
    numbers = corrected([one for _, one in found])
    rows = [
        {**names, **one.columns(*NUMBERS), "n_failed": names["n_failed"]}
        for (names, _), one in zip(found, numbers, strict=True)
    ]
    least = max(one.smallest or 0.0 for one in numbers)
    notes = [
        "Over the answers that name a segment; interval: 95 %, by drawing excerpts.",
        "p: exact binomial test against 0.5, two-sided, by Holm for all runs. * p < .05, ** p < .01. The fewest answers of a "
        f"run show a share {least:.3f} away from 0.5 with 80 % power.",
        _LEAN,
    ]  # fmt: skip
    columns = [
        RUN, MODEL, MEMORY, Column("share of A", "mean"), Column("95 %", interval()), Column("A is right", "share_a_right"),
        P, N, Column("neither", "n_neither"), FAILED,
    ]  # fmt: skip

    def plot() -> Figure:
        none = {"low": None, "high": None, "what": "questions where A is right"}
        right = [{**row, **none, "mean": row["share_a_right"]} for row in rows]
        said = [{**row, "what": "answers that are A"} for row in rows]
        return points([*said, *right], "label", "what", "share of A", guess=CHANCE)

    return Exhibit(name, title, framed(rows), columns, notes, plot)


def _share(run: PaperRun) -> tuple[dict[str, Value], Estimate]:
    """What a run is, how often A is right and what answers do not count; and the share of A among those that count."""
    from scipy.stats import binomtest

    questions = prepared(run.questions)
    answered = questions[~questions["failed"]]
    named = answered[answered["predicted"].isin(["A", "B"])]
    named = named.assign(said=(named["predicted"] == "A").astype(float))
    share = estimate(
        named, "said", cluster="excerpt", interval=metric_module("sort_accuracy").accuracy_interval,
        test=lambda rows: (float(binomtest(int(rows["said"].sum()), len(rows)).pvalue), len(rows)),
        smallest=lambda n: POWER * CHANCE / math.sqrt(n),
    )  # fmt: skip
    counts = {"n_neither": len(answered) - len(named), "n_failed": len(questions) - len(answered)}
    right = float((named["answer"] == "A").mean()) if len(named) else None
    return {**about(run), "share_a_right": right, **counts}, share


def segment_lengths(inputs: Inputs) -> Exhibit | Missing:
    """The accuracy of each run on segments of each length, and what the longest gain over the shortest (Appendix D.2)."""
    name, title = "Segment lengths", "Accuracy by the length of segments, and what longer ones gain (Appendix D.2)"
    runs = [run for run in inputs.runs if run.questions["segment_length"].nunique() > 1]
    if not runs:
        return Missing(name, title, "a run with segments of 20 and of 50 words, on several configs")
    rows: list[Row] = []
    gains = corrected([_longer(run) for run in runs])
    for run, gain in zip(runs, gains, strict=True):
        found = rated([run], by("segment_length"))
        rows += [{**row, **gain.columns(*GAINED, prefix="gain_")} for row in (found[0], found[-1])]
    least = [gain.smallest for gain in gains if gain.smallest is not None]
    notes = [
        "Gain of the longer segments with its 95 % interval, by drawing excerpts, which the lengths do not share.",
        "p: Fisher's exact test, two-sided, by Holm for all runs; none for runs in both orders, whose askings are no independent "
        "questions. * p < .05, ** p < .01."
        + (f" The run with the fewest questions shows a difference of {max(least):.3f} with 80 % power." if least else ""),
    ]  # fmt: skip
    columns = [
        RUN, MODEL, MEMORY, Column("gain", difference("gain_")), Column("p", p_value("gain_p_holm")),
        Column("{} words", counted(mean_half())),
    ]  # fmt: skip
    shown = {n: f"{n}" for n in sorted({row["segment_length"] for row in rows})}
    drawn = [{**row, "what": f"segments of {row['segment_length']} words"} for row in rows]
    return Exhibit(
        name, title, framed(rows), columns, notes, across="segment_length", names=shown,
        plot=lambda: points(drawn, "label", "what", "accuracy", guess=CHANCE),
    )  # fmt: skip


def _longer(run: PaperRun) -> Estimate:
    """What the longest segments of a run gain over its shortest; nothing if questions failed."""
    from scipy.stats import fisher_exact

    questions = prepared(run.questions)
    lengths = questions["segment_length"]
    long, short = ((lengths == end).to_numpy() for end in (lengths.max(), lengths.min()))
    right = questions["right"].to_numpy()
    if questions["failed"].to_numpy()[long | short].any():
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
