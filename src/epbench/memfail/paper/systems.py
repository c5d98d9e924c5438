"""Success of the systems: by k (Figures 1 and 4), by the model inside (Figures 2 and 5), by tokens (Figure 3), and by N and K."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from epbench.memfail.paper.inputs import Inputs, PaperRun
from epbench.memfail.paper.rows import SUCCESS, TITLES, Row, notes_on, rows_of, scored, share, values
from epbench.memfail.scores.figures import in_order
from epbench.reports.exhibit import Column, Exhibit, Missing, marked, mean_interval
from epbench.reports.plots import bars, legend, lines, panels
from epbench.statistics.estimate import framed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FIRST_MODEL = "gpt-4.1-mini"
_IN_THE_TEXT = ("StructMem", "SimpleMem")
_USUAL_K = 5
_K = "k, memories asked for"
_ABOUT = [Column("config", "config", text=True), Column("system", "label", text=True)]
_AT_K = [*_ABOUT, Column("k", "k")]


def figure_1(inputs: Inputs) -> Exhibit | Missing:
    """Success by k with the paper's first model inside the systems, a panel for each config."""
    title = (
        f"Success by the number of memories asked for (k), one's own runs and reported ones with {FIRST_MODEL} inside"
    )
    rows = [row for row in rows_of(inputs) if row["source"] == "own" or row["system_model"] == FIRST_MODEL]
    return _by_k("Figure 1", title, inputs, rows, ["config"])


def figure_4(inputs: Inputs) -> Exhibit | Missing:
    """The same with a panel for each model inside the systems."""
    title = "Success by the number of memories asked for (k), for every config, system and model inside the system"
    return _by_k("Figure 4", title, inputs, rows_of(inputs), ["system_model", "config"])


def _by_k(name: str, title: str, inputs: Inputs, rows: Sequence[Row], by: Sequence[str]) -> Exhibit | Missing:
    if not rows:
        return Missing(name, title, "a run of at least one config, or a file of reported rates")
    columns = [*_ABOUT, Column("k = {}", SUCCESS)]
    plot = partial(_lines_by_k, rows, by)
    return Exhibit(name, title, _frame(rows), columns, notes_on(inputs, rows), plot, across="k", sections="config")


def _frame(rows: Sequence[Row]) -> Any:
    """The rows without what is shown elsewhere."""
    return framed({name: value for name, value in row.items() if name != "by_group"} for row in rows)


def _lines_by_k(rows: Sequence[Row], by: Sequence[str]) -> Figure:
    places = sorted({tuple(str(row[name] or "no model inside") for name in by) for row in rows}, key=_panel_order)
    titles = [", ".join(TITLES.get(part, part) for part in place) for place in places]
    figure, grid = panels(titles, columns=3 if len(by) == 1 else 5)
    ks = sorted({row["k"] for row in rows})
    for axes, place in zip(grid, places, strict=True):
        shown = [row for row in rows if tuple(str(row[name] or "no model inside") for name in by) == place]
        lines(axes, shown, lambda row: ks.index(row["k"]), "label", order=values(rows, "label"), starred=False)
        axes.set_xticks(range(len(ks)), [str(k) for k in ks], fontsize=8)
    return _finished(figure, grid, _K)


def _panel_order(place: tuple[str, ...]) -> tuple[Any, ...]:
    *models, config = place
    return *((model == "no model inside", in_order({*models}) and model) for model in models), list(TITLES).index(
        config
    )


def _finished(figure: Figure, grid: Sequence[Axes], x: str) -> Figure:
    grid[0].set_ylabel("success", fontsize=9)
    for axes in grid:
        axes.set_ylim(-0.02, 1.04)
    figure.supxlabel(x, fontsize=9)
    legend(figure)
    return figure


def beside_success(inputs: Inputs) -> Exhibit | Missing:
    """What success alone does not say: passes that were earned, right answers, and vacuous passes; own runs only."""
    name, title = "Figure 1, beside success", "Success beside earned passes, right answers and vacuous passes"
    rows = [row for row in rows_of(inputs) if row["source"] != "reported"]
    if not rows:
        return Missing(name, title, "a run of at least one config; the paper reports none of these")
    answers = {(run.config, marked(run.label, run.source), k): part for run in inputs.runs for k, part in _answers(run)}
    for row in rows:
        right, wrong, unknown = answers[row["config"], row["label"], row["k"]]
        earned, of = row["n_right"] - row["vacuous"], row["n"] - row["vacuous"]
        kept = ("mean", "low", "high", "lowest", "highest")
        row |= {
            "n_earned": earned,
            "n_not_vacuous": of,
            **share(earned, of, row["n_failed"]).columns(*kept, prefix="earned_"),
        }
        row |= {"n_answers_right": right, "n_answers_wrong": wrong, "n_answers_unknown": unknown}
        row |= share(right, right + wrong, unknown).columns(*kept, prefix="answers_")
    columns = [
        *_AT_K, Column("success", SUCCESS), Column("earned", mean_interval("earned_")),
        Column("answers right", mean_interval("answers_")), Column("vacuous", "vacuous"),
        Column("vacuous, wrong", "vacuous_wrong"), Column("failed", "n_failed"),
    ]  # fmt: skip
    notes = [
        "Earned leaves out all questions that were passed vacuously. Answers are judged whatever the stages say.",
        *notes_on(inputs, rows),
    ]
    return Exhibit(name, title, _frame(rows), columns, notes, sections="config")


