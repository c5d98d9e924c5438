"""A run's scores as the paper's tables (Tables 3 and 4), for a screen and for a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from epbench.runs.page import cell, markdown
from epbench.tulving.questions import BINS

if TYPE_CHECKING:
    from rich.console import Group

_ORDER = (
    ("latest", "latest"),
    ("all found", "all_matched"),
    ("τ", "kendall_tau"),
    ("chronological awareness", "chronological_awareness"),
    ("failed", "n_failed"),
)
Rows = list[list[str]]


def _recall(runs: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], Rows]:
    first = next(iter(runs.values()))
    titles = ["F1 by chapters", *(f"{bin_} ({first['n_by_bin'].get(bin_, 0)})" for bin_ in BINS)]
    rows = [
        [label, *(cell(scores["f1_by_bin"].get(bin_)) for bin_ in BINS), cell(scores["simple_recall_score"])]
        for label, scores in runs.items()
    ]
    return [*titles, "simple recall"], rows


def _order(runs: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], Rows]:
    rows = [[label, *(cell(scores[key]) for _, key in _ORDER)] for label, scores in runs.items()]
    return ["order in time", *(title for title, _ in _ORDER)], rows


def screen_tables(runs: Mapping[str, Mapping[str, Any]]) -> Group:
    """One line per run: F1 by number of matching chapters (their questions), then latest state and order in time."""
    from rich.console import Group
    from rich.table import Table

    tables = []
    for titles, rows in (_recall(runs), _order(runs)):
        table = Table()
        for i, title in enumerate(titles):
            table.add_column(title, justify="left" if i == 0 else "right", overflow="fold")
        for row in rows:
            table.add_row(*row)
        tables.append(table)
    return Group(*tables)


def markdown_table(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """The same as Markdown, with a third table of the 95 % intervals."""
    names = sorted({name for scores in runs.values() for name in scores["intervals"]})
    intervals = [[name, *(_interval(scores, name) for scores in runs.values())] for name in names]
    tables = (_recall(runs), _order(runs), (["95 % interval, drawing cues with replacement", *runs], intervals))
    return "\n".join(markdown(titles, rows) for titles, rows in tables)


def _interval(scores: Mapping[str, Any], name: str) -> str:
    interval = scores["intervals"].get(name)
    return "–" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
