"""All tables and figures of the paper in its order, and how systems differ and what runs took."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from epbench.errors import BadInput, RunFailed
from epbench.files.packaged import packaged
from epbench.memfail.dataset.load import CONFIGS, Loaded
from epbench.memfail.judging.diagnosis import ERRORS
from epbench.memfail.paper.inputs import ABOUT, ENDS, Inputs, PaperRun, Row, notes_on, rows_of, scored, share
from epbench.memfail.scores.comparison import judge_notes
from epbench.memfail.scores.report import MODELS, USUAL_K, in_order, scatter, stacked
from epbench.memfail.scores.tables import COUNTED, USAGE_COLUMNS, count_of, total, usage_rows
from epbench.models.estimate import cl100k_tokens
from epbench.reports.exhibit import Column, Made, Shown, columns_of, exhibit, fixed, interval, marked, mean_interval
from epbench.reports.plots import bars, grouped, grouped_by, legend, lines, panels
from epbench.reports.reported import read_reported
from epbench.reports.tables import cell
from epbench.statistics.estimate import Value
from epbench.statistics.paired import compare_outcomes, with_holm
from epbench.statistics.smallest_difference import ALPHA, smallest_difference_of_rates

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[Row]


def exhibits(inputs: Inputs) -> list[Made]:
    """Make what can be made of inputs, which may be empty; of the rest, say what it needs."""
    return [
        table_2(inputs),
        by_k(inputs, "Figure 1"),
        beside_success(inputs),
        by_model(inputs, "Figure 2"),
        *(by_tokens(inputs, name) for name in ("Figure 3", "Figure 3, tokens per question")),
        by_k(inputs, "Figure 4"),
        by_model(inputs, "Figure 5"),
        *by_stage(inputs),
        differences(inputs),
        *(scaling(inputs, name) for name in ("Scaling in N", "Scaling in K")),
        tokens_and_cost(inputs),
    ]


_COLUMNS = (
    *("config", "label", "source", "generator", "size"),
    *("rows", "questions", "tokens", "facts", "yes", "no", "condition_types", "misleading"),
)
_LETTERS = {"coexisting_facts": "N", "long_hop": "K"}
_ROWS_NOTES = (
    "Tokens are the mean over the rows of all stored texts and questions of a row, options included, in the encoding "
    "cl100k_base.",
    "The rows marked (reported) are those of Garg et al., MemFail (2026), Table 2, with the model that wrote the rows.",
)
_NO_DATASET = "No dataset was given, so that only the paper's rows are shown."


def table_2(inputs: Inputs) -> Made:
    """The statistics of the given datasets, beside those of the paper; without a dataset, those of the paper alone."""
    notes, count = [*_ROWS_NOTES, *([] if inputs.datasets else [_NO_DATASET])], None
    try:
        count = cl100k_tokens() if inputs.datasets else None
    except BadInput as error:
        notes.append(f"Tokens were not counted: {error}.")
    given = [(name, loaded) for name, configs in inputs.datasets.items() for loaded in configs]
    records = [record for name, loaded in given for record in _records_of_rows(name, loaded, count)]
    for row in read_reported(packaged("epbench.memfail", "reported_rows.json"), "memfail"):
        about = row.dataset, "paper", "reported", row.model, row.memory
        records.append(dict(zip(_COLUMNS, (*about, *map(row.scores.get, _COLUMNS[5:])), strict=True)))
    records.sort(key=lambda record: (CONFIGS.index(str(record["config"])), str(record["size"])))
    shown: Shown = {"config": "config", "rows of": _whose, **{name: name for name in ("size", "rows", "questions")}}
    shown["tokens per row"] = lambda row: "–" if row["tokens"] is None else f"{row['tokens']:.0f}"
    shown |= {"facts": "facts", "other": _other}
    title = "Statistics of the rows of each config"
    return exhibit("Table 2", title, records, columns_of(shown, 3), notes, needs="", sections="config")


def _records_of_rows(dataset: str, loaded: Loaded, count: Callable[[str], int] | None) -> Iterator[dict[str, Value]]:
    """A record for each size of the rows, or one for all."""
    letter, size = _LETTERS.get(loaded.config), {question.row: question.group for question in loaded.questions}
    groups = grouped_by((row["id"] for row in loaded.rows), lambda id_: f"{letter} = {size[id_]}" if letter else "")
    for name, ids in sorted((name, {*of}) for name, of in groups.items()):
        facts = [fact.text for fact in loaded.facts if fact.row in ids]
        questions = [question for question in loaded.questions if question.row in ids]
        tokens = sum(map(count, (*facts, *(question.text for question in questions)))) / len(ids) if count else None
        kinds = [question.kind for question in questions if question.kind]
        met = [question.about["condition_met"] for question in questions if "condition_met" in question.about]
        types = {question.about["condition_type"] for question in questions if "condition_type" in question.about}
        conditions = (met.count("yes"), met.count("no"), len(types)) if met else (None, None, None)
        misleading = kinds.count("misleading") / len(kinds) if kinds else None
        about = loaded.config, dataset, "own", None, name
        numbers = len(ids), len(questions), tokens, len(facts), *conditions, misleading
        yield dict(zip(_COLUMNS, (*about, *numbers), strict=True))


def _whose(row: Mapping[str, Any]) -> str:
    return marked(row["label"] + (f", by {row['generator']}" if row["generator"] else ""), row["source"])


def _other(row: Mapping[str, Any]) -> str:
    said = {"yes": "{yes} yes, {no} no; {condition_types} condition types", "misleading": "{misleading:.1%} misleading"}
    return "; ".join(text.format(**row) for name, text in said.items() if row[name] is not None)


_IN_THE_TEXT = ("StructMem", "SimpleMem")
_NO_MODEL = "no model inside"
_ABOUT: Shown = {"config": "config", "system": "label"}
_SUCCESS = mean_interval()  # `0.350 (0.26–0.45)`
_TITLES = ("Conditional facts, easy", "Conditional facts, hard", "Coexisting facts", "Persona retrieval", "Long hop")
TITLES: Mapping[str, str] = dict(zip(CONFIGS, _TITLES, strict=True))  # what a config is called above a panel
_KINDS = {"all": "", "direct": ", direct", "misleading": ", misleading"}


def _made(name: str, title: str, rows: Rows, columns: Shown, *more: Any, **fields: Any) -> Made:
    """An exhibit of rows without what they were made of, config by config; the columns before those of k hold text."""
    frame = [{column: row[column] for column in row if column not in ("scores", "run", "given")} for row in rows]
    shown = columns_of(columns, [title[0] for title in columns].index("k"))
    return exhibit(name, title, frame, shown, *more, **{"sections": "config"} | fields)


def _by_panel(rows: Rows) -> dict[str, list[Row]]:
    """Rows by the title of their panel, which names the config, and the kind of questions if rows are about one."""
    return grouped_by(rows, lambda row: TITLES[row["config"]] + _KINDS[row.get("questions", "all")])


def _panels(parts: Mapping[str, Rows], draw: Callable[[Axes, Rows], None], x: str, **size: Any) -> Figure:
    """A panel for each part, with one legend for all; without a name of the x axis, they show shares of questions."""
    figure, grid = panels([*parts], **size)
    for axes, part in zip(grid, parts.values(), strict=True):
        draw(axes, part)
    grid[0].set_ylabel("success" if x else "share of questions", fontsize=9)
    if x:
        grid[0].set_ylim(-0.02, 1.04)
        figure.supxlabel(x, fontsize=9)
    legend(figure)
    return figure


def by_k(inputs: Inputs, name: str) -> Made:
    """Success by k, a panel for each config: Figure 1 with the paper's first model inside the systems, Figure 4 with all."""
    title, rows = "Success by the number of memories asked for (k), ", rows_of(inputs)
    if name == "Figure 1":
        title += f"one's own runs and reported ones with {MODELS[0]} inside"
        rows = [row for row in rows if row["source"] == "own" or row["system_model"] == MODELS[0]]
        parts = _by_panel(rows)
    else:
        title += "for every config, system and model inside the system"
        inside = sorted(rows, key=lambda row: (not row["system_model"], row["system_model"] or ""))
        parts = grouped_by(inside, lambda row: f"{row['system_model'] or _NO_MODEL}, {TITLES[row['config']]}")
    ks, labels = sorted(grouped(rows, "k")), [*grouped(rows, "label")]

    def draw(axes: Axes, part: Rows) -> None:
        lines(axes, part, lambda row: ks.index(row["k"]), "label", order=labels, starred=False)
        axes.set_xticks(range(len(ks)), [str(k) for k in ks], fontsize=8)

    plot = partial(_panels, parts, draw, "k, memories asked for", columns=3 if name == "Figure 1" else 5)
    needs, columns = "a run of at least one config, or a file of reported rates", {**_ABOUT, "k = {}": _SUCCESS}
    return _made(name, title, rows, columns, notes_on(inputs, rows), plot, needs=needs, across="k")


