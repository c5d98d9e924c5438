"""Figures 1 to 9: success by k, by the model inside, by tokens, and by N and K; and where questions fail, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from epbench.memfail.dataset.load import CONFIGS
from epbench.memfail.judging.diagnosis import ERRORS
from epbench.memfail.paper.inputs import ABOUT, ENDS, Inputs, Row, notes_on, rows_of, scored, share
from epbench.memfail.scores.report import MODELS, USUAL_K, in_order, scatter, stacked
from epbench.memfail.scores.tables import COUNTED, count_of
from epbench.reports.exhibit import Made, Shown, columns_of, exhibit, fixed, marked, mean_interval
from epbench.reports.plots import bars, grouped, legend, lines, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]
Plot = Callable[[], "Figure"]
_IN_THE_TEXT = ("StructMem", "SimpleMem")
_NO_MODEL = "no model inside"
_ABOUT: Shown = {"config": "config", "system": "label"}
_SUCCESS = mean_interval()  # `0.350 (0.26–0.45)`
_TITLES = ("Conditional facts, easy", "Conditional facts, hard", "Coexisting facts", "Persona retrieval", "Long hop")
TITLES: Mapping[str, str] = dict(zip(CONFIGS, _TITLES, strict=True))  # what a config is called above a panel


def _made(name: str, title: str, rows: Rows, columns: Shown, notes: list[str], plot: Plot | None, **more: Any) -> Made:
    """An exhibit of rows without what they were made of, config by config; the columns before those of k hold text."""
    frame = [{column: row[column] for column in row if column not in ("scores", "run", "given")} for row in rows]
    shown = columns_of(columns, [title[0] for title in columns].index("k"))
    return exhibit(name, title, frame, shown, notes, plot, **{"sections": "config"} | more)


def _panels(rows: Rows, by: str, draw: Callable[[Axes, Rows], None], x: str, **size: Any) -> Figure:
    """A panel for each value of a column, with one y axis of success and one legend for all of them."""
    parts = grouped(rows, by)
    figure, grid = panels([TITLES.get(part, part) for part in parts], **size)
    for axes, part in zip(grid, parts.values(), strict=True):
        draw(axes, part)
        axes.set_ylim(-0.02, 1.04)
    grid[0].set_ylabel("success", fontsize=9)
    figure.supxlabel(x, fontsize=9)
    legend(figure)
    return figure


def by_k(inputs: Inputs, name: str) -> Made:
    """Success by k, a panel for each config: Figure 1 with the paper's first model inside the systems, Figure 4 with all."""
    title, rows = "Success by the number of memories asked for (k), ", rows_of(inputs)
    if name == "Figure 1":
        title += f"one's own runs and reported ones with {MODELS[0]} inside"
        rows = [row for row in rows if row["source"] == "own" or row["system_model"] == MODELS[0]]
        placed = [row | {"panel": TITLES[row["config"]]} for row in rows]
    else:
        title += "for every config, system and model inside the system"
        inside = sorted(rows, key=lambda row: (not row["system_model"], row["system_model"] or ""))
        placed = [row | {"panel": f"{row['system_model'] or _NO_MODEL}, {TITLES[row['config']]}"} for row in inside]
    ks, labels = sorted(grouped(rows, "k")), [*grouped(rows, "label")]

    def draw(axes: Axes, part: Rows) -> None:
        lines(axes, part, lambda row: ks.index(row["k"]), "label", order=labels, starred=False)
        axes.set_xticks(range(len(ks)), [str(k) for k in ks], fontsize=8)

    plot = partial(_panels, placed, "panel", draw, "k, memories asked for", columns=3 if name == "Figure 1" else 5)
    needs = "a run of at least one config, or a file of reported rates"
    columns: Shown = {**_ABOUT, "k = {}": _SUCCESS}
    return _made(name, title, rows, columns, notes_on(inputs, rows), plot, needs=needs, across="k")


def beside_success(inputs: Inputs) -> Made:
    """What success alone does not say: passes that were earned, right answers, and vacuous passes; own runs only."""
    rows = [row for row in rows_of(inputs) if row["source"] == "own"]
    for row in rows:
        questions = row["given"].at(row["k"])
        earned, answers = questions[~questions["vacuous"]]["success"], questions["answer_right"]
        right, known = int(answers.sum()), int(answers.count())
        row |= {"n_earned": int(earned.sum()), "n_not_vacuous": row["n"] - row["vacuous"]}
        of_earned = share(row["n_earned"], int(earned.count()), int(earned.isna().sum()))
        row |= of_earned.columns(*ENDS, prefix="earned_") | {"n_answers_right": right, "n_answers_wrong": known - right}
        of_answers = share(right, known, len(answers) - known)
        row |= {"n_answers_unknown": len(answers) - known} | of_answers.columns(*ENDS, prefix="answers_")
    rates = {"success": _SUCCESS, "earned": mean_interval("earned_"), "answers right": mean_interval("answers_")}
    counts = {"vacuous": "vacuous", "vacuous, wrong": "vacuous_wrong", "failed": "n_failed"}
    about = "Earned leaves out all questions that were passed vacuously. Answers are judged whatever the stages say."
    name, title = "Figure 1, beside success", "Success beside earned passes, right answers and vacuous passes"
    needs = "a run of at least one config; the paper reports none of these"
    columns: Shown = {**_ABOUT, "k": "k", **rates, **counts}
    return _made(name, title, rows, columns, [about, *notes_on(inputs, rows)], None, needs=needs)


