"""Figures by the model inside the system: success (paper: Figures 2 and 5), and the errors of each stage (Figures 6 to 9).

They are about the runs of one config, own and reported ones, whose internal model is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from epbench.memfail.figures.panels import line, stacked
from epbench.memfail.scores.scoring import ERRORS
from epbench.reports.figures import figure_html, new_figure
from epbench.reports.tables import Runs, Scores

MODELS = ("gpt-4.1-mini", "haiku-4.5", "gpt-5.4-mini", "gemini-3.1")
"""The paper's internal models in the order of its tables; others follow by name."""
_DEFAULT_K = "5"

Line = dict[str, Scores]
"""Scores by internal model."""


def success_by_model(runs: Runs) -> str:
    """A line for each system over the internal models that it was run with; empty if none was run with two."""
    k = _common_k(runs)
    lines = {name: line for name, line in _lines(runs, k).items() if len(line) > 1}
    if not lines:
        return ""
    models = in_order({model for line in lines.values() for model in line})
    figure, axes = new_figure(9, 3.6)
    for number, (name, of_system) in enumerate(lines.items()):
        shift = 0.06 * (number - (len(lines) - 1) / 2)  # or the intervals would lie on one another
        points = {models.index(model) + shift: scores for model, scores in of_system.items()}
        line(axes, points, number, name, reported=name.endswith(_REPORTED))
    axes.set_xticks(range(len(models)), models)
    axes.set(ylim=(0, 1.02), xlabel="model inside the memory system", ylabel="success")
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure_html(
        figure,
        f"Success by the model inside the memory system at k = {k}, with 95 % Wilson intervals; reported rates are dotted.",
    )


def errors_by_model(runs: Runs) -> str:
    """A panel for each internal model, with a bar for each system; empty without two bars."""
    k = _DEFAULT_K if any(_DEFAULT_K in run["by_k"] for run in runs.values()) else _common_k(runs)
    lines = {
        name: with_errors
        for name, line in _lines(runs, k).items()
        if (with_errors := {m: s for m, s in line.items() if all(s.get(error) is not None for error in ERRORS)})
    }
    models = in_order({model for line in lines.values() for model in line})
    if sum(map(len, lines.values())) < 2:
        return ""
    figure, first = new_figure(2.0 + 2.4 * len(models), 3.8)
    first.remove()
    panels = figure.subplots(1, len(models), sharey=True, squeeze=False)[0]
    for panel, model in zip(panels, models, strict=True):
        shown = {name: line[model] for name, line in lines.items() if model in line}
        stacked(panel, range(len(shown)), list(shown.values()), width=0.7, labelled=panel is panels[0])
        panel.set_xticks(range(len(shown)), list(shown), rotation=45, ha="right", fontsize=8)
        panel.set_title(model, fontsize=9)
        panel.set_ylim(0, 1.02)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of questions")
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)
    return figure_html(figure, f"What became of the questions, by system and the model inside it, at k = {k}.")


_REPORTED = ", reported"


def _lines(runs: Runs, k: str) -> dict[str, Line]:
    """By system, the scores at this k by internal model. Two runs of one system and model are told apart by their labels."""
    lines: dict[str, Line] = {}
    for label, run in runs.items():
        model, scores = run.get("system_model"), run["by_k"].get(k)
        if not model or not scores or scores.get("success_rate") is None:
            continue
        name = str(run.get("system")) + (_REPORTED if run.get("reported") else "")
        if model in lines.get(name, {}):
            name = label
        lines.setdefault(name, {})[str(model)] = scores
    return lines


def _common_k(runs: Runs) -> str:
    """The largest k that most of the runs with an internal model have."""
    ks = [k for run in runs.values() if run.get("system_model") for k in run["by_k"]]
    return max(ks, key=lambda k: (ks.count(k), int(k)), default="")


def in_order(models: set[str]) -> Sequence[str]:
    """Internal models in the order of the paper's tables; others follow by name."""
    return sorted(models, key=lambda model: (MODELS.index(model) if model in MODELS else len(MODELS), model))