def _answers(run: PaperRun) -> list[tuple[int, tuple[int, int, int]]]:
    """At each k, how many answers are right, wrong and not known to be either."""
    found = []
    for k in dict.fromkeys(run.questions["k"]):
        own = list(run.questions.loc[run.questions["k"] == k, "answer_right"])
        right, wrong = own.count(True), own.count(False)
        found.append((int(k), (right, wrong, len(own) - right - wrong)))
    return found


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
    models: dict[tuple[Any, ...], set[str]] = {}
    for config, system, _, model in bar:
        models.setdefault((config, system), set()).add(model)
    shown = [row | {"shown": place[1]} for place, row in bar.items() if len(models[place[:2]]) > 1]
    if not shown:
        return Missing(name, title, "runs of one system and config with two models inside, or a file of reported rates")
    order = {model: model for model in in_order({row["system_model"] for row in shown})}
    ks = [row["k"] for row in shown]
    k = _USUAL_K if _USUAL_K in ks else max(ks, key=lambda k: (ks.count(k), k))
    columns = [_ABOUT[0], Column("system", "shown", text=True), Column("k", "k"), Column("{}", SUCCESS)]
    notes = [f"The figure shows k = {k}.", *notes_on(inputs, shown)]
    frame = _frame(shown).drop(columns="shown").assign(shown=[row["shown"] for row in shown])
    plot = partial(_bars_by_model, [row for row in shown if row["k"] == k], list(order), k)
    return Exhibit(name, title, frame, columns, notes, plot, across="system_model", names=order, sections="config")


def _bars_by_model(rows: Sequence[Row], models: Sequence[str], k: int) -> Figure:
    configs = values(rows, "config")
    figure, grid = panels([TITLES[config] for config in configs], width=3.4, height=2.9)
    for axes, config in zip(grid, configs, strict=True):
        bars(axes, [row for row in rows if row["config"] == config], "shown", "system_model", order=models)
    return _finished(figure, grid, f"system, k = {k}")


_MEMORY = (
    "tokens_per_memory", "tokens per retrieved memory", "a run that retrieved memories",
    "Tokens of a memory are the mean over what was retrieved, as the run's reader counts them; the lexical reader counts "
    "words. They can be compared between runs with one reader only.",
)  # fmt: skip
_QUESTION = (
    "tokens_per_question", "tokens of prompt and reply per question",
    "a run whose reader reports its tokens, or reported rates",
    "Tokens of a question are those of the reader's prompt and reply, without those inside the memory system and those of "
    "the judge; a reader that reports no usage, such as the lexical one, has none.",
)  # fmt: skip


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
    plot = partial(_scatter, rows, field, what)
    return Exhibit(name, title, _frame(rows), columns, [note, *notes_on(inputs, rows)], plot, sections="config")


def _scatter(rows: Sequence[Row], field: str, what: str) -> Figure:
    """A panel for each config; a system looks the same whatever the model inside it."""
    named = [row | {"shown": marked(row["system"], row["source"])} for row in rows]
    configs = values(rows, "config")
    figure, grid = panels([TITLES[config] for config in configs])
    for axes, config in zip(grid, configs, strict=True):
        shown = [row for row in named if row["config"] == config]
        lines(axes, shown, field, "shown", order=values(named, "shown"), joined=False, starred=False)
        for row in shown:
            if row["mean"] is not None:
                axes.annotate(
                    str(row["k"]), (row[field], row["mean"]), textcoords="offset points", xytext=(4, 4), fontsize=7
                )
        axes.set_xlim(0, 1.12 * max(row[field] for row in shown))
    return _finished(figure, grid, f"{what}, the numbers at the points are k")


_GROUPS = {
    "coexisting_facts": ("Scaling in N", "N", "n_facts", "number of coexisting facts"),
    "long_hop": ("Scaling in K", "K", "hops", "number of hops"),
}
"""By config: a name, the letter, the column, and what grows. The paper breaks its rows out by them, and reports no scores."""


def scaling(inputs: Inputs) -> list[Exhibit | Missing]:
    """Success by the number of facts that a question needs, N preferences or the K hops of a chain, with a line for each k."""
    found: list[Exhibit | Missing] = []
    for config, (name, letter, column, grows) in _GROUPS.items():
        title = f"Success by the {grows} ({letter}), a line for each k"
        rows = [row for row in rows_of(inputs) if row["config"] == config and row["by_group"]]
        about = ("config", "label", "source", "system", "system_model", "model", "k")
        points = [
            scored({name: row[name] for name in about} | {column: int(size)}, scores)
            for row in rows
            for size, scores in sorted(row["by_group"].items(), key=lambda item: int(item[0]))
        ]
        if not points:
            found.append(Missing(name, title, f"a run of {config}; the paper reports no rates by {letter}"))
            continue
        columns = [_ABOUT[1], Column("k", "k"), Column(f"{letter} = {{}}", lambda row: f"{SUCCESS(row)} [{row['n']}]")]
        notes = ["The number of questions stands after each rate.", *notes_on(inputs, rows)]
        plot = partial(_lines_by_size, points, column, f"{letter}, {grows}")
        found.append(Exhibit(name, title, _frame(points), columns, notes, plot, across=column))
    return found


def _lines_by_size(points: Sequence[Row], column: str, x: str) -> Figure:
    labels, sizes = values(points, "label"), sorted(set(values(points, column)))
    figure, grid = panels(labels)
    named = [row | {"shown": f"k = {row['k']}"} for row in points]
    for axes, label in zip(grid, labels, strict=True):
        own = [row for row in named if row["label"] == label]
        lines(axes, own, column, "shown", order=values(named, "shown"), dodge=1.02, starred=False)
        axes.set_xticks(sizes)
    return _finished(figure, grid, x)
