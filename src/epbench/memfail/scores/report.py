"""Reports of MemFail: one HTML file that needs nothing else, of one run or of several, with figures (paper: Figures 1 to 9).

The first figure holds floor, ceiling, system and diagnosis together; without the floor no success rate means anything. Stages
differ by hatch as well as by colour, so that a figure can be read in black and white.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from epbench.files.text import html_text
from epbench.memfail.judging.diagnosis import ERRORS
from epbench.memfail.scores.tables import CEILINGS, FLOOR, by_config, floor_of_runs, tables
from epbench.memories.recall import PRICE_AXES, price_html, price_points
from epbench.models.protocol import name_of
from epbench.reports.figures import COLOURS, INK, drawing, error_bars, figure_html
from epbench.reports.page import Headline, failures, headline, opening, page, pairs, settings, warning_paragraphs
from epbench.reports.plots import FRONTIER, ends, frontier, grouped, legend, lines, panels
from epbench.reports.tables import Runs, Scores, Table, warnings_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def html_report(title: str, run: Mapping[str, Any], scores: Scores, usage: Mapping[str, Any], more: str = "") -> str:
    """The page of one run, from the contents of run.json and scores.json (see `with_baseline`) and the usage of each stage."""
    identity, config = run["identity"], scores["config"].replace("_", " ")
    reader = name_of(str(identity.get("model", ""))) or "no reader"
    sentence = f"The memory system {scores['system']} was told the facts of {config}; {reader} answered"
    sentence += f" {scores['n_questions']:,} questions with the memories that it retrieved."
    labels = list(dict.fromkeys(label for at_k in scores["by_k"].values() for label in at_k["facts"]))
    facts = [[k, *(str(at_k["facts"].get(label, 0)) for label in labels)] for k, at_k in scores["by_k"].items()]
    spent = price_html(title, usage) + _usage({stage: values for stage, values in usage.items() if stage != "price"})
    return page(
        f"MemFail, {config}: {title}",
        f"""{warning_paragraphs(warnings_of({title: scores}))}
{opening(sentence, headlines(scores), scores["n_questions"], _reasons(usage))}
{section_of({title: scores})}
<details><summary>Needed memories</summary>
<p>Each needed memory by itself; a question takes the earliest failing stage of all the memories that it needs.</p>
{Table(["k", *(label.replace("_", " ") for label in labels)], facts).html()}
{_trust(scores)}
</details>
{more}
{settings(run, spent)}""",
    )


def headlines(scores: Scores) -> list[Headline | None]:
    """The scores at the top of a page."""
    several, least = len(scores["by_k"]) > 1, scores.get("floor", {}).get("success_rate")
    floor = None if least is None else (float(least), "floor, an empty memory")
    about = "Share of questions that pass every stage: stored, summarised, retrieved, and answered"
    return [
        headline(at, "success_rate", f"success at k = {k}" if several else "success", about, floor)
        for k, at in scores["by_k"].items()
    ]


def _reasons(usage: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """How many requests failed, by reason, over all stages."""
    failed = [stage.get("failed") for stage in usage.values()]
    return dict(sum((Counter(reasons) for reasons in failed if isinstance(reasons, Mapping)), Counter[str]()))


def comparison_report(
    runs: Runs, notes: Sequence[str] = (), sections: Mapping[str, Sequence[Table]] | None = None, more: str = ""
) -> str:
    """The page of several runs, by label, with reported rates, what is known of the judges, and further tables by heading."""
    listed = "".join(f"<li>{html_text(note)}</li>" for note in notes)
    parts = [
        warning_paragraphs(warnings_of(runs)),
        *(f"<h2>{html_text(config)}</h2>\n{section_of(of_config)}" for config, of_config in by_config(runs).items()),
        *([f"<h2>Judges</h2>\n<ul>{listed}</ul>"] if notes else []),
    ]
    for heading, shown in (sections or {}).items():
        parts += [f"<h2>{html_text(heading)}</h2>", *(table.html() for table in shown)]
    n_own = sum(not scores.get("reported") for scores in runs.values())
    return page(f"MemFail: {n_own} runs", "\n".join(parts) + more)


def section_of(runs: Runs) -> str:
    """Figures and tables of the runs of one config, as HTML."""
    revised = any("rows_right" in at_k for run in runs.values() for at_k in run["by_k"].values())
    parts = [f'<div class="figures">{"".join(figures(runs))}</div>', *(table.html() for table in tables(runs))]
    return "\n".join([*parts, _HOW_TO_READ, *([_REVISION] if revised else [])])


_HOW_TO_READ = """<p>Success means that every stage passed, which is stricter than a right answer. The floor needs no memory; a
baseline shows what is possible. A pass is vacuous if a question about somebody unknown is passed because what could mislead
was not stored or not retrieved; “earned” leaves all these questions aside. “Vacuous, wrong” counts those of them whose
answer is wrong all the same.</p>"""
_REVISION = """<p>Stale: the answer gives what was corrected as if it still held. Resurrected: it gives away what was withdrawn.
Lost with it: the needed fact is gone from the store, though nobody withdrew it. How many untouched facts have a storage error
says how many are lost anyway. Rows right: rows whose questions all succeed. A pass on a withdrawn fact is vacuous if the question
about its neighbour got no right answer.</p>"""


def _trust(scores: Scores) -> str:
    """What the judge can and cannot see on these rows."""
    told = {"unnoticed": "would not miss, if they were absent", "not_judgeable": "had nothing to decide by"}
    counts = {words: scores[name] for name, words in told.items() if scores.get(name)}
    return "\n".join(f"<p>Needed facts that the judge {how}: {n['n']} of {n['of']}.</p>" for how, n in counts.items())


def _usage(usage: Mapping[str, Mapping[str, Any]]) -> str:
    parts = []
    for stage in filter(usage.get, usage):  # without the stages of which nothing is known
        values = usage[stage]
        reasons = {name: of for name, of in values.items() if name == "failed" and isinstance(of, Mapping)}
        shown = {name: value for name, value in values.items() if name not in reasons}
        parts.append(f"<h3>{html_text(stage.replace('_', ' '))}</h3>{pairs(shown)}")
        parts += map(failures, reasons.values())
    return "\n".join(parts)


Row = Mapping[str, Any]
"""The scores of a point or a bar with what `epbench.reports.plots` takes: label, source, k, mean, low and high."""

STAGES: Mapping[str, tuple[str, str, str]] = {
    "success_rate": ("correct", "#54a24b", ""),
    "storage_error": ("storage error", "#c03538", "xxx"),
    "summary_error": ("summary error", "#f58518", "\\\\\\"),
    "retrieval_error": ("retrieval error", "#f6dc7a", "..."),
    "reasoning_error": ("reasoning error", "#d5c3e0", "---"),
}
"""Title, colour and hatch by the name of a rate in scores.json, in the order of stacking."""
_REVISED: Mapping[str, tuple[str, str, str]] = {
    "stale": ("stale", "#8c6d31", "++"),
    "resurrected": ("resurrected", "#4c78a8", "oo"),
    "lost_with_it": ("lost with it", "#b8b0a8", "\\\\"),
}
MODELS = ("gpt-4.1-mini", "haiku-4.5", "gpt-5.4-mini", "gemini-3.1")
"""The paper's internal models in the order of its tables, of which the first, that of its Figure 1, is the weakest."""
USUAL_K = 5  # the number of memories at which errors are compared, as in the published code
_WIDTH = 9.0  # inches
_MODEL = "model inside the memory system"

