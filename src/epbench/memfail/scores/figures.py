"""The figures of MemFail's reports (paper: Figures 1 to 9), for the runs of one config.

The first figure holds floor, ceiling, system and diagnosis together; without the floor no success rate means anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from epbench.memfail.scores.panels import line, stacked, success_intervals
from epbench.memfail.scores.scoring import ERRORS
from epbench.memfail.scores.tables import CEILINGS, FLOOR, floor_of_runs
from epbench.reports.figures import COLOURS, INK, colour_of, drawing, figure_html, new_figure
from epbench.reports.tables import Runs, Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Bar = tuple[str, str, Scores]
"""Label, k, and the scores at this k."""

_DIAGNOSIS = f"""What became of the questions at each k: the label of a question is the first stage that failed
({", ".join(error.removesuffix("_error") for error in ERRORS)}). Whiskers are 95 % Wilson intervals of success.
Questions that failed for technical reasons are left out."""


def figures(runs: Runs) -> list[str]:
    """All figures that have something to show, as HTML; the runs are those of one config."""
    with drawing():
        drawn = [
            _diagnosis(runs), success_by_model(runs), errors_by_model(runs), _success_by_k(runs), _success_by_tokens(runs),
            _success_by_group(runs),
        ]  # fmt: skip
    return [figure for figure in drawn if figure]


def _diagnosis(runs: Runs) -> str:
    """Stacked bars of what became of the questions, with lines for floor and ceilings."""
    lines = {label: scores for label, scores in runs.items() if scores.get("system") in (FLOOR, *CEILINGS)}
    bars = [
        (label, k, scores)
        for label, run in runs.items()
        if (label not in lines or len(lines) == len(runs)) and not run.get("reported")
        for k, scores in run["by_k"].items()
        if scores["success_rate"] is not None
    ]
    if not bars:
        return ""
    figure, axes = new_figure(max(7.0, 4.0 + 0.9 * len(bars)), 4.2)
    stacked(axes, range(len(bars)), [scores for _, _, scores in bars])
    success_intervals(axes, range(len(bars)), [scores for _, _, scores in bars])
    _floor_and_ceilings(axes, runs, lines)
    axes.set_xticks(range(len(bars)), [f"{_short(label)}\nk = {k}" for label, k, _ in bars], fontsize=8)
    axes.set(ylim=(0, 1.02), ylabel="share of questions")
    return _with_legend(figure, _DIAGNOSIS)


def _floor_and_ceilings(axes: Axes, runs: Runs, lines: Runs) -> None:
    floor = floor_of_runs(runs, "", "success_rate")
    if floor is not None:
        axes.axhline(floor, color=INK, linestyle="--", label=f"floor, no memory ({floor:.2f})")
    ceilings = [(label, scores) for label, scores in lines.items() if scores.get("system") in CEILINGS]
    for (label, scores), style in zip(ceilings, ("-.", ":", (0, (5, 1))), strict=False):
        best = max((at_k["success_rate"] or 0.0 for at_k in scores["by_k"].values()), default=0.0)
        axes.axhline(best, color=COLOURS[0], linestyle=style, label=f"ceiling, {label} ({best:.2f})")


def _success_by_k(runs: Runs) -> str:
    if max(len(run["by_k"]) for run in runs.values()) < 2:
        return ""
    return _curves(
        {label: {int(k): scores for k, scores in run["by_k"].items()} for label, run in runs.items()},
        runs,
        "k, memories asked for",
        "Success by the number of memories asked for, with 95 % Wilson intervals; reported rates are dotted.",
    )


def _success_by_group(runs: Runs) -> str:
    """By the number of preferences or hops, at the largest k of each run."""
    by_group: dict[str, dict[int, Scores]] = {}
    for label, run in runs.items():
        of_run = next(reversed(run["by_k"].values())).get("by_group", {})
        if of_run and all(group.isdigit() for group in of_run):
            by_group[label] = {int(group): scores for group, scores in of_run.items()}
    if not by_group:
        return ""
    config = next(iter(runs.values()))["config"]
    what = "preferences to name" if config == "coexisting_facts" else "hops of the chain"
    return _curves(by_group, runs, what, f"Success by the number of {what}, at the largest k of each run.")


def _curves(curves: Mapping[str, Mapping[int, Scores]], runs: Runs, what: str, caption: str) -> str:
    if all(scores["success_rate"] is None for curve in curves.values() for scores in curve.values()):
        return ""
    figure, axes = new_figure(9, 3.6)
    ticks: set[int] = set()
    for number, (label, curve) in enumerate(curves.items()):
        ticks |= {x for x, scores in curve.items() if scores["success_rate"] is not None}
        line(
            axes,
            {float(x): scores for x, scores in curve.items()},
            number,
            label,
            reported=bool(runs[label].get("reported")),
        )
    axes.set_xticks(sorted(ticks))
    axes.set(ylim=(0, 1.02), xlabel=what, ylabel="success")
    return _with_legend(figure, caption)


def _success_by_tokens(runs: Runs) -> str:
    """What success costs (paper: Figure 3)."""
    points = [
        (label, k, scores)
        for label, run in runs.items()
        for k, scores in run["by_k"].items()
        if scores.get("tokens_per_memory") is not None and scores["success_rate"] is not None
    ]
    if len({label for label, _, _ in points}) < 2:
        return ""
    figure, axes = new_figure(9, 3.6)
    for number, label in enumerate(dict.fromkeys(label for label, _, _ in points)):
        own = [(k, scores) for name, k, scores in points if name == label]
        tokens, success = [s["tokens_per_memory"] for _, s in own], [s["success_rate"] for _, s in own]
        axes.plot(tokens, success, "o", color=colour_of(number), label=label)
        for (k, _), x, y in zip(own, tokens, success, strict=True):
            axes.annotate(k, (x, y), textcoords="offset points", xytext=(4, 4), fontsize=8)
    axes.set(ylim=(0, 1.02), xlabel="tokens per retrieved memory", ylabel="success")
    axes.set_xlim(0, 1.1 * max(scores["tokens_per_memory"] for _, _, scores in points))
    return _with_legend(
        figure,
        "Success against the mean length of a retrieved memory in tokens, as the run's reader counts them (the lexical "
        "one counts words); the numbers at the points are k.",
    )


def _short(label: str) -> str:
    return label if len(label) <= 18 else label[:17] + "…"


def _fitting(label: str, most: int = 48) -> str:
    """A label that leaves room for the figure beside it: of a long one, such as a path, the beginning and the end."""
    return label if len(label) <= most else f"{label[: most // 2]}…{label[-most // 2 + 1 :]}"


def _with_legend(figure: Figure, caption: str) -> str:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, [_fitting(label) for label in labels], loc="outside right upper", frameon=False, fontsize=8)
    return figure_html(figure, caption)


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
