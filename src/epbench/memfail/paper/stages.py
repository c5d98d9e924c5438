"""Where questions fail, stage by stage and with reasoning errors: Figures 6 to 9, one for each model inside the systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing, Value
from epbench.memfail.paper.cells import TITLES, Cell, cells_of, ks_in, labels_in
from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.notes import notes_on
from epbench.memfail.scores.breakdown import count_of
from epbench.memfail.scores.figures import in_order
from epbench.memfail.scores.panels import one_legend, panels_for, stacked
from epbench.memfail.scores.scoring import ERRORS
from epbench.reports.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIGURES = {"gemini-3.1": "Figure 6", "haiku-4.5": "Figure 7", "gpt-4.1-mini": "Figure 8", "gpt-5.4-mini": "Figure 9"}
"""The paper's figure of each of its internal models."""
_NO_MODEL = "no model inside"
_KINDS = ("direct", "misleading")
_COUNTED = ("success_rate", *ERRORS)

Part = tuple[str, Cell]
"""A kind of question (empty for all), and the scores on these."""


def figures_6_to_9(inputs: Inputs) -> list[Exhibit | Missing]:
    """A figure for each of the paper's models, and one for each other model, or none, inside one's own systems."""
    cells = [cell for cell in cells_of(inputs) if all(cell.scores.get(error) is not None for error in ERRORS)]
    others = {cell.system_model for cell in cells} - FIGURES.keys()
    more = [model for model in (*in_order(others - {""}), "") if model in others]
    names = FIGURES | {model: f"Figure 9, {model or _NO_MODEL}" for model in more}
    return [
        _figure(name, model, inputs, [c for c in cells if c.system_model == model]) for model, name in names.items()
    ]


def _figure(name: str, model: str, inputs: Inputs, cells: Sequence[Cell]) -> Exhibit | Missing:
    inside = f"{model} inside the systems" if model else _NO_MODEL
    title = f"What became of the questions, stage by stage, with {inside}"
    if not cells:
        return Missing(name, title, f"a run with {inside}, or a file of reported errors by stage")
    parts = [part for cell in cells for part in _parts(cell)]
    stages = [error.removesuffix("_error") for error in ERRORS]
    head = ["config", "system", "questions", "k", "n", "correct", *stages, "of correct: vacuous", "failed"]
    rows = [_row(kind, cell) for kind, cell in parts]
    ends = [i for i in range(len(rows) - 1) if rows[i][0] != rows[i + 1][0]]
    notes = [
        "A question counts at the first stage that failed; shares are those of the questions that have an answer and a verdict.",
        *notes_on(inputs, cells),
    ]
    table = Table(head, rows, notes=notes, text_columns=3, sections=ends)
    return Exhibit(name, title, [_record(kind, cell) for kind, cell in parts], table, partial(_draw, parts))


def _parts(cell: Cell) -> list[Part]:
    """A cell, and of persona questions the two kinds by themselves."""
    kinds = [(kind, replace(cell, scores=cell.scores[kind])) for kind in _KINDS if cell.scores.get(kind)]
    return [("", cell), *kinds]


def _row(kind: str, cell: Cell) -> list[str]:
    counts = [count_of(cell.scores, name) for name in _COUNTED]
    shown = [f"{count} ({count / cell.judged:.2f})" if count is not None and cell.judged else "–" for count in counts]
    vacuous = cell.scores.get("vacuous")
    about = [cell.config, cell.label, kind or "all", str(cell.k), str(cell.judged)]
    return [*about, *shown, "–" if vacuous is None else str(vacuous), str(cell.failed)]


def _record(kind: str, cell: Cell) -> dict[str, Value]:
    counts = {f"n_{name.removesuffix('_rate')}": count_of(cell.scores, name) for name in _COUNTED}
    shares = {name: cell.scores.get(name) for name in _COUNTED}
    more = {"n": cell.judged, "n_failed": cell.failed, "n_vacuous": cell.scores.get("vacuous")}
    return {**cell.about(), "questions": kind or "all", **more, **counts, **shares}


def _draw(parts: Sequence[Part]) -> Figure:
    """A panel for each config, persona questions in two of them; in it a group of bars for each system, a bar for each k."""
    split = {cell.config for kind, cell in parts if kind}
    shown = [(kind, cell) for kind, cell in parts if kind or cell.config not in split]
    places = list(dict.fromkeys((cell.config, kind) for kind, cell in shown))
    titles = [TITLES[config] + (f", {kind}" if kind else "") for config, kind in places]
    most = max(len({(c.label, c.k) for kind, c in shown if (c.config, kind) == place}) for place in places)
    figure, panels = panels_for(titles, width=max(3.4, 0.6 + 0.17 * most), height=2.9)
    for axes, place in zip(panels, places, strict=True):
        _bars(axes, [cell for kind, cell in shown if (cell.config, kind) == place])
    panels[0].set_ylabel("share of questions", fontsize=9)
    one_legend(figure)
    return figure


def _bars(axes: Axes, cells: Sequence[Cell]) -> None:
    x, places, names = 0.0, [], []
    drawn = [cell for cell in cells if cell.success is not None]
    for label in labels_in(drawn):
        ks = ks_in(cell for cell in drawn if cell.label == label)
        names.append((x + (len(ks) - 1) / 2, label))
        places += [(x + number, k, label) for number, k in enumerate(ks)]
        x += len(ks) + 0.8
    of = {(cell.k, cell.label): cell.scores for cell in drawn}
    stacked(axes, [place for place, _, _ in places], [of[k, label] for _, k, label in places], width=0.85)
    axes.set_xticks([place for place, _, _ in places], [str(k) for _, k, _ in places], fontsize=6)
    below = axes.secondary_xaxis(-0.09)
    below.set_xticks([place for place, _ in names], [_short(label) for _, label in names], fontsize=6.5)
    below.tick_params(length=0)
    below.spines["bottom"].set_visible(False)


def _short(label: str) -> str:
    """Without the model, which the title names; `Mem0, gpt-4.1-mini (reported)` is `Mem0 (reported)` in two lines."""
    system, _, more = label.partition(" (")
    return system.partition(",")[0] + (f"\n({more}" if more else "")
