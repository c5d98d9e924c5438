"""Which systems differ: their success compared question by question, with McNemar's test and Holm's correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from epbench.errors import RunFailed
from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.paper.inputs import Inputs, PaperRun
from epbench.memfail.paper.rows import judges
from epbench.reports.exhibit import Column, Exhibit, Missing, interval, marked
from epbench.statistics.estimate import Value, framed
from epbench.statistics.paired import compare_outcomes, with_holm
from epbench.statistics.smallest_difference import ALPHA, smallest_difference_of_rates

NAME = "Differences"
_TITLE = "Differences in success between any two systems, config by config and k by k"


def differences(inputs: Inputs) -> Exhibit | Missing:
    """Every two runs of one config with one judge, at every k that both have."""
    pairs = with_holm(_pairs(inputs.runs))
    pairs = [
        pair | {"smallest": _smallest(pair, 1), "smallest_corrected": _smallest(pair, len(pairs))} for pair in pairs
    ]
    if not pairs:
        needs = "two runs of one config with one judge and one k; reported rates have no answers to compare"
        return Missing(NAME, _TITLE, needs)
    columns = [
        Column("config", "config", text=True),
        Column("systems", lambda row: f"{row['label_first']} / {row['label_second']}", text=True),
        Column("k", "k"), Column("n", "n"),
        Column("success", lambda row: f"{row['success_first']:.3f} / {row['success_second']:.3f}"),
        Column("difference (95 %)", _difference),
        Column("better / equal / worse", lambda row: f"{row['better']} / {row['equal']} / {row['worse']}"),
        Column("p", lambda row: f"{row['p']:.3g}"), Column("p (Holm)", lambda row: f"{row['p_holm']:.3g}"),
        Column("different", lambda row: "yes" if row["p_holm"] < ALPHA else "not shown"),
        Column("smallest difference: alone / corrected", _smallest_two),
    ]  # fmt: skip
    notes = [*_notes(pairs), *judges(inputs.runs)]
    return Exhibit(NAME, _TITLE, framed(_record(pair) for pair in pairs), columns, notes, sections="config")


def _difference(row: Mapping[str, Any]) -> str:
    return f"{row['difference']:+.3f} ({interval('low', 'high', 2)(row).replace('–', ' to ')})"


def _smallest_two(row: Mapping[str, Any]) -> str:
    both = (row["smallest_difference"], row["smallest_difference_corrected"])
    return " / ".join("–" if value is None else f"{value:.3f}" for value in both)


def _pairs(runs: Sequence[PaperRun]) -> list[dict[str, Any]]:
    """What `compare_outcomes` returns for each two runs and k, with config, k and the smallest difference."""
    found = []
    for config in CONFIGS:
        of_config = [run for run in runs if run.config == config]
        for one, other in combinations(of_config, 2):
            if one.judge == other.judge:
                found += [pair for k in _common(one, other) if (pair := _compared(one, other, k))]
    return found


def _common(one: PaperRun, other: PaperRun) -> list[int]:
    return sorted({int(k) for k in one.questions["k"]} & {int(k) for k in other.questions["k"]})


def _compared(one: PaperRun, other: PaperRun, k: int) -> dict[str, Any] | None:
    """Two runs at one k; None if no question was answered and judged in both."""
    names = (marked(one.label, one.source), marked(other.label, other.source))
    try:
        tables = [run.questions[run.questions["k"] == k] for run in (one, other)]
        pair = compare_outcomes(names, tables, cluster="row")
    except RunFailed:
        return None
    source = one.source if one.source == other.source else f"{one.source} / {other.source}"
    return {"config": one.config, "k": k, "source": source, **pair}


def _smallest(pair: Mapping[str, Any], comparisons: int) -> float | None:
    """What as many questions show at the strictest level of Holm's correction for so many comparisons."""
    rate = sum(pair["means"]) / 2
    return smallest_difference_of_rates(rate, pair["n"], paired=True, alpha=ALPHA / comparisons)


def _record(pair: Mapping[str, Any]) -> dict[str, Value]:
    low, high = pair["interval"] or (None, None)
    first, second = (
        {f"label_{side}": pair["runs"][i], f"success_{side}": pair["means"][i], f"n_failed_{side}": pair["n_failed"][i]}
        for i, side in enumerate(("first", "second"))
    )
    return {
        **{name: pair[name] for name in ("config", "source", "k", "n")}, **first, **second, "difference": pair["difference"],
        "low": low, "high": high, "better": pair["wins"], "equal": pair["ties"], "worse": pair["losses"], "p": pair["p"],
        "p_holm": pair["p_holm"], "smallest_difference": pair["smallest"],
        "smallest_difference_corrected": pair["smallest_corrected"],
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
