"""Whether checkpoints of a training differ in what they remember: in accuracy (Figure 18) and in log ratios (Figure 19)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from epbench.booksort.paper.inputs import Inputs, PaperRun, Training
from epbench.booksort.paper.training import CONTROL, TRAINING
from epbench.booksort.scores.comparison import compare_runs, pair_differences
from epbench.reports.comparison import p_matrix_figure
from epbench.reports.exhibit import Exhibit, Missing, Row, Shown, columns_of, difference, p_value, slug
from epbench.statistics.estimate import framed
from epbench.statistics.paired import Comparison, notes_on
from epbench.statistics.smallest_difference import smallest_difference_of_means

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ACCURACY = (
    "Test: McNemar's exact test, two-sided, in which the two askings of a pair count once. Bold with an asterisk in the "
    "figure: p < 0.05 after Holm's correction for the number of comparisons; the numbers there are without it. p "
    "(chi-square): the test with continuity correction, as in the paper."
)
_RATIO = (
    "Test: paired t-tests of whether the first checkpoint (in the figure, the row) has a higher log ratio than the second, "
    "one-sided, in both directions. Bold with an asterisk in the figure: p < 0.05 after Holm's correction for all cells; the "
    "numbers there are without it."
)
_SMALLEST = (
    "smallest: the smallest mean difference, two-sided at 0.05 without correction, that so many questions show in 80 % of "
    "cases, if they vary as these do. Intervals draw excerpts, tests take pairs for independent."
)
_TITLES = {"Figure 18": "Do checkpoints differ in accuracy?", "Figure 19": "Do checkpoints differ in their log ratios?"}
_CHECKPOINTS: Shown = {"checkpoint": "first", "other": "second", "n": "n"}


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """Figures 18 and 19, once for each model, and of Appendix F.5 whether a training costs accuracy in-context."""
    trainings = [one for one in inputs.trainings if one.epochs]
    asked = [one for one in trainings if any(run.memory == "in-context" for run in one.runs)]
    groups, in_context = by_base(trainings), by_base(asked)
    if not groups:
        needs = f"{TRAINING}, with at least two measured checkpoints{CONTROL}"
        return [Missing(name, title, needs) for name, title in _TITLES.items()]
    found = {base: _compared(group, "none") for base, group in groups.items()}
    made: list[Exhibit | Missing] = []
    for figure, make in (("Figure 18", _figure_18), ("Figure 19", _figure_19)):
        for base, pairs in found.items():
            name, one = figure + (f", {base}" if len(groups) > 1 else ""), make(base, pairs)
            needs = f"a training of {base} whose answers have probabilities"
            needs = needs if pairs else f"at least two measured checkpoints of {base}"
            made.append(replace(one, name=name) if one else Missing(name, _TITLES[figure], needs))
    for base, group in in_context.items():
        if one := _figure_18(base, _compared(group, "in-context"), "in-context"):
            made.append(replace(one, name="Appendix F.5, differences" + (f", {base}" if len(in_context) > 1 else "")))
    return made


def by_base(trainings: Iterable[Training]) -> dict[str, list[Training]]:
    """The trainings with comparable checkpoints by the model that they begin with; a number tells two ways of asking apart."""
    found: dict[str, list[Training]] = {}
    for one in trainings:
        found.setdefault(one.same, []).append(one)
    named: dict[str, list[Training]] = {}
    for group in found.values():
        name, number = group[0].model, 2
        while slug(name) in map(slug, named):  # the names of files have no capitals
            name, number = f"{group[0].model} ({number})", number + 1
        named[name] = group
    return named


def _compared(group: Sequence[Training], memory: str) -> list[dict[str, Any]]:
    """Any two checkpoints from one model, which is there once itself; with the smallest differences that are shown."""
    runs: dict[str, PaperRun] = {}
    for run in (run for training in group for run in training.runs if run.memory == memory):
        runs.setdefault(f"{run.training}, epoch {run.epoch}" if run.epoch else "before training", run)
    tables = {name: run.questions for name, run in runs.items()}

    def smallest(names: Sequence[str], column: str) -> float | None:
        first, second = (tables[name] for name in names)
        differences = pair_differences(first, second, column)["difference"].tolist()
        return smallest_difference_of_means(differences, paired=True)

    found = compare_runs(tables) if len(tables) > 1 else []
    for pair in found:
        pair["smallest"] = smallest(pair["runs"], "right")
        if pair["log_ratio"]:
            pair["log_ratio"]["smallest"] = smallest(pair["runs"], "log_ratio")
    return found


def _figure_18(base: str, found: Sequence[Mapping[str, Any]], context: str = "without context") -> Exhibit | None:
    """McNemar's tests of all checkpoints of one model; None without any."""
    kept = ("wins", "ties", "losses", "p", "p_holm")
    rows = [
        _pair(base, pair["runs"], pair)
        | dict(zip(("first_mean", "second_mean"), pair["means"], strict=True))
        | {**{key: pair[key] for key in kept}, "p_chi_square": pair["p_corrected"]}
        for pair in found
    ]
    shown: Shown = {"accuracy": "first_mean", "of the other": "second_mean", "difference, 95 %": difference("")}
    shown |= {"better": "wins", "equal": "ties", "worse": "losses", "p": p_value("p"), "p (Holm)": p_value()}
    shown |= {"p (chi-square)": p_value("p_chi_square"), "smallest": "smallest"}
    notes = [_ACCURACY, _SMALLEST, *notes_on(Comparison("accuracy", [dict(pair) for pair in found]))]
    title = f"Do the checkpoints of {base} differ in accuracy {context}? p-values of any two"
    return _made(title, rows, shown, notes, [("p", "p"), ("p_holm", "p_holm")])