def beside_success(inputs: Inputs) -> Made:
    """What success alone does not say: passes that were earned, right answers, and vacuous passes; own runs only."""
    rows = [row for row in rows_of(inputs) if row["source"] == "own"]
    for row in rows:
        questions = row["given"].questions[row["k"]]
        earned, answers = questions[~questions["vacuous"]]["success"], questions["answer_right"]
        right, known = int(answers.sum()), int(answers.count())
        row |= {"n_earned": int(earned.sum()), "n_not_vacuous": row["n"] - row["vacuous"]}
        of_earned = share(row["n_earned"], int(earned.count()), int(earned.isna().sum()))
        row |= of_earned.columns(*ENDS, prefix="earned_") | {"n_answers_right": right, "n_answers_wrong": known - right}
        of_answers = share(right, known, len(answers) - known)
        row |= {"n_answers_unknown": len(answers) - known} | of_answers.columns(*ENDS, prefix="answers_")
    columns: Shown = {**_ABOUT, "k": "k", "success": _SUCCESS, "earned": mean_interval("earned_")}
    columns |= {"answers right": mean_interval("answers_"), "vacuous": "vacuous"}
    columns |= {"vacuous, wrong": "vacuous_wrong", "failed": "n_failed"}
    about = "Earned leaves out all questions that were passed vacuously. Answers are judged whatever the stages say."
    title = "Success beside earned passes, right answers and vacuous passes"
    needs = "a run of at least one config; the paper reports none of these"
    return _made("Figure 1, beside success", title, rows, columns, [about, *notes_on(inputs, rows)], needs=needs)


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
    plot = partial(_panels, _by_panel(drawn), draw, f"system, k = {k}", width=3.4, height=2.9)
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
    plot = partial(_panels, _by_panel(named), draw, f"{what}, the numbers at the points are k")
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
    plot = partial(_panels, grouped(points, "label"), draw, f"{letter}, {grows}")
    title = f"Success by the {grows} ({letter}), a line for each k"
    needs = f"a run of {config}; the paper reports no rates by {letter}"
    return _made(name, title, points, columns, notes, plot, needs=needs, across=column, sections="")