_DIAGNOSIS = f"""What became of the questions at each k: the label of a question is the first stage that failed
({", ".join(error.removesuffix("_error") for error in ERRORS)}). Whiskers are 95 % Wilson intervals of success.
Questions that failed for technical reasons are left out."""
_BY_K = "Success by the number of memories asked for, with 95 % Wilson intervals; reported rates are dotted."
_BY_TOKENS = (
    "Success against the mean length of a retrieved memory in tokens, as the run's reader counts them (the lexical one counts "
    "words); the numbers at the points are k."
)


def in_order(models: Iterable[str]) -> list[str]:
    """Different internal models in the order of the paper's tables; others follow by name."""
    return sorted({*models}, key=lambda model: (MODELS.index(model) if model in MODELS else len(MODELS), model))


def stacked(axes: Axes, places: Sequence[float], cells: Sequence[Scores], *, width: float = 0.75) -> None:
    """Stack what became of the questions on one another, with the vacuous part of the correct ones marked.

    The cells are the scores of each bar, as in by_k of scores.json; all of them have the rate of each stage.
    """
    base = [0.0] * len(cells)
    revised = {name: stage for name, stage in _REVISED.items() if any(name in scores for scores in cells)}
    for name, (title, colour, hatch) in {**STAGES, **revised}.items():
        heights = [scores.get(name) or 0.0 for scores in cells]
        look: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": INK, "linewidth": 0.4}
        axes.bar(places, heights, width, bottom=base, label=title, **look)
        base = [low + height for low, height in zip(base, heights, strict=True)]
    vacuous = [scores.get("vacuous", 0) / max(1, scores["n"] - scores.get("failed", 0)) for scores in cells]
    if any(vacuous):
        axes.bar(places, vacuous, width, color="none", edgecolor=INK, hatch="///", linewidth=0.4, label="of it vacuous")


