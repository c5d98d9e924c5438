"""Where questions fail, stage by stage (Figures 6 to 9, one for each model inside the systems), and what the runs took."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.rows import TITLES, Row, notes_on, rows_of, scored, values
from epbench.memfail.scores.breakdown import count_of
from epbench.memfail.scores.cost import total
from epbench.memfail.scores.figures import in_order
from epbench.memfail.scores.panels import stacked
from epbench.memfail.scores.scoring import ERRORS
from epbench.reports.exhibit import Column, Exhibit, Missing, marked
from epbench.reports.plots import legend, panels
from epbench.statistics.estimate import framed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES = {"gemini-3.1": "Figure 6", "haiku-4.5": "Figure 7", "gpt-4.1-mini": "Figure 8", "gpt-5.4-mini": "Figure 9"}
"""The paper's figure of each of its internal models."""
_NO_MODEL = "no model inside"
_KINDS = ("direct", "misleading")
_COUNTED = ("success_rate", *ERRORS)


def figures_6_to_9(inputs: Inputs) -> list[Exhibit | Missing]:
    """A figure for each of the paper's models, and one for each other model, or none, inside one's own systems."""
    rows = _rows(inputs)
    others = {row["system_model"] or "" for row in rows} - FIGURES.keys()
    more = [model for model in (*in_order(others - {""}), "") if model in others]
    names = FIGURES | {model: f"Figure 9, {model or _NO_MODEL}" for model in more}
    return [
        _figure(name, model, inputs, [row for row in rows if (row["system_model"] or "") == model])
        for model, name in names.items()
    ]


def _rows(inputs: Inputs) -> list[Row]:
    """A row for each cell whose errors are known, and of persona questions one for each of the two kinds as well."""
    own = {(run.config, marked(run.label, run.source)): run.scores["by_k"] for run in inputs.runs}
    of = own | {
        (rates["config"], marked(f"{rates['system']}, {rates['system_model']}", "reported")): rates["by_k"]
        for rates in inputs.reported.values()
    }
    found = []
    about = ("config", "label", "source", "system", "system_model", "model", "k")
    for row in rows_of(inputs):
        if any(row[error] is None for error in ERRORS):
            continue
        scores = of[row["config"], row["label"]][str(row["k"])]
        for kind in ("all", *(kind for kind in _KINDS if scores.get(kind))):
            part = scores if kind == "all" else scores[kind]
            counts = {f"n_{name.removesuffix('_rate')}": count_of(part, name) for name in _COUNTED}
            shares = {name: part.get(name) for name in _COUNTED}
            found.append(scored({name: row[name] for name in about} | {"questions": kind}, part) | counts | shares)
    return found


def _figure(name: str, model: str, inputs: Inputs, rows: Sequence[Row]) -> Exhibit | Missing:
    inside = f"{model} inside the systems" if model else _NO_MODEL
    title = f"What became of the questions, stage by stage, with {inside}"
    if not rows:
        return Missing(name, title, f"a run with {inside}, or a file of reported errors by stage")
    columns = [
        Column("config", "config", text=True), Column("system", "label", text=True), Column("questions", "questions", text=True),
        Column("k", "k"), Column("n", "n"), Column("correct", _counted("success_rate")),
        *(Column(error.removesuffix("_error"), _counted(error)) for error in ERRORS),
        Column("of correct: vacuous", "vacuous"), Column("failed", "n_failed"),
    ]  # fmt: skip
    notes = [
        "A question counts at the first stage that failed; shares are those of the questions that have an answer and a verdict.",
        *notes_on(inputs, [row for row in rows if row["questions"] == "all"]),
    ]
    frame = framed({key: value for key, value in row.items() if key != "by_group"} for row in rows)
    return Exhibit(name, title, frame, columns, notes, partial(_draw, rows), sections="config")


def _counted(name: str) -> Callable[[Any], str]:
    """`14 (0.10)`, a count and its share."""
    count = f"n_{name.removesuffix('_rate')}"
    return lambda row: "–" if row[count] is None or not row["n"] else f"{row[count]} ({row[count] / row['n']:.2f})"