FIGURES = {"gemini-3.1": "Figure 6", "haiku-4.5": "Figure 7", "gpt-4.1-mini": "Figure 8", "gpt-5.4-mini": "Figure 9"}
"""The paper's figure of each of its internal models."""
_FIRST = "A question counts at the first stage that failed; shares are those of the questions that have an answer and a verdict."


def by_stage(inputs: Inputs) -> list[Made]:
    """What became of the questions: Figures 6 to 9, and one for each other model, or none, inside one's own systems."""
    found = []
    for row in rows_of(inputs):
        parts = {"all": row["scores"]} | row["scores"] if None not in map(row.get, ERRORS) else {}
        for kind in _KINDS:
            if part := parts.get(kind):
                about = {name: row[name] for name in ABOUT} | {"questions": kind}
                counts = {f"n_{name.removesuffix('_rate')}": count_of(part, name) for name in COUNTED}
                found.append(scored(about, part) | counts | {name: part.get(name) for name in COUNTED})
    others = {row["system_model"] or "" for row in found} - FIGURES.keys()
    more = sorted(others, key=lambda model: (not model, model))
    names = FIGURES | {model: f"Figure 9, {model or _NO_MODEL}" for model in more}
    columns: Shown = {**_ABOUT, "questions": "questions", "k": "k", "n": "n", "correct": partial(_counted, "n_success")}
    columns |= {error.removesuffix("_error"): partial(_counted, f"n_{error}") for error in ERRORS}
    columns |= {"of correct: vacuous": "vacuous", "failed": "n_failed"}
    made = []
    for model, name in names.items():
        rows = [row for row in found if (row["system_model"] or "") == model]
        inside = f"{model} inside the systems" if model else _NO_MODEL
        title = f"What became of the questions, stage by stage, with {inside}"
        notes = [_FIRST, *notes_on(inputs, [row for row in rows if row["questions"] == "all"])]
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
    parts = _by_panel(drawn) or {TITLES[rows[0]["config"]]: []}
    return _panels(parts, _stack, "", width=max(3.4, 0.6 + 0.17 * max(map(len, parts.values()))), height=2.9)