def _figure_19(base: str, found: Sequence[Mapping[str, Any]]) -> Exhibit | None:
    """Paired t-tests of the log ratios of all checkpoints of one model; None if no probabilities are known."""
    keys = {"p_higher": "p", "p_lower": "p_less", "p_higher_holm": "p_holm", "p_lower_holm": "p_less_holm"}
    rows = [
        _pair(base, pair["runs"], ratio) | {column: ratio[key] for column, key in keys.items()}
        for pair in found
        if (ratio := pair["log_ratio"])
    ]
    shown: Shown = {"difference in nats, 95 %": difference("", starred=False)}
    shown |= {column.replace("_holm", ", Holm").replace("p_", "p: "): p_value(column) for column in keys}
    title = f"Do the checkpoints of {base} give the right segment a larger share of p(A) + p(B)? p-values of any two"
    tests = [("p_higher", "p_lower"), ("p_higher_holm", "p_lower_holm")]
    return _made(title, rows, shown | {"smallest": "smallest"}, [_RATIO, _SMALLEST], tests)


def _made(
    title: str, rows: Sequence[Row], shown: Shown, notes: Sequence[str], tests: Sequence[tuple[str, str]]
) -> Exhibit | None:
    columns, plot = columns_of({**_CHECKPOINTS, **shown}, 2), partial(_matrix, rows, *tests)
    return Exhibit("", title, framed(rows), columns, notes, plot) if rows else None


def _pair(base: str, runs: Sequence[str], found: Mapping[str, Any]) -> dict[str, Any]:
    """What two checkpoints are, and their difference."""
    low, high = found["interval"] or (None, None)
    names = {"source": "own", "model": base, "first": runs[0], "second": runs[1], "n": found["n"]}
    return {**names, "mean": found["difference"], "low": low, "high": high, "smallest": found["smallest"]}


def _matrix(rows: Sequence[Row], plain: tuple[str, str], corrected: tuple[str, str]) -> Figure:
    """The p-values: in the row of the first checkpoint that of the first column, in that of the second the other."""
    names = list(dict.fromkeys(itertools.chain.from_iterable((row["first"], row["second"]) for row in rows)))

    def matrix(columns: tuple[str, str]) -> list[list[float | None]]:
        cells = {(row["first"], row["second"]): row[columns[0]] for row in rows}
        cells |= {(row["second"], row["first"]): row[columns[1]] for row in rows}
        return [[cells.get((one, other)) for other in names] for one in names]

    return p_matrix_figure(names, matrix(plain), corrected=matrix(corrected))