def _draw(rows: Sequence[Row]) -> Figure:
    """A panel for each config, persona questions in two of them; in it a group of bars for each system, a bar for each k."""
    split = {row["config"] for row in rows if row["questions"] != "all"}
    shown = [row for row in rows if (row["questions"] != "all") == (row["config"] in split) and row["n"]]
    places = list(dict.fromkeys((row["config"], row["questions"]) for row in shown)) or [(rows[0]["config"], "all")]
    titles = [TITLES[config] + (f", {kind}" if kind != "all" else "") for config, kind in places]
    of_place = [[row for row in shown if (row["config"], row["questions"]) == place] for place in places]
    figure, grid = panels(titles, width=max(3.4, 0.6 + 0.17 * max(map(len, of_place))), height=2.9)
    for axes, part in zip(grid, of_place, strict=True):
        _bars(axes, part)
    grid[0].set_ylabel("share of questions", fontsize=9)
    legend(figure)
    return figure


def _bars(axes: Axes, rows: Sequence[Row]) -> None:
    x, names = 0.0, []
    at: list[tuple[float, Row]] = []
    for label in values(rows, "label"):
        own = sorted((row for row in rows if row["label"] == label), key=lambda row: row["k"])
        names.append((x + (len(own) - 1) / 2, _short(label)))
        at += [(x + number, row) for number, row in enumerate(own)]
        x += len(own) + 0.8
    bars = [
        row | {"failed": row["n_failed"], "n": row["n"] + row["n_failed"], "vacuous": row["vacuous"] or 0}
        for _, row in at
    ]
    stacked(axes, [place for place, _ in at], bars, width=0.85)
    axes.set_xticks([place for place, _ in at], [str(row["k"]) for _, row in at], fontsize=6)
    below = axes.secondary_xaxis(-0.09)
    below.set_xticks([place for place, _ in names], [name for _, name in names], fontsize=6.5)
    below.tick_params(length=0)
    below.spines["bottom"].set_visible(False)


def _short(label: str) -> str:
    """Without the model, which the title names; `Mem0, gpt-4.1-mini (reported)` is `Mem0 (reported)` in two lines."""
    system, _, more = label.partition(" (")
    return system.partition(",")[0] + (f"\n({more}" if more else "")


def tokens_and_cost(inputs: Inputs) -> Exhibit | Missing:
    """Calls, tokens, seconds and cost of each run and stage (paper: Q3)."""
    title = "What the runs took, stage by stage: calls, tokens, seconds and cost"
    runs = [run for run in inputs.runs if run.spent]
    if not runs:
        return Missing("Tokens and cost", title, "a run with its usage.json")
    frame = framed(
        {
            "config": run.config, "label": marked(run.label, run.source), "source": run.source, "system": run.system,
            "system_model": run.system_model or None, "model": run.model or None, "judge": run.judge or None, "stage": stage,
            **asdict(of_stage), "cost_of_run": total(run.spent),
        }
        for run in runs
        for stage, of_stage in run.spent.items()
    )  # fmt: skip
    columns = [
        Column("run", lambda row: f"{row['label']} ({row['config']})", text=True), Column("stage", "stage", text=True),
        Column("calls", "calls"), Column("retries", "retries"), Column("tokens in", "tokens_in"),
        Column("tokens out", "tokens_out"), Column("embedded", "embedding"), Column("seconds", _fixed("seconds", 1)),
    ]  # fmt: skip
    notes = [
        "Storing and retrieving are what the memory system did, answering the reader, judging the judge. A dash stands for what "
        "is unknown. The tokens of papers leave out those inside the memory system and those of the judge.",
    ]
    if inputs.prices is None:
        notes.append("No file of prices was given, so that there is no cost.")
    else:
        columns += [
            Column(f"cost in {inputs.prices.currency}", _fixed("cost", 4)),
            Column("of the run", _fixed("cost_of_run", 4)),
        ]
    return Exhibit("Tokens and cost", title, frame, columns, notes, sections="label")


def _fixed(name: str, digits: int) -> Callable[[Any], str]:
    return lambda row: "–" if row[name] is None else f"{row[name]:,.{digits}f}"
