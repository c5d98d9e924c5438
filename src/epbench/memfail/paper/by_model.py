"""Success by the model inside the system: Figure 2 for two systems, and Figure 5 for all of them (paper: Q2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing, marked
from epbench.memfail.paper.cells import TITLES, Cell, cells_of, configs_in
from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.notes import notes_on
from epbench.memfail.scores.figures import in_order
from epbench.memfail.scores.panels import one_legend, panels_for
from epbench.reports.figures import INK, colour_of, error_bars
from epbench.reports.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_IN_THE_TEXT = ("StructMem", "SimpleMem")
_USUAL_K = 5
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "---", "+++", "ooo")
_TITLE = "Success by the model inside the memory system"
_NEEDS = "runs of one system and config with two models inside, or a file of reported rates"

Bars = Mapping[tuple[str, str, int, str], Cell]
"""Cells by config, name of the system, k and the model inside."""


def figure_2(inputs: Inputs) -> Exhibit | Missing:
    """The paper's two systems, and one's own that were run with several models."""
    cells = [cell for cell in cells_of(inputs) if cell.source == "own" or cell.system in _IN_THE_TEXT]
    return _exhibit("Figure 2", f"{_TITLE}, {' and '.join(_IN_THE_TEXT)} and one's own runs", inputs, cells)


def figure_5(inputs: Inputs) -> Exhibit | Missing:
    """All systems, on each config."""
    return _exhibit("Figure 5", f"{_TITLE}, every system and config", inputs, cells_of(inputs))


def _exhibit(name: str, title: str, inputs: Inputs, cells: Sequence[Cell]) -> Exhibit | Missing:
    bars = _bars(cells)
    if not bars:
        return Missing(name, title, _NEEDS)
    k = _drawn_k(bars)
    models = in_order({model for *_, model in bars})
    places = dict.fromkeys(place[:3] for place in bars)
    rows = [
        [*map(str, place), *(bars[*place, model].text() if (*place, model) in bars else "" for model in models)]
        for place in places
    ]
    ends = [i for i in range(len(rows) - 1) if rows[i][0] != rows[i + 1][0]]
    notes = [f"The figure shows k = {k}.", *notes_on(inputs, list(bars.values()))]
    table = Table(["config", "system", "k", *models], rows, notes=notes, text_columns=2, sections=ends)
    return Exhibit(name, title, [cell.record() for cell in bars.values()], table, lambda: _draw(bars, k))


def _bars(cells: Sequence[Cell]) -> Bars:
    """The cells of systems that were run with at least two models; two runs of one system and model keep their labels."""
    found: dict[tuple[str, str, int, str], Cell] = {}
    for cell in cells:
        if cell.system_model:
            place = (cell.config, marked(cell.system, cell.source), cell.k, cell.system_model)
            found[(place[0], cell.label, *place[2:]) if place in found else place] = cell
    models: dict[tuple[str, str], set[str]] = {}
    for config, system, _, model in found:
        models.setdefault((config, system), set()).add(model)
    return {place: cell for place, cell in found.items() if len(models[place[:2]]) > 1}


def _drawn_k(bars: Bars) -> int:
    ks = [k for _, _, k, _ in bars]
    return _USUAL_K if _USUAL_K in ks else max(ks, key=lambda k: (ks.count(k), k))


def _draw(bars: Bars, k: int) -> Figure:
    shown = {place: cell for place, cell in bars.items() if place[2] == k and cell.success is not None}
    configs, models = configs_in(shown.values()), in_order({place[3] for place in shown})
    figure, panels = panels_for([TITLES[config] for config in configs], width=3.4, height=2.9)
    for axes, config in zip(panels, configs, strict=True):
        systems = list(dict.fromkeys(place[1] for place in shown if place[0] == config))
        for number, model in enumerate(models):
            own = {systems.index(p[1]): cell for p, cell in shown.items() if (p[0], p[3]) == (config, model)}
            places = [x + (number - (len(models) - 1) / 2) * 0.8 / len(models) for x in own]
            rates = [cell.success or 0.0 for cell in own.values()]
            axes.bar(
                places, rates, 0.8 / len(models), color=colour_of(number), hatch=_HATCHES[number % len(_HATCHES)],
                edgecolor=INK, linewidth=0.4, label=model,
            )  # fmt: skip
            error_bars(axes, places, rates, [cell.drawn_interval for cell in own.values()])
        short = [name.replace(" (reported)", "\n(reported)") for name in systems]
        axes.set_xticks(range(len(systems)), short, fontsize=7)
    panels[0].set_ylabel(f"success at k = {k}", fontsize=9)
    one_legend(figure)
    return figure
