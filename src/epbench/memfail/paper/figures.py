"""Figures 1 to 9: success by k, by the model inside, by tokens, and by N and K; and where questions fail, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any

from epbench.memfail.paper.inputs import Inputs
from epbench.memfail.paper.rows import (
    ABOUT,
    ENDS,
    SUCCESS,
    TITLES,
    Row,
    frame_of,
    notes_on,
    rows_of,
    scored,
    share_of,
    values,
)
from epbench.memfail.scores.figures import MODELS, USUAL_K, in_order, scatter, stacked
from epbench.memfail.scores.scoring import ERRORS
from epbench.memfail.scores.tables import COUNTED, count_of
from epbench.reports.exhibit import Column, Exhibit, Missing, Show, marked, mean_interval
from epbench.reports.plots import bars, grouped, legend, lines, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[["Axes", Sequence[Mapping[str, Any]]], None]
"""Draws the rows of a panel."""
_IN_THE_TEXT = ("StructMem", "SimpleMem")
_NO_MODEL = "no model inside"
_ABOUT = [Column("config", "config", text=True), Column("system", "label", text=True)]
_AT_K = [*_ABOUT, Column("k", "k")]


def figure_1(inputs: Inputs) -> Exhibit | Missing:
    """Success by k with the paper's first model inside the systems, a panel for each config."""
    title = f"Success by the number of memories asked for (k), one's own runs and reported ones with {MODELS[0]} inside"
    rows = [row for row in rows_of(inputs) if row["source"] == "own" or row["system_model"] == MODELS[0]]
    return _by_k("Figure 1", title, inputs, rows, ["config"])


def figure_4(inputs: Inputs) -> Exhibit | Missing:
    """The same with a panel for each model inside the systems."""
    title = "Success by the number of memories asked for (k), for every config, system and model inside the system"
    return _by_k("Figure 4", title, inputs, rows_of(inputs), ["system_model", "config"])


def _by_k(name: str, title: str, inputs: Inputs, rows: Sequence[Row], by: Sequence[str]) -> Exhibit | Missing:
    if not rows:
        return Missing(name, title, "a run of at least one config, or a file of reported rates")
    columns = [*_ABOUT, Column("k = {}", SUCCESS)]
    ks, labels = sorted(set(values(rows, "k"))), values(rows, "label")
    panel_of = [tuple(str(row[column] or _NO_MODEL) for column in by) for row in rows]
    places = sorted({*panel_of}, key=lambda place: (_NO_MODEL in place, place[:-1], [*TITLES].index(place[-1])))
    shown = [
        row | {"panel": place} for place in places for row, own in zip(rows, panel_of, strict=True) if own == place
    ]

    def draw(axes: Axes, part: Sequence[Mapping[str, Any]]) -> None:
        lines(axes, part, lambda row: ks.index(row["k"]), "label", order=labels, starred=False)
        axes.set_xticks(range(len(ks)), [str(k) for k in ks], fontsize=8)

    plot = partial(_panels, shown, "panel", draw, "k, memories asked for", columns=3 if len(by) == 1 else 5)
    return Exhibit(name, title, frame_of(rows), columns, notes_on(inputs, rows), plot, across="k", sections="config")


def _panels(rows: Sequence[Row], by: str, draw: Draw, x: str, **size: Any) -> Figure:
    """A panel for each value of a column, with one y axis of success and one legend for all of them."""
    parts = grouped(rows, by)
    titles = [", ".join(TITLES.get(part, part) for part in ((of,) if isinstance(of, str) else of)) for of in parts]
    figure, grid = panels(titles, **size)
    for axes, part in zip(grid, parts.values(), strict=True):
        draw(axes, part)
        axes.set_ylim(-0.02, 1.04)
    grid[0].set_ylabel("success", fontsize=9)
    figure.supxlabel(x, fontsize=9)
    legend(figure)
    return figure