def scatter(axes: Axes, rows: Sequence[Row], field: str, by: str, order: Sequence[Any]) -> None:
    """Draw success against the tokens in a column, with k at each point; rows with one value of `by` look alike."""
    lines(axes, rows, field, by, order=order, joined=False, starred=False)
    for row in rows:
        if row["mean"] is not None:
            at = row[field], row["mean"]
            axes.annotate(str(row["k"]), at, textcoords="offset points", xytext=(4, 4), fontsize=7)
    axes.set_xlim(0, 1.12 * max(row[field] for row in rows))


def figures(runs: Runs) -> list[str]:
    """All figures that have something to show, as HTML; the runs are those of one config."""
    rows = _rows(runs, lambda run: run["by_k"])
    several = any(len(run["by_k"]) > 1 for run in runs.values())
    with drawing():
        drawn = [
            _diagnosis(runs, rows),
            _success_by_model(runs, rows),
            _errors_by_model(runs, rows),
            _curves(rows if several else [], lambda row: row["k"], "k, memories asked for", _BY_K),
            _success_by_tokens(rows),
            _frontier(rows),
            _success_by_group(runs),
        ]
    return [figure for figure in drawn if figure]


def _rows(runs: Runs, cells_of: Callable[[Scores], Mapping[str, Scores]]) -> list[Row]:
    """A row for each cell of each run in which a question was judged, if cells go by numbers: its scores, and what about."""
    rows: list[Row] = []
    for label, run in runs.items():
        source = "reported" if run.get("reported") else "own"
        about = {"label": label, "source": source, "system": run.get("system"), "model": run.get("system_model")}
        cells = cells_of(run)
        for k, scores in cells.items() if all(name.isdigit() for name in cells) else ():
            if (mean := scores.get("success_rate")) is not None:
                low, high = scores.get("intervals", {}).get("success_rate") or (None, None)
                costs = price_points(run["price"], k) if "price" in run else {}
                rows.append({**scores, **about, **costs, "k": int(k), "mean": mean, "low": low, "high": high})
    return rows


def _diagnosis(runs: Runs, rows: Sequence[Row]) -> str:
    """Stacked bars of what became of the questions, with lines for floor and ceilings."""
    known = {label: scores for label, scores in runs.items() if scores.get("system") in (FLOOR, *CEILINGS)}
    shown = [row for row in rows if row["source"] == "own" and (row["label"] not in known or len(known) == len(runs))]
    if not shown:
        return ""
    figure, (axes,) = panels([""], width=max(7.0, 4.0 + 0.9 * len(shown)), height=4.6)
    places = range(len(shown))
    stacked(axes, places, shown)
    error_bars(axes, places, [row["mean"] for row in shown], [ends(row) for row in shown])
    floor = floor_of_runs(runs, "", "success_rate")
    if floor is not None:
        axes.axhline(floor, color=INK, linestyle="--", label=f"floor, no memory ({floor:.2f})")
    ceilings = [(label, scores) for label, scores in known.items() if scores.get("system") in CEILINGS]
    for (label, scores), style in zip(ceilings, ("-.", ":", (0, (5, 1))), strict=False):
        best = max((at_k["success_rate"] or 0.0 for at_k in scores["by_k"].values()), default=0.0)
        axes.axhline(best, color=COLOURS[0], linestyle=style, label=f"ceiling, {label} ({best:.2f})")
    names = [row["label"] if len(row["label"]) <= 18 else f"{row['label'][:17]}…" for row in shown]
    ticks = [f"{name}\nk = {row['k']}" for name, row in zip(names, shown, strict=True)]
    axes.set_xticks(places, ticks, fontsize=8)
    return _finished(figure, axes, "", _DIAGNOSIS, "share of questions")


