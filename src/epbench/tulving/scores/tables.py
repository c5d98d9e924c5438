"""A run's scores as the paper's tables (Tables 3 and 4), for a screen and for a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from epbench.models.protocol import name_of
from epbench.reports.page import bullets, cell, markdown
from epbench.safe_text import printable
from epbench.tulving.questions.generate import BINS

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


Cell = Callable[[Mapping[str, Any], str], str]  # from the content of scores.json and the name of a score


def _recall(runs: Mapping[str, Mapping[str, Any]], shown: Cell) -> tuple[list[str], Rows]:
    judges = judge_column(runs)
    titles = ["F1 by chapters", *(["judge"] if judges else []), *(f"{bin_} ({n_in_bin(runs, bin_)})" for bin_ in BINS)]
    names = [*(f"f1_by_bin.{bin_}" for bin_ in BINS), "simple_recall_score"]
    rows = [[label, *judges.get(label, ()), *(shown(scores, name) for name in names)] for label, scores in runs.items()]
    return [*titles, "simple recall"], rows


def score_cell(scores: Mapping[str, Any], name: str) -> str:
    """A score with three digits; `0.250–1.000 (incomplete)`, its bounds, where questions of it were lost.

    Args:
        scores: content of scores.json.
        name: of the score, as in `intervals` of scores.json: `latest`, `f1_by_bin.2`.
    """
    if bounds := scores["incomplete"].get(name):
        return f"{bounds[0]:.3f}–{bounds[1]:.3f} (incomplete)"
    return cell(scores["f1_by_bin"].get(name.removeprefix("f1_by_bin.")) if "." in name else scores[name])


def _narrow_cell(scores: Mapping[str, Any], name: str) -> str:
    """The same for a screen: `0.250– 1.000*` breaks between the ends where columns are narrow."""
    bounds = scores["incomplete"].get(name)
    return f"{bounds[0]:.3f}– {bounds[1]:.3f}*" if bounds else score_cell(scores, name)


def complete_first(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The runs in their order, those with an incomplete score after the others: they rank nowhere."""
    return dict(sorted(runs.items(), key=lambda run: bool(run[1]["incomplete"])))


def judge_column(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, list[str]]:
    """The name of each run's judge; empty where all runs have the same one."""
    judges = {label: scores.get("judge") or {"name": "not noted", "prompt_hash": ""} for label, scores in runs.items()}
    different = {(judge["name"], judge["prompt_hash"]) for judge in judges.values()}
    if len(different) < 2:
        return {}
    names = Counter(name for name, _ in different)
    return {label: [_name_of(judge, names[judge["name"]] > 1)] for label, judge in judges.items()}


def _name_of(judge: Mapping[str, Any], has_namesake: bool) -> str:
    if judge["prompt_hash"] is None:
        return f"{judge['name']} (as published)"
    return f"{judge['name']} ({judge['prompt_hash']})" if has_namesake else str(judge["name"])


def notes(runs: Mapping[str, Mapping[str, Any]], mark: str = "") -> list[str]:
    """What must be known to read the tables: what is missing in which run, and who judged.

    Args:
        runs: content of scores.json by the run's label.
        mark: of an incomplete score, to stand before the line that explains it.
    """
    lines = [_lost_line(label if len(runs) > 1 else "", scores) for label, scores in runs.items() if scores["n_failed"]]
    if any(scores["incomplete"] for scores in runs.values()):
        lines.append(
            f"{mark}An incomplete score is a range, from all of these questions wrong to all of them right. The command "
            "of the run, given again, asks its reader or judge for what is missing."
        )
    if judge_column(runs):
        lines.append("The runs have different judges, and numbers by different judges are not comparable.")
    return [*lines, *judge_lines(runs)]


def _lost_line(label: str, scores: Mapping[str, Any]) -> str:
    where = [f"bin {bin_}: {n}" for bin_, n in scores["failed_by_bin"].items()]
    if others := scores["n_failed"] - sum(scores["failed_by_bin"].values()):
        where.append(f"latest and order: {others}")
    return (
        f"{label and label + ': '}{scores['n_failed']} of {scores['n_questions']} questions have no answer or no verdict "
        f"({', '.join(where)})."
    )


def n_in_bin(runs: Mapping[str, Mapping[str, Any]], bin_: str) -> str:
    """Number of questions asked of a bin, or `9–54` where the runs have asked parts of different size."""
    counts = [scores["n_by_bin"].get(bin_, 0) for scores in runs.values()]
    return "–".join(map(str, sorted({min(counts), max(counts)})))


def _order(runs: Mapping[str, Mapping[str, Any]], shown: Cell) -> tuple[list[str], Rows]:
    rows = [[label, *(shown(scores, key) for _, key in _ORDER)] for label, scores in runs.items()]
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
        lines.append(f"{of}{about}{_corrected(recalls, len(names))}")
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


def _corrected(recalls: Mapping[str, float | None], n_runs: int) -> str:
    """The end of a line: the corrected recalls, with the names of the runs where the line is of several."""
    if not recalls:
        return ""
    if None in recalls.values():
        return "; it tells right from wrong too seldom to correct scores"
    values = [f"{name} {cell(recall)}" if n_runs > 1 else cell(recall) for name, recall in recalls.items()]
    return f"; simple recall corrected for it: {', '.join(values)}"


def _share(about: Mapping[str, Any], name: str) -> str:
    """`0.912 (0.888–0.931)`."""
    interval = about[f"{name}_interval"]
    return cell(about[name]) + (f" ({interval[0]:.3f}–{interval[1]:.3f})" if interval else "")


def screen_tables(runs: Mapping[str, Mapping[str, Any]]) -> Group:
    """A row per run: F1 by number of matching chapters (their questions), then latest state and order; then `notes`."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    runs = complete_first(runs)
    tables: list[Table | Text] = []
    for titles, rows in (_recall(runs, _narrow_cell), _order(runs, _narrow_cell)):
        table = Table()
        for i, title in enumerate(titles):
            table.add_column(title, justify="left" if i == 0 else "right", overflow="fold")
        for row in rows:
            table.add_row(*row)
        tables.append(table)
    return Group(*tables, *(Text(printable(note)) for note in notes(runs, mark="* ")))


def markdown_table(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """The same as Markdown, with a third table of the 95 % intervals before the notes."""
    runs = complete_first(runs)
    names = sorted({name for scores in runs.values() for name in scores["intervals"]})
    intervals = [[name, *(_interval(scores, name) for scores in runs.values())] for name in names]
    tables = (
        _recall(runs, score_cell),
        _order(runs, score_cell),
        (["95 % interval, drawing cues with replacement", *runs], intervals),
    )
    lines = bullets(notes(runs))
    return "\n".join([*(markdown(titles, rows) for titles, rows in tables), lines])


def _interval(scores: Mapping[str, Any], name: str) -> str:
    interval = scores["intervals"].get(name)
    return "–" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
