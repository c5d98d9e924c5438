"""A run's scores as the paper's tables (Tables 3 and 4), for a screen and for a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from epbench.models.protocol import name_of
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
    titles = ["F1 by chapters", *(f"{bin_} ({n_in_bin(runs, bin_)})" for bin_ in BINS)]
    rows = [
        [label, *(cell(scores["f1_by_bin"].get(bin_)) for bin_ in BINS), cell(scores["simple_recall_score"])]
        for label, scores in runs.items()
    ]
    return [*titles, "simple recall"], rows


def n_in_bin(runs: Mapping[str, Mapping[str, Any]], bin_: str) -> str:
    """Number of questions of a bin, or `9–54` where the runs have asked parts of different size."""
    counts = [scores["n_by_bin"].get(bin_, 0) for scores in runs.values()]
    return "–".join(map(str, sorted({min(counts), max(counts)})))


def _order(runs: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], Rows]:
    rows = [[label, *(cell(scores[key]) for _, key in _ORDER)] for label, scores in runs.items()]
    return ["order in time", *(title for title, _ in _ORDER)], rows


def judge_lines(runs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What is known of each judge, and the headlines of its runs corrected for it; one line per judge."""
    judged: dict[str, list[str]] = {}
    for name, scores in runs.items():
        judged.setdefault(_about_judge(scores.get("judge")), []).append(name)
    lines = []
    for about, names in judged.items():
        recalls = {
            name: corrected["simple_recall_score"] for name in names if (corrected := runs[name].get("corrected"))
        }
        of = f"{', '.join(names)}: " if len(judged) > 1 else ""
        lines.append(f"{of}{about}{_corrected(recalls)}")
    return lines


def _about_judge(judge: Mapping[str, Any] | None) -> str:
    if judge is None:
        return "judge: not noted"
    if judge["prompt_hash"] is None:
        return f"judge {judge['name']}, as published: its prompts are not ours, so it has no passport"
    if judge["passport"] is None:
        check = f"python eval_scripts/judge_check.py --judge {name_of(judge['name'])} --out runs/judge"
        return f"judge {judge['name']} has no passport; make it, with the judge's options, and report again: {check}"
    shares = ", ".join(f"{name} {_share(judge, name)}" for name in ("sensitivity", "specificity", "order"))
    failed = f"; {n} made answers without a verdict" if (n := judge["passport"].get("failed")) else ""
    return f"judge {judge['name']}: {shares}{failed}"


def _corrected(recalls: Mapping[str, float | None]) -> str:
    """The end of a line: the corrected recall of one run, or of several with their names."""
    if not recalls:
        return ""
    if None in recalls.values():
        return "; it tells right from wrong too seldom to correct scores"
    values = [f"{name} {cell(recall)}" if len(recalls) > 1 else cell(recall) for name, recall in recalls.items()]
    return f"; simple recall corrected for it: {', '.join(values)}"


def _share(about: Mapping[str, Any], name: str) -> str:
    """`0.912 (0.888–0.931)`."""
    interval = about[f"{name}_interval"]
    return cell(about[name]) + (f" ({interval[0]:.3f}–{interval[1]:.3f})" if interval else "")


def screen_tables(runs: Mapping[str, Mapping[str, Any]]) -> Group:
    """A row per run: F1 by number of matching chapters (their questions), then latest state and order; then the judges."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    tables: list[Table | Text] = []
    for titles, rows in (_recall(runs), _order(runs)):
        table = Table()
        for i, title in enumerate(titles):
            table.add_column(title, justify="left" if i == 0 else "right", overflow="fold")
        for row in rows:
            table.add_row(*row)
        tables.append(table)
    return Group(*tables, *map(Text, judge_lines(runs)))


def markdown_table(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """The same as Markdown, with a third table of the 95 % intervals before the judges."""
    names = sorted({name for scores in runs.values() for name in scores["intervals"]})
    intervals = [[name, *(_interval(scores, name) for scores in runs.values())] for name in names]
    tables = (_recall(runs), _order(runs), (["95 % interval, drawing cues with replacement", *runs], intervals))
    lines = "".join(f"- {line}\n" for line in judge_lines(runs))
    return "\n".join([*(markdown(titles, rows) for titles, rows in tables), lines])


def _interval(scores: Mapping[str, Any], name: str) -> str:
    interval = scores["intervals"].get(name)
    return "–" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
