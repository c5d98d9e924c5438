"""Which systems differ: their success compared question by question, with McNemar's test and Holm's correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from epbench.errors import RunFailed
from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.memfail.dataset.types import CONFIGS
from epbench.memfail.paper.inputs import Inputs, PaperRun
from epbench.memfail.paper.notes import judges
from epbench.reports.tables import Table, interval_cell
from epbench.statistics.comparison import compare_outcomes, with_holm
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
    head = ["config", "systems", "k", "n", "success", "difference (95 %)", "better / equal / worse", "p", "p (Holm)",
            "different", "smallest difference: alone / corrected"]  # fmt: skip
    rows = [_row(pair) for pair in pairs]
    ends = [i for i in range(len(rows) - 1) if rows[i][0] != rows[i + 1][0]]
    table = Table(head, rows, notes=[*_notes(pairs), *judges(inputs.runs)], text_columns=2, sections=ends)
    return Exhibit(NAME, _TITLE, [_record(pair) for pair in pairs], table)


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


def _row(pair: Mapping[str, Any]) -> list[str]:
    rates = " / ".join(f"{mean:.3f}" for mean in pair["means"])
    smallest = " / ".join("–" if v is None else f"{v:.3f}" for v in (pair["smallest"], pair["smallest_corrected"]))
    return [
        pair["config"], " / ".join(pair["runs"]), str(pair["k"]), str(pair["n"]), rates,
        f"{pair['difference']:+.3f} ({interval_cell(pair['interval'], ' to ', 2)})",
        f"{pair['wins']} / {pair['ties']} / {pair['losses']}", f"{pair['p']:.3g}", f"{pair['p_holm']:.3g}",
        "yes" if pair["p_holm"] < ALPHA else "not shown", smallest,
    ]  # fmt: skip


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