def beside_success(inputs: Inputs) -> Exhibit | Missing:
    """What success alone does not say: passes that were earned, right answers, and vacuous passes; own runs only."""
    name, title = "Figure 1, beside success", "Success beside earned passes, right answers and vacuous passes"
    rows = [row for row in rows_of(inputs) if row["source"] != "reported"]
    if not rows:
        return Missing(name, title, "a run of at least one config; the paper reports none of these")
    own = {(run.config, run.name): run for run in inputs.runs}
    for row in rows:
        questions = own[row["config"], row["label"]].at(row["k"])
        earned, of_earned = share_of(questions[~questions["vacuous"]]["success"])
        right, answers = share_of(questions["answer_right"])
        unknown = int(questions["answer_right"].isna().sum())
        row |= {"n_earned": earned, "n_not_vacuous": row["n"] - row["vacuous"]}
        row |= of_earned.columns(*ENDS, prefix="earned_")
        row |= {"n_answers_right": right, "n_answers_wrong": len(questions) - right - unknown}
        row |= {"n_answers_unknown": unknown} | answers.columns(*ENDS, prefix="answers_")
    rates = {"success": SUCCESS, "earned": mean_interval("earned_"), "answers right": mean_interval("answers_")}
    counts = {"vacuous": "vacuous", "vacuous, wrong": "vacuous_wrong", "failed": "n_failed"}
    columns = [*_AT_K, *starmap(Column, rates.items()), *starmap(Column, counts.items())]
    notes = [
        "Earned leaves out all questions that were passed vacuously. Answers are judged whatever the stages say.",
        *notes_on(inputs, rows),
    ]
    return Exhibit(name, title, frame_of(rows), columns, notes, sections="config")


def figure_2(inputs: Inputs) -> Exhibit | Missing:
    """Success by the model inside, of the paper's two systems and of one's own that were run with several models."""
    rows = [row for row in rows_of(inputs) if row["source"] == "own" or row["system"] in _IN_THE_TEXT]
    return _by_model("Figure 2", f"{' and '.join(_IN_THE_TEXT)} and one's own runs", inputs, rows)


def figure_5(inputs: Inputs) -> Exhibit | Missing:
    """The same for all systems, on each config."""
    return _by_model("Figure 5", "every system and config", inputs, rows_of(inputs))


def _by_model(name: str, which: str, inputs: Inputs, rows: Sequence[Row]) -> Exhibit | Missing:
    """Only systems that were run with at least two models; two runs of one system and model keep their labels."""
    title = f"Success by the model inside the memory system, {which}"
    bar: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        if row["system_model"]:
            place = row["config"], marked(row["system"], row["source"]), row["k"], row["system_model"]
            bar[(place[0], row["label"], *place[2:]) if place in bar else place] = row
    inside = {place[:2]: {other[3] for other in bar if other[:2] == place[:2]} for place in bar}
    shown = [row | {"shown": place[1]} for place, row in bar.items() if len(inside[place[:2]]) > 1]
    if not shown:
        return Missing(name, title, "runs of one system and config with two models inside, or a file of reported rates")
    order = {model: model for model in in_order({row["system_model"] for row in shown})}
    ks = [row["k"] for row in shown]
    k = USUAL_K if USUAL_K in ks else max(ks, key=lambda k: (ks.count(k), k))
    columns = [_ABOUT[0], Column("system", "shown", text=True), Column("k", "k"), Column("{}", SUCCESS)]
    notes = [f"The figure shows k = {k}.", *notes_on(inputs, shown)]
    frame = frame_of(shown).drop(columns="shown").assign(shown=[row["shown"] for row in shown])
    drawn, draw = (
        [row for row in shown if row["k"] == k],
        partial(bars, x="shown", by="system_model", order=list(order)),
    )
    plot = partial(_panels, drawn, "config", draw, f"system, k = {k}", width=3.4, height=2.9)
    return Exhibit(name, title, frame, columns, notes, plot, across="system_model", names=order, sections="config")


_MEMORY = (
    "tokens_per_memory",
    "tokens per retrieved memory",
    "a run that retrieved memories",
    "Tokens of a memory are the mean over what was retrieved, as the run's reader counts them; the lexical reader counts "
    "words. They can be compared between runs with one reader only.",
)
_QUESTION = (
    "tokens_per_question",
    "tokens of prompt and reply per question",
    "a run whose reader reports its tokens, or reported rates",
    "Tokens of a question are those of the reader's prompt and reply, without those inside the memory system and those of "
    "the judge; a reader that reports no usage, such as the lexical one, has none.",
)


