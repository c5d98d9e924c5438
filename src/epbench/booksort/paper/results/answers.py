"""What answers are like: the share of A by run, and how much longer segments help (Appendix C.3 and D.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from epbench.booksort.paper.inputs import Inputs, PaperRun
from epbench.booksort.paper.results.cells import Cell, about, by_columns, cells
from epbench.booksort.paper.results.drawing import MARKERS
from epbench.booksort.paper.results.rates import POWER, p_text, stars
from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.metric_folders import metric_module
from epbench.reports.figures import INK, colour_of, error_bars, new_figure
from epbench.reports.tables import Table, cell, interval_cell
from epbench.safe_text import printable
from epbench.statistics.intervals import cluster_bootstrap, weighted_mean
from epbench.statistics.paired import holm
from epbench.statistics.smallest_difference import smallest_difference_of_rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def share_of_a(inputs: Inputs) -> Exhibit | Missing:
    """How often each run answers A, beside how often A is right."""
    name, title = "Share of A", "How often the answer is A, and how often A is right (Appendix C.3)"
    found = [record for run in inputs.runs if (record := _share(run))["share_a"] is not None]
    if not found:
        return Missing(name, title, "at least one run")
    corrected = holm([float(str(record["p"])) for record in found])
    records = [{**record, "p_holm": p} for record, p in zip(found, corrected, strict=True)]
    rows = [
        [
            *(str(one[key]) for key in ("label", "model", "memory")), cell(one["share_a"]),
            interval_cell(_ends(one)), cell(one["share_a_right"]), p_text(float(str(one["p_holm"]))),
            *(f"{one[key]:,}" for key in ("n", "n_neither", "n_failed")),
        ]
        for one in records
    ]  # fmt: skip
    smallest = POWER / 2 / math.sqrt(min(int(str(one["n"])) for one in records))
    notes = [
        "Over the answers that name a segment; interval: 95 %, by drawing excerpts.",
        "p: exact binomial test against 0.5, two-sided, by Holm for all runs. * p < .05, ** p < .01. The fewest answers of a "
        f"run show a share {smallest:.3f} away from 0.5 with 80 % power.",
        "A model that prefers a label is right less often than it could be; asking in both orders cancels this.",
    ]  # fmt: skip
    head = ["run", "model", "memory", "share of A", "95 %", "A is right", "p", "n", "neither", "failed"]
    return Exhibit(name, title, records, Table(head, rows, notes=notes, text_columns=3), lambda: _bars(records))


def segment_lengths(inputs: Inputs) -> Exhibit | Missing:
    """The accuracy of each run on segments of each length, and what the longest gain over the shortest."""
    name, title = "Segment lengths", "Accuracy by the length of segments, and what longer ones gain (Appendix D.2)"
    runs = [run for run in inputs.runs if run.questions["segment_length"].nunique() > 1]
    if not runs:
        return Missing(name, title, "a run with segments of 20 and of 50 words, on several configs")
    found = [_longer(run) for run in runs]
    corrected = iter(holm([one.p for one in found if one.p is not None]))
    p_holm = [None if one.p is None else next(corrected) for one in found]
    records: list[dict[str, Value]] = []
    rows = []
    for one, p in zip(found, p_holm, strict=True):
        short, long = one.ends
        words = [int(str(end.group["segment_length"])) for end in one.ends]
        low, high = one.interval or (None, None)
        gain: dict[str, Value] = {
            "gain": one.gain,
            "gain_low": low,
            "gain_high": high,
            "gain_p": one.p,
            "gain_p_holm": p,
        }
        records += [{**end.record(), **gain, "smallest_gain": one.smallest} for end in one.ends]
        difference = "–" if one.gain is None else f"{one.gain:+.3f} [{low:.3f}, {high:.3f}]{stars(p)}"
        ends = (f"{words[0]}: {short.rate.text()}", f"{words[1]}: {long.rate.text()}")
        n = f"{short.rate.n:,} / {long.rate.n:,}"
        rows.append(
            [short.label, *(str(short.run[key]) for key in ("model", "memory")), *ends, difference, p_text(p), n]
        )
    least = [one.smallest for one in found if one.smallest is not None]
    notes = [
        "Gain of the longer segments with its 95 % interval, by drawing excerpts, which the lengths do not share.",
        "p: Fisher's exact test, two-sided, by Holm for all runs; none for runs in both orders, whose askings are no independent "
        "questions. * p < .05, ** p < .01."
        + (f" The run with the fewest questions shows a difference of {max(least):.3f} with 80 % power." if least else ""),
    ]  # fmt: skip
    head = ["run", "model", "memory", "shorter", "longer", "gain", "p", "n"]
    table = Table(head, rows, notes=notes, text_columns=3)
    return Exhibit(name, title, records, table, lambda: _dumbbells(found))


@dataclass(frozen=True)
class _Longer:
    """A run on its shortest and its longest segments."""

    ends: tuple[Cell, Cell]
    gain: float | None
    interval: tuple[float, float] | None
    p: float | None
    smallest: float | None


def _longer(run: PaperRun) -> _Longer:
    from scipy.stats import fisher_exact

    every = cells([run], by_columns("segment_length"))
    ends = every[0], every[-1]
    if any(end.rate.accuracy is None for end in ends):
        return _Longer(ends, None, None, None, None)
    questions = run.questions
    long = (questions["segment_length"] == ends[1].group["segment_length"]).to_numpy()
    short = (questions["segment_length"] == ends[0].group["segment_length"]).to_numpy()
    right = questions["right"].to_numpy()
    interval = cluster_bootstrap(
        lambda weights: weighted_mean(weights * long, right) - weighted_mean(weights * short, right),
        questions["excerpt"].tolist(),
    )
    counts = [[int(right[one].sum()), int((1 - right[one]).sum())] for one in (long, short)]
    smallest = smallest_difference_of_rates(
        float(right[long | short].mean()), int(min(long.sum(), short.sum())), paired=False
    )
    gain = float(right[long].mean() - right[short].mean())
    p = None if questions["swapped"].any() else float(fisher_exact(counts).pvalue)
    return _Longer(ends, gain, interval, p, smallest)


def _share(run: PaperRun) -> dict[str, Value]:
    """The record of a run, without the corrected p-value."""
    from scipy.stats import binomtest

    questions = run.questions
    answered = questions[questions["right"].notna()]
    named = answered[answered["predicted"].isin(["A", "B"])]
    said = (named["predicted"] == "A").tolist()
    interval = metric_module("sort_accuracy").accuracy_interval(said, named["excerpt"].tolist()) if said else None
    low, high = interval or (None, None)
    return {
        **about(run),
        "share_a": sum(said) / len(said) if said else None,
        "ci_low": low,
        "ci_high": high,
        "share_a_right": float((named["answer"] == "A").mean()) if said else None,
        "n": len(said),
        "n_neither": len(answered) - len(named),
        "n_failed": len(questions) - len(answered),
        "p": float(binomtest(sum(said), len(said)).pvalue) if said else None,
    }


def _ends(record: dict[str, Value]) -> tuple[float, float] | None:
    low, high = record["ci_low"], record["ci_high"]
    return None if low is None or high is None else (float(low), float(high))


def _bars(records: Sequence[dict[str, Value]]) -> Figure:
    figure, axes = new_figure(6.4, max(1.8, 0.9 + 0.34 * len(records)))
    shares = [float(str(one["share_a"])) for one in records]
    places = list(range(len(records)))
    axes.barh(places, shares, color=colour_of(0), height=0.62, hatch="//", edgecolor="white")
    error_bars(axes, places, shares, [_ends(one) for one in records], horizontal=True)
    right = [float(str(one["share_a_right"])) for one in records]
    axes.plot(
        right, places, linestyle="", marker="D", color=INK, markersize=5, label="share of questions where A is right"
    )
    axes.axvline(0.5, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_yticks(places, [printable(str(one["label"])) for one in records])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of answers that are A")
    axes.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return figure


def _dumbbells(found: Sequence[_Longer]) -> Figure:
    figure, axes = new_figure(6.4, max(1.8, 0.9 + 0.34 * len(found)))
    for number, which in enumerate(("shortest segments", "longest segments")):
        rates = [one.ends[number].rate for one in found]
        places = [place + 0.12 * (2 * number - 1) for place in range(len(found))]
        values = [math.nan if rate.accuracy is None else rate.accuracy for rate in rates]
        colour = colour_of(number)
        axes.plot(values, places, linestyle="", marker=MARKERS[number], color=colour, label=which)
        error_bars(axes, places, values, [rate.interval for rate in rates], colour, horizontal=True)
        for place, rate in zip(places, rates, strict=True):
            if rate.bounds:  # questions failed, so that only a range is known
                axes.plot(rate.bounds, [place, place], color=colour, linestyle=":", linewidth=3)
    axes.axvline(0.5, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set_yticks(range(len(found)), [printable(one.ends[0].label) for one in found])
    axes.invert_yaxis()
    axes.set_xlabel("accuracy")
    axes.legend(fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure
