"""The table of runs that are compared question by question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from epbench.reports.tables import Table
from epbench.statistics.comparison import Comparison


def comparison_table(comparison: Comparison) -> Table:
    """A row for each comparison of two runs. Columns that would be empty are left out."""
    found = comparison.pairs
    with_ratios = any(pair.get("log_ratio") for pair in found)
    columns = {
        "runs": [" / ".join(pair["runs"]) for pair in found],
        "config, k": [f"{pair['config']}, {pair['k']}" for pair in found if "config" in pair],
        "n": [str(pair["n"]) for pair in found],
        comparison.score: [" / ".join(f"{value:.3f}" for value in pair["means"]) for pair in found],
        "difference, 95 % interval": [_difference(pair) for pair in found],
        "better / equal / worse": [" / ".join(str(pair[key]) for key in ("wins", "ties", "losses")) for pair in found],
        "p": [f"{pair['p']:.2g}" for pair in found],
        "p (Holm)": [f"{pair['p_holm']:.2g}" for pair in found if len(found) > 1],
        "p (log ratio)": [f"{r['p']:.2g}" if (r := pair["log_ratio"]) else "–" for pair in found if with_ratios],
    }
    shown = {title: cells for title, cells in columns.items() if cells}
    rows = list(zip(*shown.values(), strict=True))
    return Table(list(shown), rows, text_columns=2 if "config, k" in shown else 1)


def _difference(pair: Mapping[str, Any]) -> str:
    interval = "" if pair["interval"] is None else f" ({pair['interval'][0]:+.3f} to {pair['interval'][1]:+.3f})"
    return f"{pair['difference']:+.3f}{interval}"