def by_model(inputs: Inputs, name: str) -> Made:
    """Success by the model inside, of systems that were run with two or more: in Figure 2 the paper's two, in Figure 5 all."""
    rows, which = rows_of(inputs), "every system and config"
    if name == "Figure 2":
        which = f"{' and '.join(_IN_THE_TEXT)} and one's own runs"
        rows = [row for row in rows if row["source"] == "own" or row["system"] in _IN_THE_TEXT]
    bar: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        if row["system_model"]:
            place = row["config"], marked(row["system"], row["source"]), row["k"], row["system_model"]
            # Two runs of one system and model keep their labels.
            bar[(place[0], row["label"], *place[2:]) if place in bar else place] = row
    inside = {place[:2]: {other[3] for other in bar if other[:2] == place[:2]} for place in bar}
    found = [row | {"shown": place[1]} for place, row in bar.items() if len(inside[place[:2]]) > 1]
    order, ks = {model: model for model in in_order(row["system_model"] for row in found)}, [row["k"] for row in found]
    k = USUAL_K if USUAL_K in ks else max(ks, key=lambda k: (ks.count(k), k), default=None)
    notes = [f"The figure shows k = {k}.", *notes_on(inputs, found)]
    drawn, draw = [row for row in found if row["k"] == k], partial(bars, x="shown", by="system_model", order=[*order])
    plot = partial(_panels, drawn, "config", draw, f"system, k = {k}", width=3.4, height=2.9)
    title = f"Success by the model inside the memory system, {which}"
    needs = "runs of one system and config with two models inside, or a file of reported rates"
    columns: Shown = {"config": "config", "system": "shown", "k": "k", "{}": _SUCCESS}
    return _made(name, title, found, columns, notes, plot, needs=needs, across="system_model", names=order)


_TOKENS = {  # by name, the title, the column of the frame and of the table, what is needed, and a note
    "Figure 3": (
        "Success against the mean length of a retrieved memory",
        "tokens_per_memory",
        "tokens per retrieved memory",
        "a run that retrieved memories",
        "Tokens of a memory are the mean over what was retrieved, as the run's reader counts them; the lexical reader counts "
        "words. They can be compared between runs with one reader only.",
    ),
    "Figure 3, tokens per question": (
        "Success against the tokens of a question",
        "tokens_per_question",
        "tokens of prompt and reply per question",
        "a run whose reader reports its tokens, or reported rates",
        "Tokens of a question are those of the reader's prompt and reply, without those inside the memory system and those of "
        "the judge; a reader that reports no usage, such as the lexical one, has none.",
    ),
}


def by_tokens(inputs: Inputs, name: str) -> Made:
    """Success against the length of a memory, or against the tokens of a question, which papers report."""
    title, field, what, needs, note = _TOKENS[name]
    rows = [row for row in rows_of(inputs) if row[field] is not None and row["n"]]
    named = [row | {"shown": marked(row["system"], row["source"])} for row in rows]  # whatever the model inside
    draw = partial(scatter, field=field, by="shown", order=[*grouped(named, "shown")])
    plot = partial(_panels, named, "config", draw, f"{what}, the numbers at the points are k")
    columns: Shown = {**_ABOUT, "k": "k", what: fixed(field, 1), "success": _SUCCESS}
    return _made(name, title, rows, columns, [note, *notes_on(inputs, rows)], plot, needs=needs)


_GROUPS = {  # by name, the config, the column, and what grows; the paper breaks its rows out by them, and not its scores
    "Scaling in N": ("coexisting_facts", "n_facts", "number of coexisting facts"),
    "Scaling in K": ("long_hop", "hops", "number of hops"),
}


def scaling(inputs: Inputs, name: str) -> Made:
    """Success by the number of facts that a question needs, N preferences or the K hops of a chain, with a line for each k."""
    (config, column, grows), letter = _GROUPS[name], name[-1]
    rows = [row for row in rows_of(inputs) if row["config"] == config and row["scores"].get("by_group")]
    points = [
        scored({name: row[name] for name in ABOUT} | {column: int(size)}, scores)
        for row in rows
        for size, scores in sorted(row["scores"]["by_group"].items(), key=lambda item: int(item[0]))
    ]
    order, sizes = [f"k = {k}" for k in grouped(points, "k")], sorted(grouped(points, column))

    def draw(axes: Axes, part: Rows) -> None:
        named = [{**row, "line": f"k = {row['k']}"} for row in part]
        lines(axes, named, column, "line", order=order, dodge=1.02, starred=False)
        axes.set_xticks(sizes)

    columns: Shown = {"system": "label", "k": "k", f"{letter} = {{}}": lambda row: f"{_SUCCESS(row)} [{row['n']}]"}
    notes = ["The number of questions stands after each rate.", *notes_on(inputs, rows)]
    plot = partial(_panels, points, "label", draw, f"{letter}, {grows}")
    title = f"Success by the {grows} ({letter}), a line for each k"
    needs = f"a run of {config}; the paper reports no rates by {letter}"
    return _made(name, title, points, columns, notes, plot, needs=needs, across=column, sections="")