def _stack(axes: Axes, rows: Rows) -> None:
    x, names, at = 0.0, dict[float, str](), dict[float, Row]()
    for label, of_label in grouped(rows, "label").items():
        own = sorted(of_label, key=lambda row: row["k"])
        system, _, more = label.partition(" (")  # without the model, which the title names
        names[x + (len(own) - 1) / 2] = system.partition(",")[0] + (f"\n({more}" if more else "")
        at |= {x + number: {**row, "vacuous": row["vacuous"] or 0} for number, row in enumerate(own)}
        x += len(own) + 0.8
    stacked(axes, [*at], [*at.values()], width=0.85)
    axes.set_xticks([*at], [str(row["k"]) for row in at.values()], fontsize=6)
    below = axes.secondary_xaxis(-0.09)
    below.set_xticks([*names], [*names.values()], fontsize=6.5)
    below.tick_params(length=0)
    below.spines["bottom"].set_visible(False)


def differences(inputs: Inputs) -> Made:
    """Every two runs of one config with one judge, at every k that both have."""
    pairs = with_holm(list(_pairs(inputs.runs)))
    rows = [_record(pair, len(pairs)) for pair in pairs]
    shown: Shown = {
        "config": "config",
        "systems": lambda row: f"{row['label_first']} / {row['label_second']}",
        "k": "k",
        "n": "n",
        "success": lambda row: f"{row['success_first']:.3f} / {row['success_second']:.3f}",
        "difference (95 %)": lambda row: f"{row['difference']:+.3f} ({interval(digits=2, between=' to ')(row)})",
        "better / equal / worse": lambda row: f"{row['better']} / {row['equal']} / {row['worse']}",
        "p": lambda row: f"{row['p']:.3g}",
        "p (Holm)": lambda row: f"{row['p_holm']:.3g}",
        "different": lambda row: "yes" if row["p_holm"] < ALPHA else "not shown",
        "smallest difference: alone / corrected": lambda row: " / ".join(cell(row[name]) for name in _SMALLEST),
    }
    lost = sum(any(pair["n_failed"]) or pair["n_one_sided"] > 0 for pair in pairs)
    notes = [note.format(n=len(pairs), lost=lost) for note in (*_TESTS, *([_LOST] if lost else []))]
    notes += judge_notes(run.judge for run in inputs.runs)
    title = "Differences in success between any two systems, config by config and k by k"
    needs = "two runs of one config with one judge and one k; reported rates have no answers to compare"
    return exhibit("Differences", title, rows, columns_of(shown, 2), notes, needs=needs, sections="config")


