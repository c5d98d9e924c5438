"""Success against tokens (Figure 3), and what the runs took in tokens, seconds and money (paper: Q3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing, Value, marked
from epbench.memfail.paper.cells import TITLES, Cell, cells_of, configs_in
from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.notes import notes_on
from epbench.memfail.scores.cost import cost_tables, total
from epbench.memfail.scores.panels import MARKERS, one_legend, panels_for
from epbench.reports.figures import colour_of, error_bars
from epbench.reports.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MEMORY = ("tokens_per_memory", "tokens per retrieved memory")
_QUESTION = ("tokens_per_question", "tokens of prompt and reply per question")
_COUNTED_BY = (
    "Tokens of a memory are the mean over what was retrieved, as the run's reader counts them; the lexical reader counts "
    "words. They can be compared between runs with one reader only."
)
_PER_QUESTION = (
    "Tokens of a question are those of the reader's prompt and reply, without those inside the memory system and those of "
    "the judge; a reader that reports no usage, such as the lexical one, has none."
)
_SPENT = "What the runs took, stage by stage: calls, tokens, seconds and cost"
_MOST_NUMBERED = 16


def figure_3(inputs: Inputs) -> list[Exhibit | Missing]:
    """Success against the length of a memory, and against the tokens of a question, which papers report."""
    cells = cells_of(inputs)
    return [
        _exhibit(inputs, "Figure 3", "Success against the mean length of a retrieved memory", _MEMORY, _COUNTED_BY, cells),
        _exhibit(
            inputs, "Figure 3, tokens per question", "Success against the tokens of a question", _QUESTION, _PER_QUESTION, cells
        ),
    ]  # fmt: skip


def _exhibit(
    inputs: Inputs, name: str, title: str, x: tuple[str, str], note: str, cells: Sequence[Cell]
) -> Exhibit | Missing:
    known = [cell for cell in cells if cell.scores.get(x[0]) is not None and cell.success is not None]
    if not known:
        needs = (
            "a run that retrieved memories"
            if x is _MEMORY
            else "a run whose reader reports its tokens, or reported rates"
        )
        return Missing(name, title, needs)
    rows = [
        [cell.config, cell.label, str(cell.k), f"{cell.scores[x[0]]:,.1f}", cell.text()] for cell in known
    ]  # fmt: skip
    ends = [i for i in range(len(rows) - 1) if rows[i][0] != rows[i + 1][0]]
    notes = [note, *notes_on(inputs, known)]
    table = Table(["config", "system", "k", x[1], "success"], rows, notes=notes, text_columns=2, sections=ends)
    return Exhibit(name, title, [cell.record() for cell in known], table, partial(_draw, known, x))


def _draw(cells: Sequence[Cell], x: tuple[str, str]) -> Figure:
    """A panel for each config; a system has one colour and marker, whatever the model inside it."""
    field, title = x
    configs = configs_in(cells)
    figure, panels = panels_for([TITLES[config] for config in configs])
    names = list(dict.fromkeys(marked(cell.system, cell.source) for cell in cells))
    for axes, config in zip(panels, configs, strict=True):
        of_config = [cell for cell in cells if cell.config == config]
        for number, name in enumerate(names):
            own = [cell for cell in of_config if marked(cell.system, cell.source) == name]
            places, rates = [cell.scores[field] for cell in own], [cell.success or 0.0 for cell in own]
            colour, marker = colour_of(number), MARKERS[number % len(MARKERS)]
            fill = "white" if own and own[0].source == "reported" else colour
            axes.plot(
                places, rates, linestyle="", marker=marker, color=colour, markerfacecolor=fill, markersize=5, label=name
            )
            if len(of_config) <= _MOST_NUMBERED:
                error_bars(axes, places, rates, [cell.drawn_interval for cell in own], colour)
                for place, ks in _numbers_at(own, field).items():
                    axes.annotate(ks, place, textcoords="offset points", xytext=(4, 4), fontsize=7)
        axes.set_xlim(0, 1.12 * max(cell.scores[field] for cell in of_config))
    panels[0].set_ylabel("success", fontsize=9)
    numbered = any(len([c for c in cells if c.config == config]) <= _MOST_NUMBERED for config in configs)
    figure.supxlabel(f"{title}{', the numbers at the points are k' if numbered else ''}", fontsize=9)
    one_legend(figure)
    return figure


def _numbers_at(cells: Sequence[Cell], field: str) -> dict[tuple[float, float], str]:
    """The numbers of memories at each point; where several fall on one point, they are listed."""
    found: dict[tuple[float, float], list[int]] = {}
    for cell in cells:
        found.setdefault((round(cell.scores[field], 1), round(cell.success or 0.0, 2)), []).append(cell.k)
    return {place: ", ".join(map(str, sorted(ks))) for place, ks in found.items()}


def tokens_and_cost(inputs: Inputs) -> Exhibit | Missing:
    """Calls, tokens, seconds and cost of each run and stage."""
    runs = [run for run in inputs.runs if run.spent]
    if not runs:
        return Missing("Tokens and cost", _SPENT, "a run with its usage.json")
    named = {f"{marked(run.label, run.source)} ({run.config})": run.spent for run in runs}
    usage, *priced = cost_tables(named, inputs.prices)
    notes = [
        "Storing and retrieving are what the memory system did, answering the reader, judging the judge. A dash stands for what "
        "is unknown. The tokens of papers leave out those inside the memory system and those of the judge.",
    ]
    if priced:
        costs = {row[0]: row[-1] for row in priced[0].rows}
        assert inputs.prices is not None
        notes.append(
            f"Cost of all stages in {inputs.prices.currency}: {'; '.join(f'{name} {cost}' for name, cost in costs.items())}."
        )
    else:
        notes.append("No file of prices was given, so that there is no cost.")
    table = Table(["run", *usage.head[1:]], usage.rows, notes=notes, text_columns=2)
    records: list[dict[str, Value]] = [
        {
            "config": run.config, "label": marked(run.label, run.source), "source": run.source, "system": run.system,
            "system_model": run.system_model or None, "model": run.model or None, "judge": run.judge or None, "stage": stage,
            **asdict(of_stage), "cost_of_run": total(run.spent),
        }
        for run in runs
        for stage, of_stage in run.spent.items()
    ]  # fmt: skip
    return Exhibit("Tokens and cost", _SPENT, records, table)