def figure_3(inputs: Inputs) -> list[Exhibit | Missing]:
    """Success against the length of a memory, and against the tokens of a question, which papers report."""
    return [
        _by_tokens(inputs, "Figure 3", "Success against the mean length of a retrieved memory", *_MEMORY),
        _by_tokens(inputs, "Figure 3, tokens per question", "Success against the tokens of a question", *_QUESTION),
    ]


def _by_tokens(
    inputs: Inputs, name: str, title: str, field: str, what: str, needs: str, note: str
) -> Exhibit | Missing:
    rows = [row for row in rows_of(inputs) if row[field] is not None and row["n"]]
    if not rows:
        return Missing(name, title, needs)
    columns = [*_AT_K, Column(what, lambda row: f"{row[field]:,.1f}"), Column("success", SUCCESS)]
    named = [row | {"shown": marked(row["system"], row["source"])} for row in rows]  # whatever the model inside
    draw = partial(scatter, field=field, by="shown", order=values(named, "shown"))
    plot = partial(_panels, named, "config", draw, f"{what}, the numbers at the points are k")
    return Exhibit(name, title, frame_of(rows), columns, [note, *notes_on(inputs, rows)], plot, sections="config")


_GROUPS = {
    "coexisting_facts": ("Scaling in N", "N", "n_facts", "number of coexisting facts"),
    "long_hop": ("Scaling in K", "K", "hops", "number of hops"),
}
"""By config: a name, the letter, the column, and what grows. The paper breaks its rows out by them, and reports no scores."""


def scaling(inputs: Inputs) -> list[Exhibit | Missing]:
    """Success by the number of facts that a question needs, N preferences or the K hops of a chain, with a line for each k."""
    return [_scaling(inputs, config, *group) for config, group in _GROUPS.items()]


def _scaling(inputs: Inputs, config: str, name: str, letter: str, column: str, grows: str) -> Exhibit | Missing:
    title = f"Success by the {grows} ({letter}), a line for each k"
    rows = [row for row in rows_of(inputs) if row["config"] == config and row["scores"].get("by_group")]
    points = [
        scored({name: row[name] for name in ABOUT} | {column: int(size)}, scores)
        for row in rows
        for size, scores in sorted(row["scores"]["by_group"].items(), key=lambda item: int(item[0]))
    ]
    if not points:
        return Missing(name, title, f"a run of {config}; the paper reports no rates by {letter}")
    columns = [_ABOUT[1], Column("k", "k"), Column(f"{letter} = {{}}", lambda row: f"{SUCCESS(row)} [{row['n']}]")]
    notes = ["The number of questions stands after each rate.", *notes_on(inputs, rows)]
    named = [row | {"shown": f"k = {row['k']}"} for row in points]
    order, sizes = values(named, "shown"), sorted(set(values(points, column)))

    def draw(axes: Axes, part: Sequence[Mapping[str, Any]]) -> None:
        lines(axes, part, column, "shown", order=order, dodge=1.02, starred=False)
        axes.set_xticks(sizes)

    plot = partial(_panels, named, "label", draw, f"{letter}, {grows}")
    return Exhibit(name, title, frame_of(points), columns, notes, plot, across=column)


FIGURES = {"gemini-3.1": "Figure 6", "haiku-4.5": "Figure 7", "gpt-4.1-mini": "Figure 8", "gpt-5.4-mini": "Figure 9"}
"""The paper's figure of each of its internal models."""
_KINDS = ("direct", "misleading")


def figures_6_to_9(inputs: Inputs) -> list[Exhibit | Missing]:
    """A figure for each of the paper's models, and one for each other model, or none, inside one's own systems."""
    rows = _by_kind(inputs)
    others = {row["system_model"] or "" for row in rows} - FIGURES.keys()
    more = [model for model in (*in_order(others - {""}), "") if model in others]
    names = FIGURES | {model: f"Figure 9, {model or _NO_MODEL}" for model in more}
    return [
        _stages(name, model, inputs, [row for row in rows if (row["system_model"] or "") == model])
        for model, name in names.items()
    ]