FIGURES = {"gemini-3.1": "Figure 6", "haiku-4.5": "Figure 7", "gpt-4.1-mini": "Figure 8", "gpt-5.4-mini": "Figure 9"}
"""The paper's figure of each of its internal models."""


def by_stage(inputs: Inputs) -> list[Made]:
    """What became of the questions: Figures 6 to 9, and one for each other model, or none, inside one's own systems."""
    found = []
    for row in rows_of(inputs):
        if any(row[error] is None for error in ERRORS):
            continue
        kinds = {kind: row["scores"][kind] for kind in ("direct", "misleading") if row["scores"].get(kind)}
        for kind, part in {"all": row["scores"], **kinds}.items():
            counts = {f"n_{name.removesuffix('_rate')}": count_of(part, name) for name in COUNTED}
            about = {name: row[name] for name in ABOUT} | {"questions": kind}
            found.append(scored(about, part) | counts | {name: part.get(name) for name in COUNTED})
    others = {row["system_model"] or "" for row in found} - FIGURES.keys()
    more = [model for model in (*in_order(others - {""}), "") if model in others]
    names = FIGURES | {model: f"Figure 9, {model or _NO_MODEL}" for model in more}
    columns: Shown = {**_ABOUT, "questions": "questions", "k": "k", "n": "n", "correct": partial(_counted, "n_success")}
    columns |= {error.removesuffix("_error"): partial(_counted, f"n_{error}") for error in ERRORS}
    columns |= {"of correct: vacuous": "vacuous", "failed": "n_failed"}
    made = []
    for model, name in names.items():
        rows = [row for row in found if (row["system_model"] or "") == model]
        inside = f"{model} inside the systems" if model else _NO_MODEL
        title = f"What became of the questions, stage by stage, with {inside}"
        notes = [
            "A question counts at the first stage that failed; shares are those of the questions that have an answer and a "
            "verdict.",
            *notes_on(inputs, [row for row in rows if row["questions"] == "all"]),
        ]
        needs = f"a run with {inside}, or a file of reported errors by stage"
        made.append(_made(name, title, rows, columns, notes, partial(_draw_stages, rows), needs=needs))
    return made


def _counted(count: str, row: Mapping[str, Any]) -> str:
    """`14 (0.10)`, a count and its share."""
    return "–" if row[count] is None or not row["n"] else f"{row[count]} ({row[count] / row['n']:.2f})"


def _draw_stages(rows: Rows) -> Figure:
    """A panel for each config, persona questions in two of them; in it a group of bars for each system, a bar for each k."""
    split = {row["config"] for row in rows if row["questions"] != "all"}
    drawn = [row for row in rows if (row["questions"] != "all") == (row["config"] in split) and row["n"]]
    places = grouped(drawn, "config", "questions") or {(rows[0]["config"], "all"): []}
    titles = [TITLES[config] + (f", {kind}" if kind != "all" else "") for config, kind in places]
    figure, grid = panels(titles, width=max(3.4, 0.6 + 0.17 * max(map(len, places.values()))), height=2.9)
    for axes, part in zip(grid, places.values(), strict=True):
        _stack(axes, part)
    grid[0].set_ylabel("share of questions", fontsize=9)
    legend(figure)
    return figure


def _stack(axes: Axes, rows: Rows) -> None:
    x, names = 0.0, dict[float, str]()
    at = dict[float, dict[str, Any]]()
    for label, of_label in grouped(rows, "label").items():
        own = sorted(of_label, key=lambda row: row["k"])
        system, _, more = label.partition(" (")  # without the model, which the title names
        names[x + (len(own) - 1) / 2] = system.partition(",")[0] + (f"\n({more}" if more else "")
        for number, row in enumerate(own):
            at[x + number] = {**row, "failed": row["n_failed"], "n": row["n"] + row["n_failed"]}
            at[x + number] |= {"vacuous": row["vacuous"] or 0}
        x += len(own) + 0.8
    stacked(axes, [*at], [*at.values()], width=0.85)
    axes.set_xticks([*at], [str(row["k"]) for row in at.values()], fontsize=6)
    below = axes.secondary_xaxis(-0.09)
    below.set_xticks([*names], [*names.values()], fontsize=6.5)
    below.tick_params(length=0)
    below.spines["bottom"].set_visible(False)