def _success_by_model(runs: Runs, rows: Sequence[Row]) -> str:
    """A line for each system over the internal models that it was run with; empty if none was run with two."""
    k = _common_k(runs)
    of_system = grouped(_by_model(rows, k), "label")
    shown = [row for system_rows in of_system.values() if len(system_rows) > 1 for row in system_rows]
    models = in_order(row["model"] for row in shown)
    caption = f"Success by the {_MODEL} at k = {k}, with 95 % Wilson intervals; reported rates are dotted."
    return _curves(shown, lambda row: models.index(row["model"]) + 1.0, _MODEL, caption, models)


def _errors_by_model(runs: Runs, rows: Sequence[Row]) -> str:
    """A panel for each internal model, with a bar for each system; empty without two bars."""
    k = USUAL_K if any(str(USUAL_K) in run["by_k"] for run in runs.values()) else _common_k(runs)
    known = [row for row in _by_model(rows, k) if all(row.get(error) is not None for error in ERRORS)]
    of_model = grouped(known, "model")
    if sum(map(len, of_model.values())) < 2:
        return ""
    models = in_order(of_model)
    figure, grid = panels(models, columns=len(models), width=max(2.4, 7.0 / len(models)), height=4.2)
    for axes, model in zip(grid, models, strict=True):
        bars = of_model[model]
        stacked(axes, range(len(bars)), bars, width=0.7)
        axes.set_xticks(range(len(bars)), [row["label"] for row in bars], rotation=45, ha="right", fontsize=8)
    caption = f"What became of the questions, by system and the model inside it, at k = {k}."
    return _finished(figure, grid[0], "", caption, "share of questions")


def _by_model(rows: Sequence[Row], k: int | None) -> list[Row]:
    """The rows at a k with a model inside, named by their systems; a second run of one system and model keeps its label."""
    named: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row["model"] and row["k"] == k:
            name = f"{row['system']}{', reported' if row['source'] == 'reported' else ''}"
            name = row["label"] if (name, row["model"]) in named else name
            named[name, row["model"]] = {**row, "label": name}
    return list(named.values())


def _common_k(runs: Runs) -> int | None:
    """The largest k that most of the runs with an internal model have."""
    ks = [int(k) for run in runs.values() if run.get("system_model") for k in run["by_k"]]
    return max(ks, key=lambda k: (ks.count(k), k), default=None)


def _success_by_tokens(rows: Sequence[Row]) -> str:
    """What success costs (paper: Figure 3)."""
    known = [row for row in rows if row.get("tokens_per_memory") is not None]
    labels = list(grouped(known, "label"))
    if len(labels) < 2:
        return ""
    figure, (axes,) = panels([""], width=_WIDTH, height=3.6)
    scatter(axes, known, "tokens_per_memory", "label", labels)
    return _finished(figure, axes, "tokens per retrieved memory", _BY_TOKENS)


def _frontier(rows: Sequence[Row]) -> str:
    """Success against what memory costs, of at least two runs."""
    priced = [row for row in rows if row.get("shown_tokens") is not None]
    if len(grouped(priced, "label")) < 2:
        return ""
    return figure_html(frontier(priced, PRICE_AXES, "success"), f"Success and what memory costs. {FRONTIER}")


def _success_by_group(runs: Runs) -> str:
    """By the number of preferences or hops, at the largest k of each run."""
    rows = _rows(runs, lambda run: next(reversed(run["by_k"].values())).get("by_group", {}))
    config = next(iter(runs.values()))["config"]
    unit = "preferences to name" if config == "coexisting_facts" else "hops of the chain"
    return _curves(rows, lambda row: row["k"], unit, f"Success by the number of {unit}, at the largest k of each run.")


def _curves(
    rows: Sequence[Row], x: Callable[[Row], float], unit: str, caption: str, names: Sequence[str] | None = None
) -> str:
    """A line for each label; empty without rows. The places on the x axis are named 1, 2, 3 by `names`, if given."""
    if not rows:
        return ""
    figure, (axes,) = panels([""], width=_WIDTH, height=3.6)
    lines(axes, rows, x, "label", dodge=1.02 if names else 1.0, starred=False)
    places = sorted({x(row) for row in rows})
    axes.set_xticks(places, names or [f"{place:g}" for place in places])
    return _finished(figure, axes, unit, caption)


def _finished(figure: Figure, axes: Axes, x: str, caption: str, y: str = "success") -> str:
    axes.set(ylim=(0, 1.02), xlabel=x, ylabel=y)
    legend(figure, long=True)
    return figure_html(figure, caption)
