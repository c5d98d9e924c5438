"""The pictures of MemFail's reports (paper: Figures 1 to 3 and 6 to 9), for the runs of one config.

The first one holds floor, ceiling, system and diagnosis together; without the floor no success rate means anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.memfail.scores.scoring import ERRORS
from epbench.memfail.scores.tables import CEILINGS, FLOOR, Runs, Scores, floor_of_runs
from epbench.reports.page import COLOURS, drawing, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STAGES: Mapping[str, tuple[str, str]] = {
    "success_rate": ("correct", "#54a24b"),
    "storage_error": ("storage error", "#e45756"),
    "summary_error": ("summary error", "#f58518"),
    "retrieval_error": ("retrieval error", "#eeca3b"),
    "reasoning_error": ("reasoning error", "#b279a2"),
}


def figures(runs: Runs) -> list[str]:
    """All pictures that there is something to show in, as HTML; `runs` of one config."""
    drawn = [_diagnosis(runs), _success_by_k(runs), _success_by_tokens(runs), _success_by_group(runs)]
    return [figure for figure in drawn if figure]


def _diagnosis(runs: Runs) -> str:
    """Stacked bars of what became of the questions, with lines for floor and ceilings."""
    lines = {label: scores for label, scores in runs.items() if scores.get("system") in (FLOOR, *CEILINGS)}
    bars = [
        (label, k, scores)
        for label, run in runs.items()
        if (label not in lines or len(lines) == len(runs)) and not run.get("published")
        for k, scores in run["by_k"].items()
        if scores["success_rate"] is not None
    ]
    if not bars:
        return ""
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(max(7.0, 4.0 + 0.9 * len(bars)), 4.2), layout="constrained")
        axes = figure.add_subplot()
        base = [0.0] * len(bars)
        for name, (title, colour) in _STAGES.items():
            heights = [scores[name] for _, _, scores in bars]
            axes.bar(range(len(bars)), heights, 0.75, bottom=base, color=colour, label=title)
            base = [low + height for low, height in zip(base, heights, strict=True)]
        vacuous = [scores["vacuous"] / max(1, scores["n"] - scores["failed"]) for _, _, scores in bars]
        if any(vacuous):
            axes.bar(
                range(len(bars)), vacuous, 0.75, color="none", edgecolor="#222", hatch="///", label="of it vacuous"
            )
        _interval_bars(axes, range(len(bars)), [scores for _, _, scores in bars], "#222")
        floor = floor_of_runs(runs, "", "success_rate")
        if floor is not None:
            axes.axhline(floor, color="#222", linestyle="--", label=f"floor, no memory ({floor:.2f})")
        for (label, scores), style in zip(
            (run for run in lines.items() if run[1].get("system") in CEILINGS), ("-.", ":", (0, (5, 1))), strict=False
        ):
            best = max((at_k["success_rate"] or 0.0 for at_k in scores["by_k"].values()), default=0.0)
            axes.axhline(best, color="#4c78a8", linestyle=style, label=f"ceiling, {label} ({best:.2f})")
        axes.set_xticks(range(len(bars)), [f"{_short(label)}\nk = {k}" for label, k, _ in bars], fontsize=8)
        axes.set(ylim=(0, 1.02), ylabel="share of questions")
        _finish(axes, figure)
        return picture(figure, _DIAGNOSIS)


def _success_by_k(runs: Runs) -> str:
    if max(len(run["by_k"]) for run in runs.values()) < 2:
        return ""
    return _lines(
        {label: {int(k): scores for k, scores in run["by_k"].items()} for label, run in runs.items()},
        runs,
        "k, memories asked for",
        "Success by the number of memories asked for, with 95 % Wilson intervals; published values dotted.",
    )


def _success_by_group(runs: Runs) -> str:
    """By number of preferences or hops, at the largest k of each run."""
    by_group: dict[str, dict[int, Scores]] = {}
    for label, run in runs.items():
        of_run = next(reversed(run["by_k"].values())).get("by_group", {})
        if of_run and all(group.isdigit() for group in of_run):
            by_group[label] = {int(group): scores for group, scores in of_run.items()}
    if not by_group:
        return ""
    config = next(iter(runs.values()))["config"]
    what = "preferences to name" if config == "coexisting_facts" else "hops of the chain"
    return _lines(by_group, runs, what, f"Success by the number of {what}, at the largest k of each run.")


def _lines(curves: Mapping[str, Mapping[int, Scores]], runs: Runs, what: str, caption: str) -> str:
    if all(scores["success_rate"] is None for curve in curves.values() for scores in curve.values()):
        return ""
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        axes = figure.add_subplot()
        places: set[int] = set()
        for i, (label, curve) in enumerate(curves.items()):
            points = [(x, scores) for x, scores in sorted(curve.items()) if scores["success_rate"] is not None]
            if not points:
                continue
            places |= {x for x, _ in points}
            colour, style = COLOURS[i % len(COLOURS)], ":" if runs[label].get("published") else "-"
            means = [scores["success_rate"] for _, scores in points]
            axes.plot([x for x, _ in points], means, style, marker="o", color=colour, label=label)
            _interval_bars(axes, [x for x, _ in points], [scores for _, scores in points], colour)
        axes.set_xticks(sorted(places))
        axes.set(ylim=(0, 1.02), xlabel=what, ylabel="success")
        _finish(axes, figure)
        return picture(figure, caption)


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
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for i, label in enumerate(dict.fromkeys(label for label, _, _ in points)):
            own = [(k, scores) for name, k, scores in points if name == label]
            tokens, success = [s["tokens_per_memory"] for _, s in own], [s["success_rate"] for _, s in own]
            axes.plot(tokens, success, "o", color=COLOURS[i % len(COLOURS)], label=label)
            for (k, _), x, y in zip(own, tokens, success, strict=True):
                axes.annotate(k, (x, y), textcoords="offset points", xytext=(4, 4), fontsize=8)
        axes.set(ylim=(0, 1.02), xlabel="tokens per retrieved memory", ylabel="success")
        axes.set_xlim(0, 1.1 * max(scores["tokens_per_memory"] for _, _, scores in points))
        _finish(axes, figure)
        return picture(
            figure,
            "Success against the mean length of a retrieved memory in tokens, as the run's reader counts them (the "
            "lexical one counts words); the numbers at the points are k.",
        )


def _interval_bars(axes: Axes, places: Sequence[float], scores: Sequence[Scores], colour: str) -> None:
    means = [at["success_rate"] for at in scores]
    bounds = [at["intervals"].get("success_rate", [mean, mean]) for at, mean in zip(scores, means, strict=True)]
    below = [max(0.0, mean - low) for mean, (low, _) in zip(means, bounds, strict=True)]
    above = [max(0.0, high - mean) for mean, (_, high) in zip(means, bounds, strict=True)]
    axes.errorbar(places, means, yerr=[below, above], fmt="none", ecolor=colour, capsize=3)


def _short(label: str) -> str:
    return label if len(label) <= 18 else label[:17] + "…"


def _finish(axes: Axes, figure: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False, fontsize=8)


_DIAGNOSIS = f"""What became of the questions at each k: the label of a question is the first stage that failed
({", ".join(error.removesuffix("_error") for error in ERRORS)}). Whiskers are 95 % Wilson intervals of success.
Questions that failed for technical reasons are left out."""
