"""All tables and figures of the paper in its order, and what it leaves out: which systems differ, and what the runs took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

from epbench.errors import RunFailed
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.paper.dataset import table_2
from epbench.memfail.paper.figures import (
    beside_success,
    figure_1,
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    figures_6_to_9,
    scaling,
)
from epbench.memfail.paper.inputs import Inputs, PaperRun, judge_notes
from epbench.memfail.paper.rows import ABOUT
from epbench.memfail.scores.cost import USAGE_COLUMNS, fixed, total, usage_rows
from epbench.reports.exhibit import Column, Exhibit, Missing, interval
from epbench.reports.tables import cell
from epbench.statistics.estimate import Value, framed
from epbench.statistics.paired import compare_outcomes, with_holm
from epbench.statistics.smallest_difference import ALPHA, smallest_difference_of_rates

_TITLE = "Differences in success between any two systems, config by config and k by k"
_SMALLEST = ("smallest_difference", "smallest_difference_corrected")


def exhibits(inputs: Inputs) -> list[Exhibit | Missing]:
    """Make what can be made; of the rest, say what it needs.

    Args:
        inputs: What is given; everything in it may be empty.

    Returns:
        Table 2 and Figures 1 to 9; then what the paper leaves out: the differences between systems, success by the number
        of facts and of hops, and tokens and cost.
    """
    return [
        table_2(inputs), figure_1(inputs), beside_success(inputs), figure_2(inputs), *figure_3(inputs), figure_4(inputs),
        figure_5(inputs), *figures_6_to_9(inputs), differences(inputs), *scaling(inputs), tokens_and_cost(inputs),
    ]  # fmt: skip


def differences(inputs: Inputs) -> Exhibit | Missing:
    """Every two runs of one config with one judge, at every k that both have."""
    pairs = with_holm(_pairs(inputs.runs))
    if not pairs:
        needs = "two runs of one config with one judge and one k; reported rates have no answers to compare"
        return Missing("Differences", _TITLE, needs)
    columns = [
        Column("config", "config", text=True),
        Column("systems", lambda row: f"{row['label_first']} / {row['label_second']}", text=True),
        Column("k", "k"),
        Column("n", "n"),
        Column("success", lambda row: f"{row['success_first']:.3f} / {row['success_second']:.3f}"),
        Column("difference (95 %)", _difference),
        Column("better / equal / worse", lambda row: f"{row['better']} / {row['equal']} / {row['worse']}"),
        Column("p", lambda row: f"{row['p']:.3g}"),
        Column("p (Holm)", lambda row: f"{row['p_holm']:.3g}"),
        Column("different", lambda row: "yes" if row["p_holm"] < ALPHA else "not shown"),
        Column("smallest difference: alone / corrected", lambda row: " / ".join(map(cell, map(row.get, _SMALLEST)))),
    ]
    frame = framed(_record(pair, len(pairs)) for pair in pairs)
    return Exhibit(
        "Differences", _TITLE, frame, columns, [*_notes(pairs), *judge_notes(inputs.runs)], sections="config"
    )


def _difference(row: Mapping[str, Any]) -> str:
    return f"{row['difference']:+.3f} ({interval('low', 'high', 2)(row).replace('–', ' to ')})"


def _pairs(runs: Sequence[PaperRun]) -> list[dict[str, Any]]:
    """What `compare_outcomes` returns for each two runs and k, with config, k and source."""
    found = []
    for config in CONFIGS:
        for one, other in combinations([run for run in runs if run.config == config], 2):
            about = {"config": config, "source": " / ".join(dict.fromkeys((one.source, other.source)))}
            for k in sorted({*one.questions["k"]} & {*other.questions["k"]}) if one.judge == other.judge else ():
                with suppress(RunFailed):  # no question was answered and judged in both
                    compared = compare_outcomes((one.name, other.name), [one.at(k), other.at(k)], cluster="row")
                    found.append({**about, "k": int(k), **compared})
    return found


def _record(pair: Mapping[str, Any], comparisons: int) -> dict[str, Value]:
    """A row of the frame; the smallest differences are those of one comparison alone, and of the strictest of so many."""
    low, high = pair["interval"] or (None, None)
    rate = sum(pair["means"]) / 2
    sides = {
        f"{name}_{side}": pair[key][number]
        for number, side in enumerate(("first", "second"))
        for name, key in (("label", "runs"), ("success", "means"), ("n_failed", "n_failed"))
    }
    smallest = {
        name: smallest_difference_of_rates(rate, pair["n"], paired=True, alpha=ALPHA / number)
        for name, number in zip(_SMALLEST, (1, comparisons), strict=True)
    }
    return {
        **{name: pair[name] for name in ("config", "source", "k", "n")}, **sides, "difference": pair["difference"],
        "low": low, "high": high, "better": pair["wins"], "equal": pair["ties"], "worse": pair["losses"], "p": pair["p"],
        "p_holm": pair["p_holm"], **smallest,
    }  # fmt: skip


def _notes(pairs: Sequence[Mapping[str, Any]]) -> list[str]:
    lost = sum(any(pair["n_failed"]) or pair["n_one_sided"] > 0 for pair in pairs)
    notes = [
        f"Test: McNemar's exact test on the questions that both runs answered; correction: Holm over all {len(pairs)} "
        f"comparisons of this table. The intervals draw whole rows with replacement (bootstrap, 95 %). A difference is the "
        f"first system minus the second.",
        "“Not shown” does not mean equal: the last column is the smallest difference of two rates around their mean that so "
        "many questions show with 80 % power, for one comparison alone (5 %) and at the strictest level of the correction. It "
        "takes the outcomes of both as independent, which is the worst case: where systems pass the same questions, smaller "
        "differences show.",
        "Vacuous passes count as successes, as in the paper.",
    ]
    if lost:
        notes.append(
            f"In {lost} comparisons questions that failed in one of the runs are left out; n says what remains."
        )
    return notes


def tokens_and_cost(inputs: Inputs) -> Exhibit | Missing:
    """Calls, tokens, seconds and cost of each run and stage (paper: Q3)."""
    title = "What the runs took, stage by stage: calls, tokens, seconds and cost"
    runs = [run for run in inputs.runs if run.spent]
    if not runs:
        return Missing("Tokens and cost", title, "a run with its usage.json")
    rows = []
    for run in runs:
        of = (run.config, run.name, run.source, run.system, run.system_model or None, run.model or None)
        about = dict(zip(ABOUT, of, strict=False)) | {"judge": None if run.judge is None else str(run.judge)}
        rows += [row | {"cost_of_run": total(run.spent)} for row in usage_rows(about, run.spent)]
    columns = [Column("run", lambda row: f"{row['label']} ({row['config']})", text=True), *USAGE_COLUMNS]
    notes = [
        "Storing and retrieving are what the memory system did, answering the reader, judging the judge. A dash stands for what "
        "is unknown. The tokens of papers leave out those inside the memory system and those of the judge.",
    ]
    if inputs.prices is None:
        notes.append("No file of prices was given, so that there is no cost.")
    else:
        columns += [Column(f"cost in {inputs.prices.currency}", fixed("cost", 4))]
        columns += [Column("of the run", fixed("cost_of_run", 4))]
    return Exhibit("Tokens and cost", title, framed(rows), columns, notes, sections="label")
