"""Paired estimation plots of runs on one book (paper: Figure 8, Appendix E.9)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from textwrap import fill
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.reports.tables import Table
from epbench.tulving.paper.lines import Line
from epbench.tulving.paper.results.ranks import by_text, matched_notes

if TYPE_CHECKING:
    import pandas as pd

    from epbench.reports.figures import Group

_TITLE = "F1 question by question, and the mean difference of each run from the one before it"


def estimation_plots(lines: Sequence[Line]) -> list[Exhibit | Missing]:
    """Figure 8: a figure for each book, with its runs from the highest mean F1 to the lowest."""
    found = {text: (runs, f1) for text, (runs, f1) in by_text(lines).items() if len(set(_cues(runs[0], f1))) > 1}
    if not found:
        return [Missing("Figure 8", _TITLE, "two or more runs that answered the same questions about one book")]
    return [
        _plot("Figure 8" if len(found) == 1 else f"Figure 8, {text}", f"{_TITLE} ({text})", runs, f1)
        for text, (runs, f1) in found.items()
    ]


def _plot(name: str, title: str, runs: Sequence[Line], f1: pd.DataFrame) -> Exhibit:
    from epbench.reports.figures import paired_estimation_plot
    from epbench.statistics.paired import paired_estimate
    from epbench.statistics.smallest_difference import smallest_difference_of_means

    f1_of = f1.mean().to_numpy()
    order = sorted(range(len(runs)), key=lambda column: -float(f1_of[column]))
    cues = _cues(runs[0], f1)
    records: list[dict[str, Value]] = []
    rows = []
    groups: dict[str, Group] = {}
    for one, other in pairwise(order):
        first, second = runs[one], runs[other]
        estimate = paired_estimate(f1[one].tolist(), f1[other].tolist(), cues)
        title_of_pair = f"{len(groups) + 1}: {estimate.mean:+.3f}"
        groups[title_of_pair] = _folded(first), f1[one].tolist(), _folded(second), f1[other].tolist(), estimate
        smallest = smallest_difference_of_means(estimate.differences, paired=True)
        low, high = estimate.interval
        records.append({
            **second.columns(), "before": first.label, "mean": float(f1[other].mean()), "mean_before": float(f1[one].mean()),
            "difference": estimate.mean, "low": low, "high": high, "n": estimate.n, "smallest_difference": smallest,
        })  # fmt: skip
        means = f"{f1[other].mean():.3f} / {f1[one].mean():.3f}"
        shown = "–" if smallest is None else f"{smallest:.3f}"
        rows.append([second.who, first.who, means, f"{estimate.mean:+.3f} ({low:+.3f} to {high:+.3f})", shown])
    head = ["run", "before it", "mean F1", "difference (95 % interval)", "smallest difference"]
    notes = [
        "Bootstrap of the paired mean difference, 5,000 resamples that draw whole cues, 95 % percentile interval; no test, and "
        "no correction for the number of pairs. Smallest difference: what so many questions show with 80 % power at p < 0.05.",
        *matched_notes(runs, len(f1)),
    ]
    table = Table(head, rows, notes=notes, text_columns=2)
    return Exhibit(name, title, records, table, lambda: paired_estimation_plot(groups, "F1"))


def _folded(line: Line) -> str:
    """The name of a run in lines that fit beside one another."""
    return fill(line.who, 16)


def _cues(line: Line, f1: pd.DataFrame) -> list[tuple[str, ...]]:
    """The given values of each question, by which questions about the same events are one cluster."""
    asked = line.questions.drop_duplicates("id").set_index("id").loc[f1.index]
    return [tuple(map(str, values)) for values in asked[["time", "space", "entity", "content"]].to_numpy()]
