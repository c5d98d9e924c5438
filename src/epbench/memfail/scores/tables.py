"""Runs of MemFail in tables: success, plain accuracy, and what each stage lost; baselines beside systems.

Every table has a floor, which is computed from the questions: what an empty store scores by itself. A run without memory
stands beside it. What is below the floor is marked, and for that the run without memory counts, if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from epbench.memfail.scores.scoring import ERRORS, REVISED
from epbench.reports.tables import Runs, Scores, Table, cell, in_markdown, interval_cell, on_screen, warnings_of

if TYPE_CHECKING:
    from rich.console import Group

FLOOR = "none"
CEILINGS = ("full-context", "oracle")


def with_baseline(scores: Scores, run: Mapping[str, Any]) -> dict[str, Any]:
    """Add `baseline`, which is `control` of the identity in run.json, to the content of scores.json, for tables and reports."""
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
    configs: dict[str, dict[str, Scores]] = {}
    for label, scores in sorted(runs.items(), key=lambda run: _place(run[1])):
        of_config = configs.setdefault(scores["config"], {})
        short = label.removesuffix(f" ({scores['config']})")
        of_config[label if short in of_config else short] = scores
    return configs


def _place(scores: Scores) -> int:
    if scores.get("system") == FLOOR:
        return 0
    if scores.get("reported"):
        return 2
    return 3 if is_baseline(scores) else 1


def floor_of_runs(runs: Runs, k: str, score: str) -> float | None:
    """A score of a run of one config without memory: measured at this k, else at any k, else computed from the questions."""
    without = [scores["by_k"] for scores in runs.values() if scores.get("system") == FLOOR]
    floors = [(by_k.get(k) or next(iter(by_k.values()))) for by_k in without]
    floors += [scores["floor"] for scores in runs.values() if "floor" in scores and not without]
    value: float | None = floors[0][score] if floors else None
    return value


def note(runs: Runs, scores: Scores, k: str) -> str:
    """What is special about a row: `baseline`, `reported`, and whether it is below the floor."""
    words = [word for word, yes in (("baseline", is_baseline(scores)), ("reported", scores.get("reported"))) if yes]
    for score, word in (("success_rate", "below floor"), ("answer_accuracy", "answers below floor")):
        value, floor = scores["by_k"][k].get(score), floor_of_runs(runs, k, score)
        if scores.get("system") != FLOOR and value is not None and floor is not None and value < floor:
            words.append(word)
    return ", ".join(words)


COUNTED = ("success_rate", *ERRORS)
"""The rates that add up to all questions that did not fail."""
_VACUOUS = {"success_earned": "earned", "vacuous": "vacuous", "vacuous_wrong": "vacuous, wrong"}
_REVISED = {**{error: error.replace("_", " ") for error in REVISED}, "rows_right": "rows right"}
_TITLES = {
    "success_rate": "success",
    "success_earned": "earned",
    "answer_accuracy": "answers right",
    **{error: error.removesuffix("_error") for error in ERRORS},
    **_VACUOUS,
    "failed": "failed",
}


def _main_table(config: str, runs: Runs) -> Table:
    """A row for each run and k, after that of the computed floor; the runs are those of one config."""
    with_vacuous = any(scores.get("vacuous") for _, _, scores in _lines(runs))
    shown = {name: title for name, title in _TITLES.items() if with_vacuous or name not in _VACUOUS}
    head = [config, "k", *shown.values(), "words/memory", "note"]
    lines = []
    if floor := next((scores["floor"] for scores in runs.values() if "floor" in scores), None):
        rates = {"success": cell(float(floor["success_rate"])), "answers right": cell(floor["answer_accuracy"])}
        lines.append({config: "floor", "note": "computed", **rates})
    for label, k, scores in _lines(runs):
        line = {title: cell(scores.get(name)) for name, title in shown.items()}
        if interval := scores.get("intervals", {}).get("success_rate"):
            line["success"] += f" ({interval_cell(interval, digits=2)})"
        words = scores.get("words_per_memory")
        about = {config: label, "k": k, "note": note(runs, runs[label], k)}
        lines.append({**line, **about, "words/memory": "–" if words is None else f"{words:.1f}"})
    return Table(head, [[line.get(title, "–") for title in head] for line in lines])


def judged(scores: Scores) -> int:
    """The number of questions that a cell of by_k is about, without those that failed."""
    return int(scores["n"] - scores.get("failed", 0))


def count_of(scores: Scores, name: str) -> int | None:
    """How many questions a rate stands for, such as `storage_error`; None where the cell does not have it."""
    rate = scores.get(name)
    return None if rate is None else round(rate * judged(scores))


def breakdown_tables(runs: Runs) -> list[Table]:
    """For each config what became of the questions in numbers (paper: Figures 6 to 9), and the tokens that a question took.

    A config of which no run has errors by stage, or tokens of a question, has no table.
    """
    breakdowns = []
    for config, of_config in by_config(runs).items():
        rows = []
        revised = [name for name in REVISED if any(name in scores for _, _, scores in _lines(of_config))]
        counted = (*COUNTED, *revised)
        for label, k, scores in _lines(of_config):
            counts, tokens = [count_of(scores, name) for name in counted], scores.get("tokens_per_question")
            if tokens is not None or any(count is not None for count in counts[1:]):
                shown = [cell(count) for count in (judged(scores), *counts)]
                rows.append([label, k, *shown, "–" if tokens is None else f"{tokens:,.0f}"])
        titles = [{**_TITLES, **_REVISED}[error] for error in counted[1:]]
        head = [f"{config}: questions by stage", "k", "n", "correct", *titles, "tokens/question"]
        breakdowns += [Table(head, rows)] if rows else []
    return breakdowns


def _revised_table(config: str, runs: Runs) -> Table | None:
    """What a system did with facts that were corrected or withdrawn; None for configs without such facts."""
    rows = []
    for label, k, scores in _lines(runs):
        if any(name in scores for name in _REVISED):
            shown = [cell(scores.get(name)) for name in _REVISED]
            for place, name in enumerate(_REVISED):
                if interval := scores.get("intervals", {}).get(name):
                    shown[place] += f" ({interval_cell(interval, digits=2)})"
            rows.append([label, k, *shown])
    return Table([f"{config}: corrected or withdrawn", "k", *_REVISED.values()], rows) if rows else None


def _group_table(config: str, runs: Runs) -> Table | None:
    """Success by group (number of preferences, of hops, or kind of question); None if there are no groups."""
    lines = [(label, k, scores["by_group"]) for label, k, scores in _lines(runs) if scores.get("by_group")]
    sizes = {group: scores["n"] for _, _, by_group in lines for group, scores in by_group.items()}
    head = [f"{config}: success by group", "k", *(f"{group} ({sizes[group]})" for group in sorted(sizes))]
    rates = [[by_group.get(group, {}).get("success_rate") for group in sorted(sizes)] for *_, by_group in lines]
    rows = [[label, k, *map(cell, of_line)] for (label, k, _), of_line in zip(lines, rates, strict=True)]
    return Table(head, rows) if sizes else None


def _lines(runs: Runs) -> Iterator[tuple[str, str, Scores]]:
    return ((label, k, scores) for label, run in runs.items() for k, scores in run["by_k"].items())


def tables(runs: Runs) -> list[Table]:
    """All tables, config by config."""
    collected: list[Table | None] = []
    for about in by_config(runs).items():
        collected += [_main_table(*about), _revised_table(*about), _group_table(*about)]
    return [table for table in collected if table is not None]


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
_SHORT = {"answers right": "right", "vacuous": "vac."}
_SHORT |= {stage: f"{stage[:4]}." for stage in ("storage", "summary", "retrieval", "reasoning")}


def markdown_table(runs: Runs) -> str:
    """The same in Markdown, with the warnings of the runs."""
    return in_markdown(tables(runs), warnings_of(runs))
