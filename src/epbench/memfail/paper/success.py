"""Success by k: Figure 1 with one model inside the systems, and Figure 4 with each of them (paper: Q1, Appendix C)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epbench.exhibits.exhibit import Exhibit, Missing, marked
from epbench.memfail.paper.cells import TITLES, Cell, by_k_rows, cells_of, configs_in, ks_in, labels_in, share_text
from epbench.memfail.paper.inputs import Inputs, PaperRun
from epbench.memfail.paper.notes import notes_on
from epbench.memfail.scores.figures import in_order
from epbench.memfail.scores.panels import dress, line, one_legend, panels_for
from epbench.reports.figures import new_figure
from epbench.reports.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIRST_MODEL = "gpt-4.1-mini"
NO_MODEL = "no model inside"
_NEEDS = "a run of at least one config, or a file of reported rates"
_FIRST = f"Success by the number of memories asked for (k), one's own runs and reported ones with {FIRST_MODEL} inside"
_ALL = "Success by the number of memories asked for (k), for every config, system and model inside the system"


def figure_1(inputs: Inputs) -> Exhibit | Missing:
    """Success by k, a panel for each config."""
    cells = [cell for cell in cells_of(inputs) if cell.source == "own" or cell.system_model == FIRST_MODEL]
    if not cells:
        return Missing("Figure 1", _FIRST, _NEEDS)
    return Exhibit(
        "Figure 1", _FIRST, [cell.record() for cell in cells], _table(inputs, cells), lambda: _one_row(cells)
    )


def figure_4(inputs: Inputs) -> Exhibit | Missing:
    """The same with a row of panels for each model inside the systems."""
    cells = cells_of(inputs)
    if not cells:
        return Missing("Figure 4", _ALL, _NEEDS)
    return Exhibit("Figure 4", _ALL, [cell.record() for cell in cells], _table(inputs, cells), lambda: _grid(cells))


def beside_success(inputs: Inputs) -> Exhibit | Missing:
    """What success alone does not say: passes that were earned, right answers, and vacuous passes; own runs only."""
    name, title = "Figure 1, beside success", "Success beside earned passes, right answers and vacuous passes"
    cells = [cell for cell in cells_of(inputs) if cell.source != "reported"]
    if not cells:
        return Missing(name, title, "a run of at least one config; the paper reports none of these")
    answers = {(run.config, marked(run.label, run.source), k): part for run in inputs.runs for k, part in _answers(run)}
    rows, records = [], []
    for cell in cells:
        right, wrong, unknown = answers[cell.config, cell.label, cell.k]
        vacuous, wrong_too = int(cell.scores["vacuous"]), int(cell.scores["vacuous_wrong"])
        earned, of = cell.right - vacuous, cell.judged - vacuous
        texts = (cell.text(), share_text(earned, of, cell.failed), share_text(right, right + wrong, unknown))
        rows.append([cell.config, cell.label, str(cell.k), *texts, str(vacuous), str(wrong_too), str(cell.failed)])
        counts = {"n_earned": earned, "n_not_vacuous": of, "n_answers_right": right, "n_answers_wrong": wrong}
        records.append({**cell.record(), **counts, "n_answers_unknown": unknown})
    head = ["config", "system", "k", "success", "earned", "answers right", "vacuous", "vacuous, wrong", "failed"]
    ends = [i for i in range(len(rows) - 1) if rows[i][0] != rows[i + 1][0]]
    notes = [
        "Earned leaves out all questions that were passed vacuously. Answers are judged whatever the stages say.",
        *notes_on(inputs, cells),
    ]
    return Exhibit(name, title, records, Table(head, rows, notes=notes, text_columns=2, sections=ends))


def _answers(run: PaperRun) -> list[tuple[int, tuple[int, int, int]]]:
    """At each k, how many answers are right, wrong and not known to be either."""
    found: dict[int, list[object]] = {}
    for k, right in zip(run.questions["k"], run.questions["answer_right"], strict=True):
        found.setdefault(int(k), []).append(right)
    return [
        (k, (own.count(True), own.count(False), len(own) - own.count(True) - own.count(False)))
        for k, own in found.items()
    ]


def _table(inputs: Inputs, cells: Sequence[Cell]) -> Table:
    head, rows = by_k_rows(cells)
    ends = [i for i in range(len(rows) - 1) if rows[i][0] != rows[i + 1][0]]
    return Table(head, rows, notes=notes_on(inputs, cells), text_columns=2, sections=ends)


def _one_row(cells: Sequence[Cell]) -> Figure:
    configs = configs_in(cells)
    figure, panels = panels_for([TITLES[config] for config in configs])
    for axes, config in zip(panels, configs, strict=True):
        draw_panel(axes, [cell for cell in cells if cell.config == config], labels_in(cells))
    one_legend(figure)
    figure.supxlabel("k, memories asked for", fontsize=9)
    return figure


def _grid(cells: Sequence[Cell]) -> Figure:
    configs = configs_in(cells)
    models = [*in_order({cell.system_model for cell in cells if cell.system_model})]
    models += [""] if any(not cell.system_model for cell in cells) else []
    figure, first = new_figure(2.6 + 2.3 * len(configs), 0.5 + 1.9 * len(models))
    first.remove()
    panels = figure.subplots(len(models), len(configs), sharey=True, squeeze=False)
    names = {cell.label: cell.label.replace(f", {cell.system_model}", "") for cell in cells}
    order = list(dict.fromkeys(names[cell.label] for cell in cells))
    for number, (row, model) in enumerate(zip(panels, models, strict=True)):
        for axes, config in zip(row, configs, strict=True):
            draw_panel(axes, [c for c in cells if (c.config, c.system_model) == (config, model)], order, names)
            dress(axes, "" if number else TITLES[config])
        row[0].set_ylabel(f"{model or NO_MODEL}\nsuccess", fontsize=8)
    one_legend(figure)
    figure.supxlabel("k, memories asked for", fontsize=9)
    return figure


def draw_panel(axes: Axes, cells: Sequence[Cell], order: Sequence[str], names: dict[str, str] | None = None) -> None:
    """The lines of some cells over k; a system has the same colour in every panel.

    Args:
        axes: Where to draw.
        cells: The cells of one config.
        order: All names of lines in the figure; the place of a name tells its colour and marker.
        names: The name of a line by the label of its cells; by default the label.
    """
    ks = ks_in(cells)
    for label in labels_in(cells):
        own = [cell for cell in cells if cell.label == label]
        name = names[label] if names else label
        points = {
            float(ks.index(cell.k)): {**cell.scores, "intervals": {"success_rate": cell.drawn_interval}} for cell in own
        }
        line(axes, points, order.index(name), name, reported=own[0].source == "reported")
    axes.set_xticks(range(len(ks)), [str(k) for k in ks], fontsize=8)