def _by_kind(inputs: Inputs) -> list[Row]:
    """A row for each cell whose errors are known, and of persona questions one for each of the two kinds as well."""
    found = []
    for row in rows_of(inputs):
        if any(row[error] is None for error in ERRORS):
            continue
        parts = {"all": row["scores"]} | {kind: row["scores"][kind] for kind in _KINDS if row["scores"].get(kind)}
        for kind, part in parts.items():
            counts = {_count(name): count_of(part, name) for name in COUNTED}
            about = {name: row[name] for name in ABOUT} | {"questions": kind}
            found.append(scored(about, part) | counts | {name: part.get(name) for name in COUNTED})
    return found


def _count(name: str) -> str:
    """The column that has the number of questions which a rate stands for."""
    return f"n_{name.removesuffix('_rate')}"


def _stages(name: str, model: str, inputs: Inputs, rows: Sequence[Row]) -> Exhibit | Missing:
    inside = f"{model} inside the systems" if model else _NO_MODEL
    title = f"What became of the questions, stage by stage, with {inside}"
    if not rows:
        return Missing(name, title, f"a run with {inside}, or a file of reported errors by stage")
    stages = {"correct": "success_rate", **{error.removesuffix("_error"): error for error in ERRORS}}
    counted: dict[str, Show | str] = {"k": "k", "n": "n", **{title: _counted(name) for title, name in stages.items()}}
    counted |= {"of correct: vacuous": "vacuous", "failed": "n_failed"}
    columns = [*_ABOUT, Column("questions", "questions", text=True), *starmap(Column, counted.items())]
    notes = [
        "A question counts at the first stage that failed; shares are those of the questions that have an answer and a verdict.",
        *notes_on(inputs, [row for row in rows if row["questions"] == "all"]),
    ]
    return Exhibit(name, title, frame_of(rows), columns, notes, partial(_draw_stages, rows), sections="config")


def _counted(name: str) -> Show:
    """`14 (0.10)`, a count and its share."""
    count = _count(name)
    return lambda row: "–" if row[count] is None or not row["n"] else f"{row[count]} ({row[count] / row['n']:.2f})"


def _draw_stages(rows: Sequence[Row]) -> Figure:
    """A panel for each config, persona questions in two of them; in it a group of bars for each system, a bar for each k."""
    split = {row["config"] for row in rows if row["questions"] != "all"}
    shown = [row for row in rows if (row["questions"] != "all") == (row["config"] in split) and row["n"]]
    places = list(dict.fromkeys((row["config"], row["questions"]) for row in shown)) or [(rows[0]["config"], "all")]
    titles = [TITLES[config] + (f", {kind}" if kind != "all" else "") for config, kind in places]
    of_place = [[row for row in shown if (row["config"], row["questions"]) == place] for place in places]
    figure, grid = panels(titles, width=max(3.4, 0.6 + 0.17 * max(map(len, of_place))), height=2.9)
    for axes, part in zip(grid, of_place, strict=True):
        _stack(axes, part)
    grid[0].set_ylabel("share of questions", fontsize=9)
    legend(figure)
    return figure


def _stack(axes: Axes, rows: Sequence[Row]) -> None:
    x, names = 0.0, []
    at: list[tuple[float, Row]] = []
    for label in values(rows, "label"):
        own = sorted((row for row in rows if row["label"] == label), key=lambda row: row["k"])
        names.append((x + (len(own) - 1) / 2, _short(label)))
        at += [(x + number, row) for number, row in enumerate(own)]
        x += len(own) + 0.8
    places, shown = [place for place, _ in at], [row for _, row in at]
    counts = [
        {"failed": row["n_failed"], "n": row["n"] + row["n_failed"], "vacuous": row["vacuous"] or 0} for row in shown
    ]
    stacked(axes, places, [row | of for row, of in zip(shown, counts, strict=True)], width=0.85)
    axes.set_xticks(places, [str(row["k"]) for row in shown], fontsize=6)
    below = axes.secondary_xaxis(-0.09)
    below.set_xticks([place for place, _ in names], [name for _, name in names], fontsize=6.5)
    below.tick_params(length=0)
    below.spines["bottom"].set_visible(False)


def _short(label: str) -> str:
    """Without the model, which the title names; `Mem0, gpt-4.1-mini (reported)` is `Mem0 (reported)` in two lines."""
    system, _, more = label.partition(" (")
    return system.partition(",")[0] + (f"\n({more}" if more else "")