_SMALLEST = ("smallest_difference", "smallest_difference_corrected")
_TESTS = (
    "Test: McNemar's exact test on the questions that both runs answered; correction: Holm over all {n} comparisons of this "
    "table. The intervals draw whole rows with replacement (bootstrap, 95 %). A difference is the first system minus the second.",
    "“Not shown” does not mean equal: the last column is the smallest difference of two rates around their mean that so "
    "many questions show with 80 % power, for one comparison alone (5 %) and at the strictest level of the correction. It "
    "takes the outcomes of both as independent, which is the worst case: where systems pass the same questions, smaller "
    "differences show.",
    "Vacuous passes count as successes, as in the paper.",
)
_LOST = "In {lost} comparisons questions that failed in one of the runs are left out; n says what remains."


def _pairs(runs: Sequence[PaperRun]) -> Iterator[dict[str, Any]]:
    """What `compare_outcomes` returns for each two runs and k, with config, source and k."""
    for one, other in combinations(sorted(runs, key=lambda run: CONFIGS.index(run.config)), 2):
        if (one.config, one.judge) == (other.config, other.judge):
            for k in sorted(one.questions.keys() & other.questions.keys()):
                with suppress(RunFailed):  # no question was answered and judged in both
                    tables = one.questions[k], other.questions[k]
                    found = compare_outcomes((one.label, other.label), tables, cluster="row")
                    yield {"config": one.config, "source": "own", "k": k, **found}


def _record(pair: Mapping[str, Any], comparisons: int) -> dict[str, Value]:
    """A row of the frame; the smallest differences are those of one comparison alone, and of the strictest of so many."""
    row: dict[str, Value] = {name: pair[name] for name in ("config", "source", "k", "n")}
    for side, *of_side in zip(("first", "second"), pair["runs"], pair["means"], pair["n_failed"], strict=True):
        row |= zip((f"label_{side}", f"success_{side}", f"n_failed_{side}"), of_side, strict=True)
    low, high = pair["interval"] or (None, None)
    row |= {"difference": pair["difference"], "low": low, "high": high, "better": pair["wins"]}
    row |= {"equal": pair["ties"], "worse": pair["losses"], "p": pair["p"], "p_holm": pair["p_holm"]}
    for name, number in zip(_SMALLEST, (1, comparisons), strict=True):
        row[name] = smallest_difference_of_rates(sum(pair["means"]) / 2, pair["n"], paired=True, alpha=ALPHA / number)
    return row


_USAGE = (
    "Storing and retrieving are what the memory system did, answering the reader, judging the judge. A dash stands for what "
    "is unknown. The tokens of papers leave out those inside the memory system and those of the judge."
)


def tokens_and_cost(inputs: Inputs) -> Made:
    """Calls, tokens, seconds and cost of each run and stage (paper: Q3)."""
    rows = [
        row | {"cost_of_run": total(run.spent)}
        for run in inputs.runs
        for row in usage_rows({**run.about, "judge": str(run.judge) if run.judge else None}, run.spent)
    ]
    columns = [Column("run", lambda row: f"{row['label']} ({row['config']})", text=True), *USAGE_COLUMNS]
    if prices := inputs.prices:
        columns += columns_of({f"cost in {prices.currency}": fixed("cost", 4), "of the run": fixed("cost_of_run", 4)})
    notes = [_USAGE, *([] if prices else ["No file of prices was given, so that there is no cost."])]
    title = "What the runs took, stage by stage: calls, tokens, seconds and cost"
    return exhibit("Tokens and cost", title, rows, columns, notes, needs="a run with its usage.json", sections="label")
