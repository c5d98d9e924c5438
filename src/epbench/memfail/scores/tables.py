"""Runs of MemFail in tables: success, plain accuracy, and what each stage lost; baselines beside systems.

Every table has a floor, which is computed from the questions: what an empty store scores by itself. A run without memory
stands beside it. What is below the floor is marked, and for that the run without memory counts, if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.memfail.scores.scoring import ERRORS
from epbench.reports.tables import Runs, Scores, Table, cell, in_markdown, interval_cell, on_screen, warnings_of

if TYPE_CHECKING:
    from rich.console import Group

FLOOR = "none"
CEILINGS = ("full-context", "oracle")


def with_baseline(scores: Scores, run: Mapping[str, Any]) -> dict[str, Any]:
    """Add `baseline` to the scores of a run, as tables and reports take them; scores.json does not have it.

    Args:
        scores: The content of scores.json.
        run: The content of run.json, whose identity says under `control` whether the system is a baseline.
    """
    baseline = run["identity"].get("control")
    return dict(scores) if baseline is None else {**scores, "baseline": baseline}


def is_baseline(scores: Scores) -> bool:
    """Whether a run shows what is possible, rather than what a memory system does.

    Where no run.json says so, as for reported rates, the name of the system decides.
    """
    system = scores.get("system") or ""
    return bool(scores.get("baseline", system in (FLOOR, *CEILINGS) or system.startswith("verbatim-")))


def by_config(runs: Runs) -> dict[str, dict[str, Scores]]:
    """The runs of each config: the floor first, then the systems, then reported rates, and the ceilings last."""
    found: dict[str, dict[str, Scores]] = {}
    for label, scores in sorted(runs.items(), key=lambda run: _place(run[1])):
        of_config = found.setdefault(scores["config"], {})
        short = label.removesuffix(f" ({scores['config']})")
        of_config[label if short in of_config else short] = scores
    return found


def _place(scores: Scores) -> int:
    if scores.get("system") == FLOOR:
        return 0
    if scores.get("reported"):
        return 2
    return 3 if is_baseline(scores) else 1


def floor_of_runs(runs: Runs, k: str, score: str) -> float | None:
    """What a run without memory scores: measured at this k, else at any k, else computed from the questions.

    Args:
        runs: The runs of one config.
        k: The k, as in by_k.
        score: `success_rate` or `answer_accuracy`.
    """
    value: float | None
    for scores in runs.values():
        if scores.get("system") == FLOOR:
            value = (scores["by_k"].get(k) or next(iter(scores["by_k"].values())))[score]
            return value
    value = next((scores["floor"][score] for scores in runs.values() if "floor" in scores), None)
    return value


def note(runs: Runs, scores: Scores, k: str) -> str:
    """What is special about a row: `baseline`, `reported`, and whether it is below the floor."""
    words = [word for word, yes in (("baseline", is_baseline(scores)), ("reported", scores.get("reported"))) if yes]
    for score, word in (("success_rate", "below floor"), ("answer_accuracy", "answers below floor")):
        value, floor = scores["by_k"][k].get(score), floor_of_runs(runs, k, score)
        if scores.get("system") != FLOOR and value is not None and floor is not None and value < floor:
            words.append(word)
    return ", ".join(words)


def main_table(config: str, runs: Runs) -> Table:
    """A row for each run and k; the runs are those of one config."""
    with_vacuous = any(scores.get("vacuous") for run in runs.values() for scores in run["by_k"].values())
    shown = ["success_rate", *(["success_earned"] if with_vacuous else []), "answer_accuracy", *ERRORS]
    head = [config, "k", *(_TITLES[name] for name in shown), *(_VACUOUS.values() if with_vacuous else [])]
    head += ["failed", "words/memory", "note"]
    rows = [_computed_floor(runs, head)]
    for label, k, scores in _lines(runs):
        values = [with_interval(scores, name) if name == "success_rate" else cell(scores.get(name)) for name in shown]
        more = [cell(scores.get(name)) for name in _VACUOUS] if with_vacuous else []
        words = scores.get("words_per_memory")
        last = [cell(scores.get("failed")), "–" if words is None else f"{words:.1f}", note(runs, runs[label], k)]
        rows.append([label, k, *values, *more, *last])
    return Table(head, [row for row in rows if row])


_TITLES = {
    "success_rate": "success",
    "success_earned": "earned",
    "answer_accuracy": "answers right",
} | {error: error.removesuffix("_error") for error in ERRORS}


_VACUOUS = {"vacuous": "vacuous", "vacuous_wrong": "vacuous, wrong"}


def _computed_floor(runs: Runs, head: Sequence[str]) -> list[str]:
    floor = next((scores["floor"] for scores in runs.values() if "floor" in scores), None)
    if floor is None:
        return []
    success, answers = cell(float(floor["success_rate"])), cell(floor["answer_accuracy"])
    shown = {head[0]: "floor", "success": success, "answers right": answers, "note": "computed"}
    return [shown.get(title, "–") for title in head]


def group_table(config: str, runs: Runs) -> Table | None:
    """Success by group (number of preferences, of hops, or kind of question); None if there are no groups."""
    lines = [(label, k, scores["by_group"]) for label, k, scores in _lines(runs) if scores.get("by_group")]
    groups = sorted({group for _, _, of_run in lines for group in of_run})
    if not groups:
        return None
    sizes = {group: scores["n"] for _, _, of_run in lines for group, scores in of_run.items()}
    head = [f"{config}: success by group", "k", *(f"{group} ({sizes[group]})" for group in groups)]
    rows = [
        [label, k, *(cell(of_run.get(group, {}).get("success_rate")) for group in groups)] for label, k, of_run in lines
    ]
    return Table(head, rows)


def with_interval(scores: Scores, name: str) -> str:
    """A rate with its 95 % interval, such as `0.350 (0.26–0.45)`."""
    interval = scores.get("intervals", {}).get(name)
    return cell(scores.get(name)) + (f" ({interval_cell(interval, digits=2)})" if interval else "")


def _lines(runs: Runs) -> Iterator[tuple[str, str, Scores]]:
    return ((label, k, scores) for label, run in runs.items() for k, scores in run["by_k"].items())


def tables(runs: Runs) -> list[Table]:
    """All tables, config by config."""
    found: list[Table] = []
    for config, of_config in by_config(runs).items():
        found.append(main_table(config, of_config))
        if groups := group_table(config, of_config):
            found.append(groups)
    return found


def screen_tables(runs: Runs) -> Group:
    """The same for the screen: short titles, two digits, notes below the labels; some columns are only in the files."""
    return on_screen(_narrow(table) for table in tables(runs))


def _narrow(table: Table) -> Table:
    first, *others = table.head
    kept = [column for column, title in enumerate(table.head) if title in others and title not in _IN_FILES_ONLY]
    rows = []
    for row in table.rows:
        note_below = f"\n[{row[-1]}]" if table.head[-1] == "note" and row[-1] else ""
        numbers = (re.sub(r"^\d\.\d{3}", lambda rate: f"{float(rate[0]):.2f}", row[column]) for column in kept)
        rows.append([row[0] + note_below, *numbers])
    return Table(["run", *(_SHORT.get(table.head[column], table.head[column]) for column in kept)], rows, title=first)


_IN_FILES_ONLY = ("note", "words/memory", "earned", "failed", "vacuous, wrong")
_SHORT = {
    "answers right": "right", "storage": "stor.", "summary": "summ.", "retrieval": "retr.", "reasoning": "reas.",
    "vacuous": "vac.",
}  # fmt: skip


def markdown_table(runs: Runs) -> str:
    """The same in Markdown, with the warnings of the runs."""
    return in_markdown(tables(runs), warnings_of(runs))
